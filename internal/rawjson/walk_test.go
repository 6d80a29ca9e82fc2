package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

const sample = ` { "a" : [ 1 , {"b":null} , [ ] , "x\"]" ] , "c/d~" : {} , "" : true ,
 "t\u00e4" : -1.50e+3 } `

func TestWalk(t *testing.T) {
	var got []string
	Walk([]byte(sample), func(path *Path, key string, value []byte, kind Kind) Visit {
		got = append(got, fmt.Sprintf("%s|%s|%v|%.6s", path, key, kind, value))
		return Continue
	})
	want := []string{
		`||object|{ "a" `, `/a|a|array|[ 1 , `, `/a/0||number|1`, `/a/1||object|{"b":n`, `/a/1/b|b|null|null`,
		`/a/2||array|[ ]`, `/a/3||string|"x\"]"`, `/c~1d~0|c/d~|object|{}`, `/||boolean|true`, `/tä|tä|number|-1.50e`,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("visits:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestWalkSkipAndStop(t *testing.T) {
	visits := func(answer func(pointer string) Visit) string {
		var got []string
		Walk([]byte(`{"a":[1,[2]],"b":{"c":3},"d":4}`), func(path *Path, _ string, _ []byte, _ Kind) Visit {
			got = append(got, path.String())
			return answer(path.String())
		})
		return strings.Join(got, " ")
	}
	tests := []struct {
		name, at string
		visit    Visit
		want     string
	}{
		{"skip an array", "/a", Skip, " /a /b /b/c /d"},
		{"skip in an array", "/a/1", Skip, " /a /a/0 /a/1 /b /b/c /d"},
		{"skip a scalar", "/a/0", Skip, " /a /a/0 /a/1 /a/1/0 /b /b/c /d"},
		{"skip the root", "", Skip, ""},
		{"stop inside", "/a/1/0", Stop, " /a /a/0 /a/1 /a/1/0"},
		{"stop at the root", "", Stop, ""},
		{"stop nowhere", "/x", Stop, " /a /a/0 /a/1 /a/1/0 /b /b/c /d"},
	}
	for _, tt := range tests {
		got := visits(func(pointer string) Visit {
			if pointer == tt.at {
				return tt.visit
			}
			return Continue
		})
		if got != tt.want {
			t.Errorf("%s: visited %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPathIndex(t *testing.T) {
	Walk([]byte(`[{"a":1},2]`), func(path *Path, key string, _ []byte, _ Kind) Visit {
		index, ok := path.Index()
		if ok != (path.Depth() == 1) || ok && fmt.Sprintf("/%d", index) != path.String() {
			t.Errorf("at %q: Index() = %d, %t", path, index, ok)
		}
		return Continue
	})
}

func TestRewrite(t *testing.T) {
	tests := []struct {
		name, raw, at, replacement, want string
	}{
		{"member", ` { "a" : 1 , "b":2 } `, "/a", `[true]`, ` { "a" : [true] , "b":2 } `},
		{"element", `[1,2 ,3]`, "/1", `"x"`, `[1,"x" ,3]`},
		{"root keeps white space", "\n{}\t", "", `5`, "\n5\t"},
		{"container whole", `{"a":{"b":[1]},"c":1}`, "/a", `null`, `{"a":null,"c":1}`},
		{"nothing", sample, "/nowhere", ``, sample},
		{"key to escape", `{"x/y":1}`, "/x~1y", `2`, `{"x/y":2}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := []byte(tt.raw)
			got := Rewrite(raw, func(path *Path, _ []byte, _ Kind) ([]byte, bool) {
				return []byte(tt.replacement), path.String() == tt.at
			})
			if string(got) != tt.want {
				t.Errorf("Rewrite = %s, want %s", got, tt.want)
			}
			if string(raw) != tt.raw {
				t.Error("the input was changed")
			}
			if tt.name == "nothing" && &got[0] != &raw[0] {
				t.Error("a rewrite of nothing made a copy")
			}
		})
	}
}

func TestAt(t *testing.T) {
	tests := []struct {
		pointer, want string
		found         bool
	}{
		{"", strings.TrimSpace(sample), true},
		{"/a/0", "1", true},
		{"/a/1/b", "null", true},
		{"/a/2", "[ ]", true},
		{"/a/3", `"x\"]"`, true},
		{"/c~1d~0", "{}", true},
		{"/", "true", true},
		{"/tä", "-1.50e+3", true},
		{"/a/4", "", false}, {"/a/-", "", false}, {"/a/01", "", false}, {"/a/-1", "", false}, {"/a/+1", "", false},
		{"/a/99999999999999999999", "", false}, {"/a/", "", false}, {"/b", "", false}, {"/a/0/x", "", false},
		{"a", "", false}, {"/c~2", "", false}, {"/c~", "", false}, {"/c/d~0", "", false}, {"/t\\u00e4", "", false},
		{"#/a", "", false},
	}
	for _, tt := range tests {
		got, found := At([]byte(sample), tt.pointer)
		if string(got) != tt.want || found != tt.found {
			t.Errorf("At(%q) = %s, %t; want %s, %t", tt.pointer, got, found, tt.want, tt.found)
		}
	}
}

func TestMembersElementsLen(t *testing.T) {
	var got []string
	for key, value := range Members([]byte(sample)) {
		got = append(got, key+"="+string(value))
	}
	want := []string{`a=[ 1 , {"b":null} , [ ] , "x\"]" ]`, `c/d~={}`, `=true`, `tä=-1.50e+3`}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Members = %q, want %q", got, want)
	}
	got = nil
	for i, value := range Elements([]byte(` [ 1, [2,3] ,{} ]`)) {
		got = append(got, fmt.Sprint(i, "=", string(value)))
		if i == 1 {
			break
		}
	}
	if want := []string{"0=1", "1=[2,3]"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Elements = %q, want %q", got, want)
	}
	for raw, want := range map[string]int{sample: 4, `[]`: 0, ` [1,[2,3],{}]`: 3, `{}`: 0, `"[1,2]"`: 0, `5`: 0, ``: 0} {
		if got := Len([]byte(raw)); got != want {
			t.Errorf("Len(%s) = %d, want %d", raw, got, want)
		}
	}
}

func TestKinds(t *testing.T) {
	for raw, want := range map[string]string{
		`null`: "null", ` true`: "boolean", `false`: "boolean", `-1`: "number", `0`: "number", "\n\"x\"": "string",
		`[`: "array", `{}`: "object", ``: "invalid", ` `: "invalid", `+`: "invalid", `]`: "invalid",
	} {
		if got := KindOf([]byte(raw)).String(); got != want {
			t.Errorf("KindOf(%q) = %s, want %s", raw, got, want)
		}
	}
}

func TestUnquote(t *testing.T) {
	tests := []struct {
		raw, want string
		ok        bool
	}{
		{`""`, "", true}, {` "abc" `, "abc", true}, {`"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t", true},
		{`"\u00e4\u20AC\ud83d\ude00\u0000"`, "ä€😀\x00", true}, {`"a\\"`, `a\`, true},
		{`"`, "", false}, {`"\"`, "", false}, {`"a"b`, "", false}, {`5`, "", false}, {``, "", false}, {`"a""`, "", false},
	}
	for _, tt := range tests {
		if got, ok := Unquote([]byte(tt.raw)); got != tt.want || ok != tt.ok {
			t.Errorf("Unquote(%s) = %q, %t; want %q, %t", tt.raw, got, ok, tt.want, tt.ok)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, text := range []string{"", "abc", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "ä€😀", "\u2028\u2029", "\xff\xc3(", "<>&", "\ufffd"} {
		raw := Quote([]byte("x"), text)[1:]
		if err := Check(raw, Limits{}); err != nil {
			t.Errorf("Quote(%q) = %s: %v", text, raw, err)
		}
		if got, _ := Unquote(raw); got != strings.ToValidUTF8(strings.ReplaceAll(text, "\xff\xc3(", "\ufffd\ufffd("), "\ufffd") {
			t.Errorf("Quote(%q) = %s, which is %q", text, raw, got)
		}
	}
}

func TestSetMember(t *testing.T) {
	tests := []struct{ raw, key, value, want string }{
		{`{}`, "a", `1`, `{"a":1}`},
		{` { } `, "a", `1`, ` {"a":1 } `},
		{`{"a" : 1 }`, "a", `[2]`, `{"a" : [2] }`},
		{`{"a":1 }`, "b", `2`, `{"a":1,"b":2 }`},
		{`{"\u0061":1,"c":{"a":5}}`, "a", `2`, `{"\u0061":2,"c":{"a":5}}`},
		{`{"c":{"a":5}}`, "a", `2`, `{"c":{"a":5},"a":2}`},
		{`{}`, "q\"", `null`, `{"q\"":null}`},
		{`[1]`, "a", `2`, `[1]`},
		{``, "a", `2`, ``},
	}
	for _, tt := range tests {
		raw := []byte(tt.raw)
		if got := SetMember(raw, tt.key, []byte(tt.value)); string(got) != tt.want || string(raw) != tt.raw {
			t.Errorf("SetMember(%s, %q, %s) = %s, want %s", tt.raw, tt.key, tt.value, got, tt.want)
		}
	}
}

func TestAppendPointer(t *testing.T) {
	if got := AppendPointer(AppendPointer(AppendPointer("", "a/b"), "~1"), ""); got != "/a~1b/~01/" {
		t.Errorf("AppendPointer = %q", got)
	}
}

// TestGarbageEnds gives every function what Check would never let pass.
func TestGarbageEnds(t *testing.T) {
	for _, raw := range [][]byte{
		nil, []byte("["), []byte("{"), []byte(`"`), []byte("]"), []byte(`{"a`), []byte(`{"a":`), []byte(`{"a":}`), []byte(`[,,]`),
		[]byte(`{a"[":1}`), []byte(`[}`), []byte(`{]`), []byte(`[1 2 "a"]`), []byte(`{"a":1 "b"`), []byte(`"\`), []byte(`"\u`),
		[]byte(`[1]]]]`), []byte(`:`), []byte(`{"":"":""}`),
		bytes.Repeat([]byte("["), 5<<20), bytes.Repeat([]byte(`{"a":`), 1<<20), bytes.Repeat([]byte(`]`), 5<<20),
	} {
		start := time.Now()
		exercise(raw)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%.20q took %v", raw, took)
		}
	}
}

func exercise(raw []byte) {
	Walk(raw, func(*Path, string, []byte, Kind) Visit { return Continue })
	Rewrite(raw, func(path *Path, _ []byte, _ Kind) ([]byte, bool) { return []byte("1"), path.Depth() == 1 })
	for range Members(raw) {
	}
	for range Elements(raw) {
	}
	Len(raw)
	KindOf(raw)
	Unquote(raw)
	At(raw, "/a/0/a")
	SetMember(raw, "a", []byte("1"))
}

// TestWalkIsLinear walks documents that are as deep and as long as is allowed.
func TestWalkIsLinear(t *testing.T) {
	wide := strings.Repeat("[", 63) + strings.Repeat("1,", 4<<20) + "1" + strings.Repeat("]", 63)
	many := "[" + strings.Repeat("[],", 4<<20) + "1]"
	for _, raw := range []string{wide, many} {
		start, visits := time.Now(), 0
		Walk([]byte(raw), func(*Path, string, []byte, Kind) Visit { visits++; return Continue })
		took := time.Since(start)
		t.Logf("%d MiB, %d visits in %v", len(raw)>>20, visits, took)
		if visits < 4<<20 || took > 10*time.Second {
			t.Errorf("%d visits in %v", visits, took)
		}
	}
}

func addDocuments(f *testing.F) {
	for _, text := range []string{sample, `[1,{"a":[{},[]]},"x"]`, `"x"`, `{"a":{"a":{"a":1}}}`, `[[[1],2],3]`,
		`{"~":1,"/":2,"~1":3,"0":[4]}`, `{"k":"\ud83d\ude00","\n":[true,false]}`} {
		f.Add([]byte(text), uint(3))
	}
}

func FuzzWalkRewrite(f *testing.F) {
	addDocuments(f)
	f.Fuzz(func(t *testing.T, raw []byte, pick uint) {
		exercise(raw)
		if Check(raw, Limits{}) != nil {
			return
		}
		n, target := uint(0), ""
		Walk(raw, func(path *Path, _ string, value []byte, kind Kind) Visit {
			pointer := path.String()
			if !json.Valid(value) || kind == Invalid {
				t.Errorf("%q: the value at %q is %q", raw, pointer, value)
			}
			if got, found := At(raw, pointer); !found || &got[0] != &value[0] || len(got) != len(value) {
				t.Errorf("%q: At(%q) = %q, %t; the walk saw %q", raw, pointer, got, found, value)
			}
			if n == pick%64 {
				target = pointer
			}
			n++
			return Continue
		})
		if n == 0 {
			t.Fatalf("%q: no visit", raw)
		}
		same := Rewrite(raw, func(_ *Path, value []byte, kind Kind) ([]byte, bool) { return value, kind != Array && kind != Object })
		if !bytes.Equal(same, raw) {
			t.Errorf("identity of %q = %q", raw, same)
		}
		changed := Rewrite(raw, func(path *Path, _ []byte, _ Kind) ([]byte, bool) {
			return []byte(`{"new":[1]}`), path.String() == target
		})
		if err := Check(changed, Limits{MaxDepth: DefaultMaxDepth + 2}); err != nil {
			t.Errorf("%q with %q replaced: %v", raw, target, err)
		}
		if got, _ := At(changed, target+"/new/0"); string(got) != "1" {
			t.Errorf("%q with %q replaced is %q", raw, target, changed)
		}
		set := SetMember(raw, "fuzz~/", []byte("7"))
		if got, _ := At(set, "/fuzz~0~1"); KindOf(raw) == Object && (string(got) != "7" || Check(set, Limits{}) != nil) {
			t.Errorf("SetMember(%q) = %q", raw, set)
		}
	})
}

func FuzzAt(f *testing.F) {
	f.Add([]byte(sample), "/a/1/b")
	f.Add([]byte(`{"~":{"/":[1]}}`), "/~0/~1/0")
	f.Add([]byte(`{"a":`), "/a")
	f.Add([]byte(`[[1,2],3]`), "/0/-")
	f.Fuzz(func(t *testing.T, raw []byte, pointer string) {
		value, found := At(raw, pointer)
		if !found {
			if value != nil {
				t.Errorf("At(%q, %q) found nothing and gave %q", raw, pointer, value)
			}
			return
		}
		if Check(raw, Limits{}) != nil {
			return
		}
		if !json.Valid(value) {
			t.Errorf("At(%q, %q) = %q", raw, pointer, value)
		}
		visited := false
		Walk(raw, func(path *Path, _ string, at []byte, _ Kind) Visit {
			if &at[0] == &value[0] && len(at) == len(value) {
				visited = path.String() == pointer
				return Stop
			}
			return Continue
		})
		if !visited {
			t.Errorf("At(%q, %q) is nowhere in the walk", raw, pointer)
		}
	})
}
