package vcptext

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	block := Block{
		Tool:    "Plot",
		Control: Control{Maid: "Nova", Ink: "mark_history"},
		Fields:  []Field{{Name: "title", Value: "x「末」"}, {Name: "n", Value: ""}, {Name: "raw", Value: "a " + end}},
	}
	const want = `<<<[TOOL_REQUEST]>>>
tool_name:「始」Plot「末」,
maid:「始」Nova「末」,
ink:「始」mark_history「末」,
title:「始ESCAPE」x「末」「末ESCAPE」,
n:「始」「末」,
raw:「始ESCAPE」a <<<[END_TOOL_REQUEST]>>>「末ESCAPE」
<<<[END_TOOL_REQUEST]>>>`
	got, err := Format(block)
	if err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestFormatRefuses(t *testing.T) {
	with := func(name, value string) Block {
		return Block{Tool: "T", Fields: []Field{{Name: name, Value: value}}}
	}
	tests := []struct {
		name   string
		block  Block
		reason string
	}{
		{"no tool", Block{}, "no tool_name"},
		{"space around the tool", Block{Tool: " T"}, "white space"},
		{"no key", with("", "x"), "is no key"},
		{"space in a key", with("a b", "x"), "is no key"},
		{"hyphen first", with("-a", "x"), "is no key"},
		{"key not utf-8", with("a\xff", "x"), "is no key"},
		{"name of the tool", with("tool_name", "x"), "not for the plugin"},
		{"control key", with("maid", "x"), "not for the plugin"},
		{"twice", Block{Tool: "T", Fields: []Field{{Name: "a"}, {Name: "a"}}}, "comes twice"},
		{"space around", with("a", "x\u3000"), "white space"},
		{"not utf-8", with("a", "\xff"), "not UTF-8"},
		{"both ends", with("a", "「末」{末escape}"), "exclude one another"},
		{"end and a token", with("a", "「末」「始ESCAPE」"), "exclude one another"},
		{"end marker and a token", with("a", end+endMarkerEscape), "exclude one another"},
		{"control value", Block{Tool: "T", Control: Control{River: " full"}}, "white space"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Format(test.block)
			if err == nil || got != "" || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("got %q, %v, want an error with %q", got, err, test.reason)
			}
		})
	}
}

// bare is a block without what Format does not carry.
func bare(block Block) Block {
	block.Position, block.Notices = Position{}, nil
	var fields []Field
	for _, field := range block.Fields {
		fields = append(fields, Field{Name: field.Name, Value: field.Value})
	}
	block.Fields = fields
	return block
}

// roundTrip checks that a block that Parse returned survives Format and Parse.
func roundTrip(t *testing.T, block Block) {
	t.Helper()
	text, err := Format(block)
	if err != nil {
		t.Fatalf("Format(%+v): %v", block, err)
	}
	again, err := Parse("before " + text + " after")
	if err != nil || len(again) != 1 {
		t.Fatalf("Parse(%s): %d blocks, %v", text, len(again), err)
	}
	if got, want := bare(again[0]), bare(block); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v, by %s", got, want, text)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", start, end, in(""), in("a:「始」1「末」,b_1:「始ESCAPE」x「末」「末ESCAPE」"), in("maid:「始」m「末」valet:「始」v「末」"),
		in("a:{始escape}"+startMarkerEscape+end+"「末ESCAPE}") + "\n" + in("command1:「始」X「末」x1:「始」[1]「末」"),
		"\ufeff" + in("\r\n键:「始」你好「末」\r\n"), in("a:「始」1「末」a:「始」2「末」"), in("a：「始」1「末」"), "\xff",
		in("a:「始」「末「末」b:「始」x\u3000「末」"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		blocks, err := Parse(text)
		if err != nil {
			checkPlace(t, text, err)
			return
		}
		for _, block := range blocks {
			if !strings.HasPrefix(text[block.Offset:], start) {
				t.Errorf("no block at %d", block.Offset)
			}
			for _, field := range block.Fields {
				if !strings.HasPrefix(text[field.Offset:], field.Name) {
					t.Errorf("no key %q at %d", field.Name, field.Offset)
				}
			}
			roundTrip(t, block)
			checkCalls(t, block)
		}
	})
}

// FuzzFormat turns it round: what Format writes, Parse reads.
func FuzzFormat(f *testing.F) {
	f.Add("T", "a", "x", "b", "y「末」", "m")
	f.Add("始", "k-1", "{末ESCAPE}", "K", "「末」「始ESCAPE」", "「始」")
	f.Fuzz(func(t *testing.T, tool, name1, value1, name2, value2, maid string) {
		block := Block{
			Tool: tool, Control: Control{Maid: maid},
			Fields: []Field{{Name: name1, Value: value1}, {Name: name2, Value: value2}},
		}
		if _, err := Format(block); err == nil {
			roundTrip(t, block)
		}
	})
}

// checkPlace counts again where an error is.
func checkPlace(t *testing.T, text string, err error) {
	t.Helper()
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(text) || syntax.Reason == "" {
		t.Fatalf("got %#v", err)
	}
	line, column := 1, 1
	for i, r := range text[:syntax.Offset] {
		switch {
		case r == '\n':
			line, column = line+1, 1
		case i > 0 || r != '\ufeff':
			column++
		}
	}
	if line != syntax.Line || column != syntax.Column {
		t.Errorf("offset %d: got line %d, column %d, want %d, %d", syntax.Offset, syntax.Line, syntax.Column, line, column)
	}
}
