package vcptext

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// paper is a Schema on paper: by command, "name type|type, name, …".
type paper map[string]string

func (p paper) split(command string) (list []string, types map[string][]string) {
	types = map[string][]string{}
	for entry := range strings.SplitSeq(p[command], ",") {
		name, kinds, typed := strings.Cut(strings.TrimSpace(entry), " ")
		if name == "" {
			continue
		}
		list = append(list, name)
		if typed {
			types[name] = strings.Split(kinds, "|")
		}
	}
	return list, types
}

func (p paper) InputNames(command string) []string {
	list, _ := p.split(command)
	return list
}

func (p paper) InputTypes(command, name string) []string {
	_, types := p.split(command)
	return types[name]
}

// block parses fields in the short notation "key=value; key=value".
func block(t *testing.T, short string) Block {
	t.Helper()
	text := ""
	for field := range strings.SplitSeq(short, "; ") {
		key, value, _ := strings.Cut(field, "=")
		text += "\n" + key + ":「始」" + value + "「末」"
	}
	blocks, err := Parse(in(text))
	if err != nil {
		t.Fatal(err)
	}
	return blocks[0]
}

// shown is "step command arguments" of each call.
func shown(calls []Call) []string {
	list := []string{}
	for _, call := range calls {
		list = append(list, fmt.Sprintf("%d %s %s", call.Step, call.Command, call.Arguments))
	}
	return list
}

func TestCalls(t *testing.T) {
	tests := []struct {
		name, short string
		schema      Schema
		want        string
	}{
		{"no schema", "Image_Size=42; command=Go; command1=x; n2=[1]; maid=M", nil,
			`0 Go {"Image_Size":"42","command":"Go","command1":"x","n2":"[1]","maid":"M"}`},
		{"no schema, valet", "valet=V; ink=i; tool_password=p; timely_contact=t", nil, `0  {"maid":"V","valet":"V"}`},
		{"no schema, alike keys", "a_b=1; ab=2; Command=x", nil, `0  {"a_b":"1","ab":"2","Command":"x"}`},

		{"exact", "n=42", paper{"": "n integer"}, `0  {"n":42}`},
		{"alike", "IMAGE-SIZE=42; Title=x", paper{"": "image_size number, title string"}, `0  {"image_size":42,"title":"x"}`},
		{"exact before alike", "aB=1; a_b=2", paper{"": "a_b integer, aB string"}, `0  {"aB":"1","a_b":2}`},
		{"ambiguous stays", "AB=1", paper{"": "a_b integer, aB integer"}, `0  {"AB":"1"}`},
		{"unknown stays", "X_y=1", paper{"": "a integer"}, `0  {"X_y":"1"}`},
		{"only ascii folds", "É=1", paper{"": "é integer"}, `0  {"É":"1"}`},
		{"digits without a chain", "sha256=a; n1=2", paper{"": "n integer"}, `0  {"sha256":"a","n1":"2"}`},

		{"command", "command=plot; n=1", paper{"plot": "n integer"}, `0 plot {"command":"plot","n":1}`},
		{"command alike", "Command=plot; n=1", paper{"plot": "n integer"}, `0 plot {"command":"plot","n":1}`},
		{"command in the schema", "COMMAND=plot", paper{"plot": "command string"}, `0 plot {"command":"plot"}`},
		{"command of another meaning", "Command=ls; n=1", paper{"": "Command string, n integer"}, `0  {"Command":"ls","n":1}`},
		{"two keys like command", "Command=a; COMMAND=b", paper{"": "Command string"}, `0  {"Command":"a","COMMAND":"b"}`},

		{"maid is lifted", "maid=M; a=1", paper{"": "a string"}, `0  {"a":"1"}`},
		{"maid is wanted", "maid=M; valet=V", paper{"": "maid string, valet"}, `0  {"maid":"M","valet":"V"}`},
		{"maid only exactly", "maid=M", paper{"": "Maid string"}, `0  {}`},
		{"Maid is a parameter", "Maid=A; maid=M", paper{"": "Maid string"}, `0  {"Maid":"A"}`},
		{"Maid is maid", "Maid=A; maid=M", paper{"": "maid string"}, `0  {"maid":"A"}`},
		{"secrets never", "tool_password=p; river=full", paper{"": "tool_password, river"}, `0  {}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			calls, err := Calls(block(t, test.short), test.schema)
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(calls); !reflect.DeepEqual(got, []string{test.want}) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTypes(t *testing.T) {
	tests := []struct{ value, types, want string }{
		{"42", "", `"42"`},
		{"42", "string", `"42"`},
		{"42", "integer", `42`},
		{"-4.50e+1", "number", `-4.50e+1`},
		{"4.5", "integer", `4.5`}, // the schema tells better than we do
		{"42", "integer|string", `"42"`},
		{"042", "integer", `"042"`},
		{"+1", "number", `"+1"`},
		{"1,5", "number", `"1,5"`},
		{"４２", "integer", `"４２"`},
		{"NaN", "number", `"NaN"`},
		{"12345678901234567890123", "integer", `12345678901234567890123`},
		{"", "integer", `""`},
		{"42", "boolean|array", `"42"`},
		{"true", "boolean", `true`},
		{"False", "boolean", `false`},
		{"TRUE", "boolean|string", `"TRUE"`},
		{"yes", "boolean", `"yes"`},
		{"null", "null|integer", `null`},
		{"null", "null|string", `"null"`},
		{"null", "integer", `"null"`},
		{"[1, 2]", "array", `[1, 2]`},
		{"[1, 2]", "string", `"[1, 2]"`},
		{"[1, 2]", "string|array", `[1, 2]`},
		{"[draft] x", "string|array", `"[draft] x"`},
		{"[1", "array", `"[1"`},
		{"{\"a\":1}", "object", `{"a":1}`},
		{"{\"a\":1}", "array", `"{\"a\":1}"`},
		{"{\"a\":1,\"a\":2}", "object", `"{\"a\":1,\"a\":2}"`},
		{"{\"a\":1} x", "object", `"{\"a\":1} x"`},
		{"{\"$resource\":\"res_1\"}", "object|string", `{"$resource":"res_1"}`},
		{"\"x\"", "string", `"\"x\""`},
		{"\"x\"", "integer", `"\"x\""`},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), "array",
			`"` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `"`},
		{"C:\\new\n\"x\"", "string", `"C:\\new\n\"x\""`},
	}
	for _, test := range tests {
		schema := paper{"": "v " + test.types}
		if test.types == "" {
			schema = paper{"": "v"}
		}
		calls, err := Calls(block(t, "v="+test.value), schema)
		want := `{"v":` + test.want + `}`
		if err != nil || len(calls) != 1 || string(calls[0].Arguments) != want {
			t.Errorf("%q as %q: got %s, %v, want %s", test.value, test.types, shown(calls), err, want)
		}
	}
}

func TestChains(t *testing.T) {
	files := paper{
		"Create": "filePath string, content string, mode integer",
		"Delete": "filePath string",
		"Hash":   "filePath string, sha1 string",
		"Open":   "",
	}
	tests := []struct {
		name, short string
		schema      Schema
		want        []string
	}{
		{"one", "command1=Delete; filePath1=a", files, []string{`1 Delete {"command":"Delete","filePath":"a"}`}},
		{"in the order of the numbers", "filePath2=b; command2=Delete; command1=Create; filePath1=a; content1=x", files,
			[]string{`1 Create {"command":"Create","filePath":"a","content":"x"}`, `2 Delete {"filePath":"b","command":"Delete"}`}},
		{"shared", "command1=Delete; command2=Create; filePath=a; content2=x", files,
			[]string{`1 Delete {"command":"Delete","filePath":"a"}`, `2 Create {"command":"Create","content":"x","filePath":"a"}`}},
		{"shared by those that name it", "command1=Create; command2=Delete; command3=Open; filePath=a; mode=7", files,
			[]string{`1 Create {"command":"Create","filePath":"a","mode":7}`, `2 Delete {"command":"Delete","filePath":"a"}`,
				`3 Open {"command":"Open","filePath":"a","mode":"7"}`}},
		{"shared, named by none", "command1=Create; command2=Delete; extra=1", files,
			[]string{`1 Create {"command":"Create","extra":"1"}`, `2 Delete {"command":"Delete","extra":"1"}`}},
		{"own before shared", "filePath=a; command1=Delete; command2=Delete; FILE_PATH2=b", files,
			[]string{`1 Delete {"command":"Delete","filePath":"a"}`, `2 Delete {"command":"Delete","filePath":"b"}`}},
		{"alike, with a sign before the number", "Command_1=Create; file-path-1=a; MODE_1=7", files,
			[]string{`1 Create {"command":"Create","filePath":"a","mode":7}`}},
		{"own, unknown", "command1=Delete; why1=x", files, []string{`1 Delete {"command":"Delete","why":"x"}`}},
		{"a name that ends in a number", "command1=Hash; command2=Hash; sha1=x; filePath1=a; filePath2=b", files,
			[]string{`1 Hash {"command":"Hash","filePath":"a","sha1":"x"}`, `2 Hash {"command":"Hash","filePath":"b","sha1":"x"}`}},
		{"number beyond the chain, of no parameter", "command1=Delete; utf8=x; x01=y; x0=z", files,
			[]string{`1 Delete {"command":"Delete","utf8":"x","x01":"y","x0":"z"}`}},
		{"only digits is no key of a step", "command1=Delete; 1=x", files, []string{`1 Delete {"command":"Delete","1":"x"}`}},
		{"unknown command", "command1=Nothing; a1=1", files, []string{`1 Nothing {"command":"Nothing","a":"1"}`}},
		{"maid in each", "command1=A; command2=A; maid=M", paper{"A": "maid"},
			[]string{`1 A {"command":"A","maid":"M"}`, `2 A {"command":"A","maid":"M"}`}},

		{"the schema names command1", "command1=x; n=1", paper{"": "command1 string, n integer"}, []string{`0  {"command1":"x","n":1}`}},
		{"the schema names command2", "command2=x", paper{"": "command2 string"}, []string{`0  {"command2":"x"}`}},
		{"a command's schema names command1", "command=Run; command1=x; command3=y", paper{"Run": "Command_1 string"},
			[]string{`0 Run {"command":"Run","Command_1":"x","command3":"y"}`}},
		{"no schema, no chain", "command1=x; command3=y", nil, []string{`0  {"command1":"x","command3":"y"}`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			calls, err := Calls(block(t, test.short), test.schema)
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(calls); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestCallsRefuses(t *testing.T) {
	long := ""
	for i := range MaxChain + 1 {
		long += fmt.Sprintf("; command%d=A", i+1)
	}
	tests := []struct {
		name, short string
		line        int // in() puts the first field on line 2
		reason      string
	}{
		{"two keys of one meaning", "image_size=1; n=2; IMAGE-SIZE=3", 4, `"image_size" and "IMAGE-SIZE" both mean the parameter "imageSize"`},
		{"exact and alike", "imageSize=1; image_size=2", 3, "both mean"},
		{"gap", "command1=A; command3=A", 3, `there is "command3", but no command2`},
		{"no first", "command2=A", 2, `there is "command2", but no command1`},
		{"command and command2", "command=A; command2=A", 3, "no command1"},
		{"command and command1", "command=A; command1=A", 2, `the key "command" beside it`},
		{"Command and command1", "command1=A; Command=A", 3, `the key "Command" beside it`},
		{"same number", "command1=A; Command_1=A", 3, "both command 1"},
		{"zero", "command0=A; command1=A", 2, "leading zeros"},
		{"leading zero", "command01=A", 2, "leading zeros"},
		{"very large number", "command1=A; command99999999999999999999=A", 3, "leading zeros"},
		{"parameter beyond the end", "command1=A; n2=1", 3, "the chain ends with command1"},
		{"own, two of one meaning", "command1=A; image_size1=1; imageSize1=1", 4, "both mean"},
		{"shared, two of one meaning", "command1=A; image_size=1; imageSize=1", 4, "both mean"},
		{"too long", strings.TrimPrefix(long, "; "), MaxChain + 2, "at most 64 commands, this one has 65"},
	}
	schema := paper{"": "imageSize, n integer", "A": "imageSize, n integer"}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			calls, err := Calls(block(t, test.short), schema)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || calls != nil {
				t.Fatalf("got %q, %v", shown(calls), err)
			}
			if syntax.Line != test.line || syntax.Column != 1 || !strings.Contains(syntax.Reason, test.reason) {
				t.Errorf("got %v, want line %d and %q", err, test.line, test.reason)
			}
		})
	}
}

// TestChainsDoNotMultiply gives chains whose calls would have far more bytes than
// the text.
func TestChainsDoNotMultiply(t *testing.T) {
	heads := ""
	for i := range MaxChain {
		heads += fmt.Sprintf("command%d:「始」A「末」", i+1)
	}
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, "k%dx:「始」「末」", i)
	}
	keys := many.String()
	tests := []struct {
		name, fields string
		ok           bool
	}{
		{"large shared value", heads + "x:「始」" + strings.Repeat("x", 10<<20) + "「末」", false},
		{"many shared keys", heads + keys, false},
		{"many shared keys, almost too many", heads + keys[:strings.Index(keys, "k30000x")], true},
		{"many keys of one step", heads + strings.ReplaceAll(keys, "x:", "x1:"), true},
		{"long commands", strings.ReplaceAll(heads, "A", strings.Repeat("A", 100<<10)) + strings.ReplaceAll(keys, "x:", "x1:"), true},
		{"long key", heads + strings.Repeat("k_", 5<<20) + "1:「始」「末」", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			within(t, func() {
				blocks, err := Parse(in(test.fields))
				if err != nil {
					t.Fatal(err)
				}
				calls, err := Calls(blocks[0], paper{"A": "x string"})
				if (err == nil) != test.ok {
					t.Errorf("got %d calls, %v", len(calls), err)
				}
			})
		})
	}
}

// checkCalls checks what holds for the calls of any block.
func checkCalls(t *testing.T, b Block) {
	t.Helper()
	for _, schema := range []Schema{nil, paper{}, paper{"": "a integer|array, a_b, b string, maid", "X": "x array"}} {
		calls, err := Calls(b, schema)
		if (err == nil) != (len(calls) > 0) {
			t.Fatalf("got %d calls, %v", len(calls), err)
		}
		for i, call := range calls {
			if err := rawjson.Check(call.Arguments, rawjson.Limits{}); err != nil {
				t.Errorf("call %d: %v in %s", i, err, call.Arguments)
			}
			raw, _ := rawjson.At(call.Arguments, "/command")
			if command, _ := rawjson.Unquote(raw); command != call.Command {
				t.Errorf("call %d: command %q, arguments %s", i, call.Command, call.Arguments)
			}
			if len(calls) > 1 && call.Step != i+1 {
				t.Errorf("call %d has step %d", i, call.Step)
			}
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add("a_B-", "AB")
	f.Add("É", "é")
	f.Add("\xff_", "\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		if firstInvalid(a) >= 0 || firstInvalid(b) >= 0 {
			return // keys are UTF-8
		}
		if got, want := fold(a) == fold(b), abi.SameName(a, b); got != want {
			t.Errorf("fold of %q and %q: same %v, want %v", a, b, got, want)
		}
	})
}
