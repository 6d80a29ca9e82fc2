package validate

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vcphost/abi"
)

func TestProblems(t *testing.T) {
	const permission = `{"oneOf":[
		{"type":"object","properties":{"kind":{"const":"kv"},"bytes":{"type":"integer"}},"required":["kind"],"additionalProperties":false},
		{"type":"object","properties":{"kind":{"const":"http"},"hosts":{"type":"array","minItems":1}},"required":["kind","hosts"],"additionalProperties":false}]}`
	for _, test := range []struct {
		name, document, instance string
		want                     []Problem
	}{
		{"type", `{"type":"integer"}`, `"abc"`, []Problem{{"", "type", "an integer", `"abc" (string)`}}},
		{"types", `{"type":["string","null","array"]}`, `true`, []Problem{{"", "type", "a string, null or an array", "true (boolean)"}}},
		{"enum", `{"enum":["a",1,null,{"x":1}]}`, `[1,2]`, []Problem{{"", "enum", `"a", 1, null or an object of 1 member`, "an array of 2 elements"}}},
		{"const", `{"const":"Plot"}`, `{"a":1}`, []Problem{{"", "const", `"Plot"`, "an object of 1 member"}}},
		{"bounds", `{"minimum":1,"multipleOf":2}`, `-1`, []Problem{{"", "minimum", "a number of at least 1", "-1 (number)"}, {"", "multipleOf", "a multiple of 2", "-1 (number)"}}},
		{"exclusive bounds", `{"exclusiveMaximum":0.5}`, `0.5`, []Problem{{"", "exclusiveMaximum", "a number below 0.5", "0.5 (number)"}}},
		{"lengths", `{"minLength":3,"pattern":"^x"}`, `"é"`, []Problem{{"", "minLength", "at least 3 characters", `"é" (string)`}, {"", "pattern", "a string that matches ^x", `"é" (string)`}}},
		{"format", `{"format":"ipv4"}`, `"1.2.3"`, []Problem{{"", "format", "a string in the format ipv4", `"1.2.3" (string)`}}},
		{"not a pattern", `{"not":{"pattern":"^x"}}`, `"xy"`, []Problem{{"", "not", "a string that does not match ^x", `"xy" (string)`}}},
		{"elements", `{"items":{"type":"string"},"maxItems":2}`, `["a",1,"b",null]`, []Problem{
			{"/1", "type", "a string", "1 (number)"}, {"/3", "type", "a string", "null"}, {"", "maxItems", "at most 2 elements", "an array of 4 elements"}}},
		{"unique elements", `{"uniqueItems":true}`, `[1,1.0]`, []Problem{{"", "uniqueItems", "elements that differ from one another", "an array of 2 elements"}}},
		{"prefix", `{"prefixItems":[{"type":"string"}],"items":false}`, `[1,2]`, []Problem{
			{"/1", "items", "no element here", "2 (number)"}, {"/0", "type", "a string", "1 (number)"}}},
		{"contains", `{"contains":{"type":"string"}}`, `[1]`, []Problem{{"", "minContains", "at least 1 element that matches", "an array of 1 element"}}},
		{"required", `{"required":["a","b"],"properties":{"a":{"type":"string"}}}`, `{}`, []Problem{
			{"/a", "required", "a member of this name", "nothing"}, {"/b", "required", "a member of this name", "nothing"}}},
		{"dependent", `{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, []Problem{{"/b", "dependentRequired", `a member of this name, since "a" is there`, "nothing"}}},
		{"dependent schema", `{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1}`, []Problem{{"/b", "required", "a member of this name", "nothing"}}},
		{"unknown member", `{"properties":{"a":{},"b":{}},"additionalProperties":false}`, `{"c/d":[]}`, []Problem{
			{"/c~1d", "additionalProperties", `no member of this name; known are "a" and "b"`, "an array of 0 elements"}}},
		{"patterns of members", `{"patternProperties":{"^a":{"type":"string"},"^b":false}}`, `{"a":1,"b":2}`, []Problem{
			{"/a", "type", "a string", "1 (number)"}, {"/b", "patternProperties", "no member of this name", "2 (number)"}}},
		{"name of a member", `{"propertyNames":{"maxLength":2}}`, `{"abc":1}`, []Problem{{"/abc", "maxLength", "at most 2 characters", `"abc" (string)`}}},
		{"deepest first", `{"properties":{"a":{"items":{"properties":{"b":{"type":"null"}}}},"c":{"type":"null"}}}`, `{"a":[{"b":1}],"c":1}`, []Problem{
			{"/a/0/b", "type", "null", "1 (number)"}, {"/c", "type", "null", "1 (number)"}}},
		{"null or a reference", `{"anyOf":[{"type":"null"},{"$ref":"vcp:resource"}]}`, `{"$resource":1}`, []Problem{{"/$resource", "type", "a string", "1 (number)"}}},
		{"text where a resource belongs", `{"properties":{"data":{"$ref":"vcp:resource"}}}`, `{"data":"a.csv"}`, []Problem{{"/data", "type", `a resource, {"$resource": id}`, `"a.csv" (string)`}}},
		{"no alternative fits", `{"anyOf":[{"type":"null"},{"$ref":"vcp:resource"}]}`, `7`, []Problem{{"", "anyOf", `null or a resource, {"$resource": id}`, "7 (number)"}}},
		{"the alternative by its kind", permission, `{"kind":"http","bytes":1}`, []Problem{
			{"/bytes", "additionalProperties", `no member of this name; known are "hosts" and "kind"`, "1 (number)"}, {"/hosts", "required", "a member of this name", "nothing"}}},
		{"no alternative of the kind", permission, `{"kind":"magic"}`, []Problem{{"/kind", "oneOf", `"kv" or "http"`, `"magic" (string)`}}},
		{"too many alternatives", `{"oneOf":[{"type":"integer"},{"minimum":0}]}`, `5`, []Problem{
			{"", "oneOf", "a value that matches exactly one of the alternatives", "a value that matches several of them"}}},
		{"then", `{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, []Problem{{"/b", "required", "a member of this name", "nothing"}}},
		{"else", `{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"properties":{"c":{"type":"null"}}}}`, `{"c":1}`, []Problem{{"/c", "type", "null", "1 (number)"}}},
		{"not JSON", `{"type":"null"}`, `{`, []Problem{{"", "json", "JSON", "something else"}}},
		{"beyond all bounds", `{"type":"object"}`, `{"a":[1e999999999]}`, []Problem{{"/a/0", "number", "a number of at most 1000 digits and an exponent within 1000", "a longer one"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := compile(t, test.document).Problems([]byte(test.instance)); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, test.want)
			}
		})
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var members []string
	for i := range 500 {
		members = append(members, fmt.Sprintf(`"m%03d":%d`, i, i))
	}
	instance := []byte(`{` + strings.Join(members, ",") + `}`)
	s := compile(t, `{"additionalProperties":{"type":"string"}}`)
	first := s.Problems(instance)
	if len(first) != maxProblems || first[0].Pointer != "/m000" {
		t.Fatalf("got %d problems, the first at %q; want %d from /m000", len(first), first[0].Pointer, maxProblems)
	}
	for range 20 {
		if again := s.Problems(instance); !reflect.DeepEqual(again, first) {
			t.Fatalf("the order changed:\n%v\n%v", first, again)
		}
	}
}

func TestProblemsDoNotCopyValues(t *testing.T) {
	secret := strings.Repeat("sécret", 10_000)
	problems := compile(t, `{"properties":{"a":{"type":"integer"},"b":{"const":"x"}}}`).Problems([]byte(`{"a":"` + secret + `","b":[` + `"` + secret + `"` + `]}`))
	if len(problems) != 2 {
		t.Fatalf("got %d problems, want 2", len(problems))
	}
	for _, problem := range problems {
		if n := utf8.RuneCountInString(problem.Got); n > maxShown+20 {
			t.Errorf("got has %d code points: %.200s", n, problem.Got)
		}
	}
}

// Each of these schemas is small, and so is the value; the work is not.
func TestWorkIsBounded(t *testing.T) {
	multiply := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 7 {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		multiply += fmt.Sprintf(`"d%d":{"allOf":[%s]},`, i, strings.Repeat(next+",", 7)+next)
	}
	multiply += `"d7":{"type":"null"}}}`
	for _, test := range []struct{ name, document, instance string }{
		{"each schema applies the next eight times", multiply, `null`},
		{"each level of the value doubles", `{"properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)},
		{"large pattern on a large text", `{"pattern":"^(a?){100}b(c|d){100}$"}`, `"` + strings.Repeat("a", 6<<20) + `"`},
		{"deep comparison again and again", `{"items":{"allOf":[` + strings.Repeat(`{"uniqueItems":true},`, 300) + `{}]}}`, `[[[` + strings.Repeat("1,", 100_000) + `1],[2]]]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := compile(t, test.document)
			start := time.Now()
			problems := s.Problems([]byte(test.instance))
			if len(problems) != 1 || problems[0].Keyword != "budget" {
				t.Errorf("got %v, want that the budget is used up", problems)
			}
			if took := time.Since(start); took > 2*time.Minute {
				t.Errorf("it took %v", took)
			}
			if again := s.Problems([]byte(`"x"`)); len(again) == 1 && again[0].Keyword == "schema" {
				t.Errorf("the schema is of no use afterwards: %v", again)
			}
		})
	}
}

// A large honest value stays within its budget.
func TestWorkSufficesForLargeData(t *testing.T) {
	row := `{"id":1,"name":"x","tags":["a","b"]}`
	instance := "[" + strings.Repeat(row+",", 20_000) + row + "]"
	s := compile(t, `{"type":"array","items":{"$ref":"#/$defs/row"},"$defs":{"row":{"type":"object","properties":{
		"id":{"type":"integer"},"name":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},"required":["id","name"]}}}`)
	if problems := s.Problems([]byte(instance)); problems != nil {
		t.Errorf("refused: %v", problems)
	}
}

const plotArguments = `{"type":"object","properties":{"command":{"const":"Plot"},"data":{"$ref":"vcp:resource"},"a/b":{"type":"string"},
	"rows":{"type":"array","items":{"type":"integer"}}},"required":["data"],"additionalProperties":false}`

func TestArguments(t *testing.T) {
	s := compile(t, plotArguments)
	for _, test := range []struct{ name, arguments, code, target, pointer string }{
		{"valid", `{"data":{"$resource":"r"},"rows":[1]}`, "", "", ""},
		{"missing", `{"command":"Plot"}`, abi.CodeMissingArgument, "data", "/data"},
		{"missing goes before wrong", `{"rows":["x"]}`, abi.CodeMissingArgument, "data", "/data"},
		{"wrong", `{"data":1}`, abi.CodeInvalidArgument, "data", "/data"},
		{"wrong below", `{"data":{"$resource":"r"},"rows":[1,"x"]}`, abi.CodeInvalidArgument, "/rows/1", "/rows/1"},
		{"missing below", `{"data":{}}`, abi.CodeInvalidArgument, "/data/$resource", "/data/$resource"},
		{"unknown", `{"data":{"$resource":"r"},"colum":1}`, abi.CodeInvalidArgument, "colum", "/colum"},
		{"name with a slash", `{"data":{"$resource":"r"},"a/b":1}`, abi.CodeInvalidArgument, "a/b", "/a~1b"},
		{"no object", `[]`, abi.CodeInvalidArgument, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := Arguments(s, []byte(test.arguments))
			if test.code == "" {
				if err != nil {
					t.Errorf("got %v, want nothing", err)
				}
				return
			}
			if err == nil || err.Code != test.code || err.Target != test.target {
				t.Fatalf("got %+v, want %s at %q", err, test.code, test.target)
			}
			d := detailsOf(t, err)
			if d.Pointer != test.pointer || d.Expected == "" || d.Got == "" || len(d.Problems) == 0 {
				t.Errorf("got details %+v, want the pointer %q", d, test.pointer)
			}
			if err.Category != abi.CategoryValidation || err.Retryable {
				t.Errorf("got category %s, retryable %v", err.Category, err.Retryable)
			}
		})
	}
}

func TestData(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{"chart":{"$ref":"vcp:resource"}},"required":["chart"]}`)
	if err := Data(s, []byte(`{"chart":{"$resource":"res_1"},"more":[]}`)); err != nil {
		t.Errorf("valid data: got %v", err)
	}
	for data, pointer := range map[string]string{`{}`: "/data/chart", `{"chart":{"$resource":5}}`: "/data/chart/$resource", `[]`: "/data"} {
		err := Data(s, []byte(data))
		if err == nil || err.Code != abi.CodeInvalidToolResult || err.Target != pointer || err.Category != abi.CategoryProtocol {
			t.Errorf("%s: got %+v, want %s at %s", data, err, abi.CodeInvalidToolResult, pointer)
			continue
		}
		if d := detailsOf(t, err); d.Pointer != pointer || d.Problems[0].Pointer != pointer {
			t.Errorf("%s: got details %+v, want the pointer %s in both places", data, d, pointer)
		}
	}
	if err := Data(compile(t, `{}`), []byte(`1`)); err != nil {
		t.Errorf("a schema that allows everything: got %v", err)
	}
}
