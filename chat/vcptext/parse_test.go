package vcptext

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	start = startMarker
	end   = endMarker
	tool  = "tool_name:「始」T「末」"
)

// in puts fields into a block of the tool T, which begins at column 1 of line 1.
func in(fields string) string { return start + tool + fields + end }

// pairs shows the fields as name=value.
func pairs(block Block) []string {
	list := []string{}
	for _, field := range block.Fields {
		list = append(list, field.Name+"="+field.Value)
	}
	return list
}

func TestParseFields(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"one", in("a:「始」1「末」"), []string{"a=1"}},
		{"no separator", in("a:「始」1「末」b:「始」2「末」"), []string{"a=1", "b=2"}},
		{"commas and spaces", in(" ,,\t, a:「始」1「末」,\n ,b:「始」2「末」 , "), []string{"a=1", "b=2"}},
		{"crlf", in("\r\na:「始」1\r\n2「末」,\r\nb:「始」\r\nx\r\n「末」\r\n"), []string{"a=1\r\n2", "b=x"}},
		{"spaces around the colon", in("a \n:\t「始」1「末」"), []string{"a=1"}},
		{"ideographic space", in("\u3000a\u3000:\u3000「始」\u30001\u3000「末」\u3000"), []string{"a=1"}},
		{"trimmed inside", in("a:「始」\n  x y \u00a0\ufeff\n「末」"), []string{"a=x y"}},
		{"empty value", in("a:「始」「末」b:「始」  「末」"), []string{"a=", "b="}},
		{"open mark in a value", in("a:「始」x「始」y「末」"), []string{"a=x「始」y"}},
		{"half marks in a value", in("a:「始」「末 」末」「末「末」"), []string{"a=「末 」末」「末"}},
		{"start marker in a value", in("a:「始」" + start + "「末」"), []string{"a=" + start}},
		{"colons and commas in a value", in("a:「始」b:1, c: {x}「末」"), []string{"a=b:1, c: {x}"}},
		{"quotes and backslashes", in(`a:「始」"C:\new" 'x'「末」`), []string{`a="C:\new" 'x'`}},
		{"cjk value", in("a:「始」你好，世界：「引」「末」"), []string{"a=你好，世界：「引」"}},
		{"cjk key", in("标题:「始」x「末」"), []string{"标题=x"}},
		{"combining mark in a key", in("e\u0301:「始」x「末」"), []string{"e\u0301=x"}},
		{"hyphen and dot in a key", in("IMAGE-SIZE:「始」1「末」a.b:「始」2「末」"), []string{"IMAGE-SIZE=1", "a.b=2"}},
		{"digits in a key", in("2d:「始」1「末」_x1:「始」2「末」"), []string{"2d=1", "_x1=2"}},
		{"control keys are exact", in("Maid:「始」m「末」INK:「始」i「末」"), []string{"Maid=m", "INK=i"}},
		{"requireAdmin is ordinary", in("requireAdmin:「始」123「末」"), []string{"requireAdmin=123"}},
		{"nul byte", in("a:「始」\x00x「末」"), []string{"a=\x00x"}},

		{"escape", in("a:「始ESCAPE」x「末」y「末ESCAPE」b:「始」1「末」"), []string{"a=x「末」y", "b=1"}},
		{"escape holds the end marker", in("a:「始ESCAPE」" + end + "「末ESCAPE」"), []string{"a=" + end}},
		{"escape in any case", in("a:「始Escape」x「末escape」"), []string{"a=x"}},
		{"escape with braces", in("a:{始ESCAPE}x「末ESCAPE}b:「始escape}y{末ESCAPE」"), []string{"a=x", "b=y"}},
		{"escape trimmed", in("a:「始ESCAPE」\n x \n「末ESCAPE」"), []string{"a=x"}},
		{"escape tokens", in("a:「始ESCAPE」<<<[TOOL_REQUEST_ESCAPE]>>> k:「始ESCAPE」v「末」 <<<[END_TOOL_REQUEST_ESCAPE]>>>「末ESCAPE」"),
			[]string{"a=" + start + " k:「始」v「末」 " + end}},
		{"escape tokens are exact", in("a:「始ESCAPE」<<<[tool_request_escape]>>>「末ESCAPE」"),
			[]string{"a=<<<[tool_request_escape]>>>"}},
		{"escape tokens once", in("a:「始ESCAPE」「始「始ESCAPE」ESCAPE」「末ESCAPE」"), []string{"a=「始「始」ESCAPE」"}},
		{"the first end of an escape", in("a:「始ESCAPE」「始ESCAPE」x「末ESCAPE」"), []string{"a=「始」x"}},
		{"no escape in a plain value", in("a:「始」<<<[TOOL_REQUEST_ESCAPE]>>>「始ESCAPE」x「末ESCAPE」y「末」"),
			[]string{"a=<<<[TOOL_REQUEST_ESCAPE]>>>「始ESCAPE」x「末ESCAPE」y"}},
		{"near misses of an escape end", in("a:「始ESCAPE」末ESCAPE」「末ESCAP」「末 ESCAPE」末「末ESCAPE」"),
			[]string{"a=末ESCAPE」「末ESCAP」「末 ESCAPE」末"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			blocks, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if len(blocks) != 1 || blocks[0].Tool != "T" {
				t.Fatalf("got %d blocks, %+v", len(blocks), blocks)
			}
			if got := pairs(blocks[0]); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, text   string
		line, column int
		reason       string
	}{
		{"empty", "", 1, 1, "no block"},
		{"no block", "hello\n" + tool, 1, 1, "no block"},
		{"bom only", "\ufeff", 1, 1, "no block"},
		{"wrong case of the marker", "<<<[tool_request]>>>" + tool + "<<<[end_tool_request]>>>", 1, 1, "no block"},
		{"loose marker", "<<[TOOL_REQUEST]>>" + tool, 1, 1, "no block"},
		{"no end", "text\n  " + start + tool, 2, 3, "has no end marker"},
		{"end in another case", start + tool + "<<<[END_TOOL_request]>>>", 1, 1, "has no end marker"},
		{"second without end", in("") + "\n你好 " + start + tool, 2, 4, "has no end marker"},
		{"stray end", "a " + end + in(""), 1, 3, "without a start marker"},
		{"stray end after a block", in("") + "\n\n" + end, 3, 1, "without a start marker"},
		{"block in a block", start + "\n" + tool + start + tool + end, 2, 18, "inside the block of line 1"},
		{"end inside an escape value only", start + tool + "a:「始ESCAPE」" + end + "「末ESCAPE」", 1, 82, "that begins on line 1 has no end marker"},
		{"no name", start + "\na:「始」1「末」" + end, 1, 1, "has no tool_name"},
		{"name in another case", start + "Tool_Name:「始」T「末」" + end, 1, 1, "has no tool_name"},
		{"empty block", start + end, 1, 1, "has no tool_name"},
		{"empty name", start + "\ntool_name:「始」 「末」" + end, 2, 1, "tool_name is empty"},
		{"two names", in("\n" + tool), 2, 1, "second tool_name"},
		{"unclosed", in("\na:「始」x"), 2, 3, `the value of "a" has no end: no 「末」`},
		{"unclosed before the end", in("\na:「始」x") + "「末」", 2, 3, "the end marker"},
		{"unclosed, next block closes", in("\na:「始」x") + in("b:「始」y「末」"), 2, 3, "the end marker"},
		{"unclosed escape", in("\na:「始ESCAPE」x「末」"), 2, 3, "no 「末ESCAPE」"},
		{"junk", in("\n \tnote"), 2, 7, `"note" has no value`},
		{"junk after a value", in("\na:「始」1「末」;"), 2, 10, "found ';'"},
		{"comment", in("\n// note\n"), 2, 1, "found '/'"},
		{"list item", in("\n- a:「始」1「末」"), 2, 1, "found '-'"},
		{"full-width colon", in("\na：「始」1「末」"), 2, 2, "expected ':' (U+003A) and 「始」, found '：'"},
		{"full-width comma", in("\na:「始」1「末」，"), 2, 10, "found '，'"},
		{"no marks", in("\na: 1"), 2, 4, "expected 「始」"},
		{"loose marks", in("\na:{始}1{末}"), 2, 3, "expected 「始」"},
		{"half an escape mark", in("\na:「始ESC」1「末」"), 2, 3, "expected 「始」"},
		{"key without colon", in("\na「始」1「末」"), 2, 2, "expected ':'"},
		{"rest of a value", in("\na:「始」x「末」y「末」"), 2, 11, `"y" has no value`},
		{"escaped, not in an escape value", in("\na:「始」x「末ESCAPE」"), 2, 3, "no 「末」"},
		{"not utf-8 outside", "你\xff" + in(""), 1, 2, "not UTF-8"},
		{"not utf-8 in a value", in("\r\na:「始」\xc0\xaf「末」"), 2, 6, "not UTF-8"},
		{"replacement character is utf-8", in("\ufffd\n"), 1, 38, "found '\ufffd'"},
		{"column after bom", "\ufeff" + start, 1, 1, "has no end marker"},
		{"column after bom and text", "\ufeff你 " + start, 1, 3, "has no end marker"},
		{"column counts code points", "𝄞é " + start, 1, 4, "has no end marker"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			blocks, err := Parse(test.text)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %v, %v", blocks, err)
			}
			if blocks != nil {
				t.Errorf("blocks beside an error: %v", blocks)
			}
			if !strings.Contains(syntax.Reason, test.reason) {
				t.Errorf("got %q, want %q in it", syntax.Reason, test.reason)
			}
			if syntax.Line != test.line || syntax.Column != test.column {
				t.Errorf("got line %d, column %d, want %d, %d (%v)", syntax.Line, syntax.Column, test.line, test.column, err)
			}
			if strings.Count(test.text[:syntax.Offset], "\n") != test.line-1 {
				t.Errorf("offset %d is not on line %d", syntax.Offset, test.line)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	_, err := Parse(in("\nkey"))
	want := `line 2, column 4: the key "key" has no value: expected ':' (U+003A) and 「始」, found '<'`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = Parse(in("\n" + strings.Repeat("键", 1<<16)))
	if err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), `键"…`) {
		t.Errorf("a long key: got %v", err)
	}
	_, err = Parse(in("\na:「始」hunter2"))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error tells a value: %v", err)
	}
}

func TestParseSeveral(t *testing.T) {
	text := "\ufeffSure:\r\n" + start + "\r\ntool_name:「始」A「末」,\r\nx:「始」1「末」\r\n" + end +
		"\r\nand 「始」 then\r\n" + start + "tool_name:「始」B「末」" + end + start + "tool_name:「始」C「末」" + end + "bye"
	blocks, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Position: Position{10, 2, 1}, Tool: "A", Fields: []Field{{Position{64, 4, 1}, "x", "1"}}},
		{Position: Position{strings.Index(text, start+"tool_name:「始」B"), 7, 1}, Tool: "B"},
		{Position: Position{strings.Index(text, start+"tool_name:「始」C"), 7, 62}, Tool: "C"},
	}
	if !reflect.DeepEqual(blocks, want) {
		t.Errorf("got  %+v\nwant %+v", blocks, want)
	}
}

func TestControl(t *testing.T) {
	blocks, err := Parse(in("a:「始」1「末」maid:「始」Nova「末」valet:「始」V「末」tool_password:「始」pw「末」archery:「始」no_reply「末」" +
		"ink:「始」mark_history「末」b:「始」2「末」river:「始」last:3「末」vref:「始」5「末」timely_contact:「始ESCAPE」2030-01-01-10:00「末ESCAPE」"))
	if err != nil {
		t.Fatal(err)
	}
	want := Control{"Nova", "V", "pw", "no_reply", "mark_history", "last:3", "5", "2030-01-01-10:00"}
	if got := blocks[0].Control; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := pairs(blocks[0]); !reflect.DeepEqual(got, []string{"a=1", "b=2"}) {
		t.Errorf("fields: got %q", got)
	}
	for _, text := range []string{"valet:「始」V「末」", "maid:「始」「末」valet:「始」V「末」"} {
		blocks, err = Parse(in(text))
		if err != nil || blocks[0].Control != (Control{Maid: "V", Valet: "V"}) {
			t.Errorf("%s: got %+v, %v", text, blocks, err)
		}
	}
}

func TestEqualKeys(t *testing.T) {
	blocks, err := Parse(in("\na:「始」1「末」b:「始」2「末」\na:「始」3「末」maid:「始」x「末」maid:「始」y「末」"))
	if err != nil {
		t.Fatal(err)
	}
	block := blocks[0]
	if got := pairs(block); !reflect.DeepEqual(got, []string{"a=3", "b=2"}) || block.Fields[0].Line != 3 {
		t.Errorf("got %+v", block.Fields)
	}
	if block.Control.Maid != "y" {
		t.Errorf("maid: got %q", block.Control.Maid)
	}
	if len(block.Notices) != 2 || block.Notices[0].Line != 3 || block.Notices[0].Column != 1 ||
		!strings.Contains(block.Notices[0].Text, `"a"`) || !strings.Contains(block.Notices[1].Text, `"maid"`) {
		t.Errorf("notices: got %+v", block.Notices)
	}
}

// within fails the test if work takes longer than any linear reading would on a
// slow machine; a quadratic one takes hours.
func within(t *testing.T, work func()) {
	t.Helper()
	begin := time.Now()
	work()
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestParseIsLinear(t *testing.T) {
	const size = 10 << 20
	fill := func(unit string) string { return strings.Repeat(unit, size/len(unit)) }
	tests := []struct {
		name, text string
		ok         bool
	}{
		{"one value", in("a:「始」" + fill("x") + "「末」"), true},
		{"text around", fill("<<<[TOOL_REQUEST]>> ") + in("") + fill("「末」"), true},
		{"blocks", fill(in("a:「始」1「末」")), true},
		{"blocks on lines", fill(in("a:「始」1「末」") + "\n"), true},
		{"equal keys", in(fill("a:「始」1「末」")), true},
		{"open marks", in("a:「始」" + fill("「始」") + "「末」"), true},
		{"half ends", in("a:「始」" + fill("「末") + "「末」"), true},
		{"half escape ends", in("a:「始ESCAPE」" + fill("「末ESCAP」") + "「末ESCAPE」"), true},
		{"escape tokens", in("a:「始ESCAPE」" + fill("「始ESCAPE」") + "「末ESCAPE」"), true},
		{"escaped end markers", in("a:「始ESCAPE」" + fill(end) + "「末ESCAPE」"), true},
		{"escape values", in(fill("a:「始ESCAPE」" + end + "「末ESCAPE」,")), true},
		{"commas", in(fill(",")), true},
		{"separators of three bytes", in(fill("\u3000")), true},
		{"key", in(fill("k")), false},
		{"starts", fill(start), false},
		{"ends", fill(end), false},
		{"fields without end", start + fill("a:「始」1「末」"), false},
		{"blocks and a last one without end", fill(in("")) + start, false},
		{"unclosed", in("a:「始」" + fill("「始」")), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			within(t, func() {
				if _, err := Parse(test.text); (err == nil) != test.ok {
					t.Errorf("got %.200v", err)
				}
			})
		})
	}
}
