package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

func TestCheckAccepts(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `false`, `0`, `-0`, `1e5`, `1.5E-7`, `""`, `[]`, `{}`, " \t\r\n[ ] \n",
		`"\u00e9\ud83d\ude00\uFFFF\u0000"`, `{"a":{"a":{"a":[]}},"b":[{"a":1},{"a":2}]}`,
		`{"":1,"a":2,"\u0062":3}`, `"ä€😀"`, `["\\","\"","\/"]`, `{"a":"}{","b":"]["}`,
		strings.Repeat("[", DefaultMaxDepth) + strings.Repeat("]", DefaultMaxDepth),
	} {
		if err := Check([]byte(text), Limits{}); err != nil {
			t.Errorf("Check(%s) = %v", text, err)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	deep := strings.Repeat("[", DefaultMaxDepth+1) + strings.Repeat("]", DefaultMaxDepth+1)
	tests := []struct {
		name, text string
		reason     Reason
		offset     int
		pointer    string
	}{
		{"empty", "", ReasonSyntax, 0, ""},
		{"white space", " \n ", ReasonSyntax, 0, ""},
		{"leading zero", `{"a":01}`, ReasonSyntax, 6, "/a"},
		{"plus", `+1`, ReasonSyntax, 0, ""},
		{"bare minus", `[-]`, ReasonSyntax, 2, "/0"},
		{"no fraction", `1.`, ReasonSyntax, 2, ""},
		{"no exponent", `[1,2e]`, ReasonSyntax, 5, "/1"},
		{"NaN", `NaN`, ReasonSyntax, 0, ""},
		{"capital literal", `True`, ReasonSyntax, 0, ""},
		{"cut literal", `[nul]`, ReasonSyntax, 1, "/0"},
		{"trailing comma", `[1,]`, ReasonSyntax, 3, "/1"},
		{"trailing comma in object", `{"a":1,}`, ReasonSyntax, 7, ""},
		{"single quotes", `{'a':1}`, ReasonSyntax, 1, ""},
		{"comment", `{"a":1}//x`, ReasonSyntax, 7, ""},
		{"two documents", `{} {}`, ReasonSyntax, 3, ""},
		{"cut off", `{"a":[1`, ReasonSyntax, 7, "/a/0"},
		{"open string", `{"a":"b`, ReasonSyntax, 7, "/a"},
		{"wrong bracket", `[1}`, ReasonSyntax, 2, "/0"},
		{"control character", "{\"a\":\"x\ny\"}", ReasonSyntax, 7, "/a"},
		{"control character before an escape", "[\"\x01\\n\"]", ReasonSyntax, 2, "/0"},
		{"control character in a key with an escape", "{\"\x01\\n\":1}", ReasonSyntax, 2, "/\x01\n"},
		{"bad escape", `["\x"]`, ReasonSyntax, 3, "/0"},
		{"short unicode escape", `["\u12"]`, ReasonSyntax, 6, "/0"},
		{"sign in a unicode escape", `["\u+123"]`, ReasonSyntax, 4, "/0"},
		{"NUL after", "1\x00", ReasonSyntax, 1, ""},
		{"byte order mark", "\ufeff{}", ReasonSyntax, 0, ""},
		{"bad UTF-8 in a string", "{\"a\":\"\xff\"}", ReasonUTF8, 6, "/a"},
		{"bad UTF-8 outside", "[1,\xc3]", ReasonUTF8, 3, "/1"},
		{"surrogate as UTF-8", "\"\xed\xa0\x80\"", ReasonUTF8, 1, ""},
		{"overlong", "\"\xc0\xaf\"", ReasonUTF8, 1, ""},
		{"high surrogate alone", `["\ud800"]`, ReasonUTF8, 2, "/0"},
		{"low surrogate alone", `["a\udc00"]`, ReasonUTF8, 3, "/0"},
		{"surrogates swapped", `["\udc00\ud800"]`, ReasonUTF8, 2, "/0"},
		{"high before other escape", `["\ud800\u0041"]`, ReasonUTF8, 2, "/0"},
		{"surrogate in a key", `{"\ud800":1}`, ReasonUTF8, 2, "/\ufffd"},
		{"duplicate", `{"a":1,"b":2,"a":3}`, ReasonDuplicateKey, 13, "/a"},
		{"duplicate below", `{"x":[{},{"a":1,"a":1}]}`, ReasonDuplicateKey, 16, "/x/1/a"},
		{"duplicate by escape", `{"ab":1,"\u0061b":2}`, ReasonDuplicateKey, 8, "/ab"},
		{"duplicate by pair", `{"😀":1,"\ud83d\ude00":2}`, ReasonDuplicateKey, 10, "/😀"},
		{"duplicate empty", `{"":1,"":2}`, ReasonDuplicateKey, 6, "/"},
		{"duplicate after an object", `{"a":{"a":1},"a":1}`, ReasonDuplicateKey, 13, "/a"},
		{"duplicate key to escape", `{"a/b":1,"a/b":1}`, ReasonDuplicateKey, 9, "/a~1b"},
		{"syntax before duplicate", `{"a":1,"a":2`, ReasonSyntax, 12, "/a"},
		{"depth", deep, ReasonDepth, DefaultMaxDepth, strings.Repeat("/0", DefaultMaxDepth)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := Check([]byte(tt.text), Limits{})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("Check(%q) = %v, want an *Error", tt.text, err)
			}
			if e.Reason != tt.reason || e.Offset != tt.offset || e.Pointer != tt.pointer {
				t.Errorf("Check(%q) = %s, offset %d, pointer %q; want %s, %d, %q (%v)",
					tt.text, e.Reason, e.Offset, e.Pointer, tt.reason, tt.offset, tt.pointer, err)
			}
			if strings.ContainsAny(err.Error(), "\n\x00\x01") {
				t.Errorf("the message is not one clean line: %q", err.Error())
			}
		})
	}
}

func TestCheckLimits(t *testing.T) {
	tests := []struct {
		text   string
		limits Limits
		reason Reason
	}{
		{`[[1]]`, Limits{MaxDepth: 2}, ""},
		{`[[1]]`, Limits{MaxDepth: 1}, ReasonDepth},
		{`{"a":{}}`, Limits{MaxDepth: 1}, ReasonDepth},
		{`1`, Limits{MaxDepth: 1}, ""},
		{`[["` + strings.Repeat("[", 100) + `"]]`, Limits{MaxDepth: 2}, ""},
		{strings.Repeat("[", 1000) + strings.Repeat("]", 1000), Limits{MaxDepth: 1000}, ""},
		{`12345`, Limits{MaxBytes: 5}, ""},
		{`123456`, Limits{MaxBytes: 5}, ReasonSize},
	}
	for _, tt := range tests {
		err := Check([]byte(tt.text), tt.limits)
		var e *Error
		if errors.As(err, &e); e != nil && e.Reason != tt.reason || e == nil && tt.reason != "" {
			t.Errorf("Check(%.20s…, %+v) = %v, want %q", tt.text, tt.limits, err, tt.reason)
		}
	}
}

// manyKeys is an object of n different members.
func manyKeys(n int, last string) []byte {
	raw := []byte{'{'}
	for i := range n {
		raw = fmt.Appendf(raw, `"key%d":%d,`, i, i)
	}
	return fmt.Appendf(raw, `%s:0}`, last)
}

// TestCheckStaysFast gives documents on which a careless checker takes quadratic
// time, exhausts the stack or quotes megabytes into its error.
func TestCheckStaysFast(t *testing.T) {
	const mib = 1 << 20
	small := manyKeys(smallObject+1, `"z"`)
	mixed := append(append([]byte{'['}, manyKeys(200_000, `"z"`)...), ',')
	for range 50_000 {
		mixed = append(append(mixed, small...), ',')
	}
	mixed = append(mixed, "0]"...)
	tests := []struct {
		name string
		raw  []byte
		want Reason
	}{
		{"a million keys", manyKeys(1e6, `"z"`), ""},
		{"a million keys, one twice", manyKeys(1e6, `"key7"`), ReasonDuplicateKey},
		{"a million keys, one twice by escape", manyKeys(1e6, `"\u006bey999999"`), ReasonDuplicateKey},
		{"one large object, then many small ones", mixed, ""},
		{"opening brackets", bytes.Repeat([]byte("["), 10*mib), ReasonDepth},
		{"objects", bytes.Repeat([]byte(`{"a":`), 2*mib), ReasonDepth},
		{"bad UTF-8 after brackets", append(bytes.Repeat([]byte("["), 10*mib), 0xff), ReasonDepth},
		{"bad literal in depth", append(bytes.Repeat([]byte("["), 60), bytes.Repeat([]byte("t"), 10*mib)...), ReasonSyntax},
		{"backslashes", append(append([]byte(`"`), bytes.Repeat([]byte(`\\`), 5*mib)...), '"'), ""},
		{"escaped quotes", append(append([]byte(`"`), bytes.Repeat([]byte(`\"`), 5*mib)...), '"'), ""},
		{"open string of escaped quotes", append([]byte(`"`), bytes.Repeat([]byte(`\"`), 5*mib)...), ReasonSyntax},
		{"empty strings", append(bytes.Repeat([]byte(`"",`), 3*mib), '1'), ReasonSyntax},
		{"digits", bytes.Repeat([]byte("1"), 10*mib), ""},
		{"closing brackets", bytes.Repeat([]byte("]"), 10*mib), ReasonSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			err := Check(tt.raw, Limits{})
			took := time.Since(start)
			var e *Error
			if errors.As(err, &e); e != nil && e.Reason != tt.want || e == nil && tt.want != "" {
				t.Errorf("Check = %v, want %q", err, tt.want)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
			t.Logf("%d KiB in %v", len(tt.raw)>>10, took)
			if took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestCheckAllocatesNothingForSmallObjects(t *testing.T) {
	raw := []byte(`{"status":"success","data":{"rows":[{"a":1,"b":"x"},{"a":2,"b":"y"}],"n":null},"resources":[]}`)
	if got := testing.AllocsPerRun(100, func() { _ = Check(raw, Limits{}) }); got != 0 {
		t.Errorf("Check made %v allocations, want 0", got)
	}
}

// hasDuplicate is an independent answer, by the tokens of encoding/json. raw is
// valid JSON.
func hasDuplicate(raw []byte) bool {
	type open struct {
		keys map[string]bool // nil for an array
		key  bool            // a name comes next
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var stack []*open
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) || err != nil {
			return false
		}
		var top *open
		if len(stack) > 0 {
			top = stack[len(stack)-1]
		}
		if text, ok := token.(string); ok && top != nil && top.key {
			if top.keys[text] {
				return true
			}
			top.keys[text] = true
			top.key = false
			continue
		}
		if top != nil && top.keys != nil {
			top.key = true
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, &open{keys: map[string]bool{}, key: true})
		case json.Delim('['):
			stack = append(stack, &open{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
	}
}

// hasLoneSurrogate is an independent answer for valid JSON: every \u outside a
// run of escaped backslashes, read two at a time.
func hasLoneSurrogate(raw []byte) bool {
	var units []rune // consecutive escapes
	lone := func() bool {
		for i := 0; i < len(units); i++ {
			if !utf16.IsSurrogate(units[i]) {
				continue
			}
			if i+1 == len(units) || utf16.DecodeRune(units[i], units[i+1]) == utf8.RuneError {
				return true
			}
			i++
		}
		units = units[:0]
		return false
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && raw[i+1] == 'u' {
			var unit rune
			_, _ = fmt.Sscanf(string(raw[i+2:i+6]), "%04x", &unit)
			units = append(units, unit)
			i += 5
			continue
		}
		if lone() {
			return true
		}
		if raw[i] == '\\' {
			i++
		}
	}
	return lone()
}

func depthOf(raw []byte) int {
	depth, deepest := 0, 0
	Walk(raw, func(path *Path, _ string, _ []byte, kind Kind) Visit {
		depth = path.Depth()
		if kind == Array || kind == Object {
			depth++
		}
		deepest = max(deepest, depth)
		return Continue
	})
	return deepest
}

func FuzzCheck(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00"],"b":{"a":null,"a ":true}}`, `{"a":1,"\u0061":2}`, `["\ud800"]`,
		"[\"\x01\\n\"]", `[01]`, `{"a":1,}`, "\xff", `nul`, ` `, `"\\u"`, `[[[[[[[[[]]]]]]]]]`, `{"a" "b":1}`,
		string(manyKeys(20, `"z"`)), string(manyKeys(20, `"key3"`)), `{"a":[{"a":1},{"a":1}],"b":{"b":{}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		const maxDepth = 8
		err := Check(raw, Limits{MaxDepth: maxDepth})
		got := Reason("")
		var e *Error
		if errors.As(err, &e) {
			got = e.Reason
			if e.Offset < 0 || e.Offset > len(raw) || !utf8.ValidString(e.Detail) && utf8.Valid(raw) {
				t.Errorf("Check(%q): bad error %+v", raw, e)
			}
		}
		valid := json.Valid(raw)
		if (got == "" || got == ReasonDuplicateKey) && !valid {
			t.Fatalf("Check(%q) = %q, but encoding/json refuses it", raw, got)
		}
		if !valid {
			return
		}
		var want Reason
		switch {
		case depthOf(raw) > maxDepth:
			want = ReasonDepth
		case !utf8.Valid(raw):
			want = ReasonUTF8
		case hasLoneSurrogate(raw):
			want = ReasonUTF8
		case hasDuplicate(raw):
			want = ReasonDuplicateKey
		}
		// A document may break two of the rules that are noted on the way.
		both := hasLoneSurrogate(raw) && got == ReasonDuplicateKey && hasDuplicate(raw)
		if got != want && !both {
			t.Errorf("Check(%q) = %q (%v), want %q", raw, got, err, want)
		}
	})
}
