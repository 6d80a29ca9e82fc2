package validate

import (
	"encoding/json"
	"errors"
	"testing"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// What Payload accepts is a payload by every other measure as well.
func FuzzPayload(f *testing.F) {
	for _, example := range examplePayloads() {
		f.Add([]byte(example.document), string(example.phase))
	}
	f.Add([]byte(base), string(abi.PhaseSync))
	f.Add([]byte(baseError), string(abi.PhaseHost))
	f.Add([]byte(`{"status":"success","data":null,"task":{"id":"t","state":"completed","progress":1e-400}}`), string(abi.PhaseSync))
	s := payloadSchema(f)
	f.Fuzz(func(t *testing.T, raw []byte, phase string) {
		p, err := Payload(raw, abi.Phase(phase), rawjson.Limits{MaxBytes: 1 << 16})
		if err != nil {
			if err.Code != abi.CodeInvalidToolResult || !json.Valid(err.Details) {
				t.Fatalf("got %+v", err)
			}
			return
		}
		if err := abi.CheckStatus(abi.Phase(phase), p); err != nil {
			t.Fatalf("accepted, and the status table says %v", err)
		}
		for _, problem := range s.Problems(raw) {
			// Numbers beyond all bounds in data are for those who read them.
			if problem.Keyword != "number" {
				t.Fatalf("accepted, and the schema says %+v", problem)
			}
		}
		if _, err := json.Marshal(p); err != nil {
			t.Fatalf("accepted, and it cannot be written: %v", err)
		}
	})
}

func FuzzCompile(f *testing.F) {
	for _, document := range []string{
		plotArguments, `{"$ref":"#/$defs/a","$defs":{"a":{"$anchor":"x","items":{"$ref":"#x"}}}}`, `{"pattern":"^a+$","format":"uri"}`,
		`{"patternProperties":{"^x":{"type":"integer"}},"propertyNames":{"maxLength":3},"unevaluatedProperties":false}`,
		`{"if":{"const":1},"then":{"minimum":2},"else":{"not":{"enum":[1,"a"]}}}`, `{"oneOf":[{"$ref":"vcp:resource"},true]}`,
		`{"contains":{"type":"null"},"minContains":0,"uniqueItems":true,"prefixItems":[{}],"unevaluatedItems":false}`,
	} {
		for _, instance := range []string{`{"data":{"$resource":"x"}}`, `[1,"a",null,{"x":1e3}]`, `"text"`, `-0.0`} {
			f.Add([]byte(document), []byte(instance))
		}
	}
	c, err := NewCompiler()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, document, instance []byte) {
		s, err := c.Compile(document)
		if err != nil {
			var refused *SchemaError
			if !errors.As(err, &refused) || refused.Reason == "" {
				t.Fatalf("got %v, want a SchemaError with a reason", err)
			}
			return
		}
		if rawjson.Check(instance, rawjson.Limits{MaxBytes: 1 << 16}) != nil {
			return
		}
		problems := s.Problems(instance)
		if len(problems) > maxProblems {
			t.Fatalf("got %d problems", len(problems))
		}
		for _, problem := range problems {
			if problem.Keyword == "" || problem.Expected == "" || problem.Got == "" {
				t.Fatalf("%s says too little of %s: %+v", document, instance, problem)
			}
			if problem.Keyword == "schema" && s.doc.asserts && problem.Got == "" {
				t.Fatalf("the validator gave up: %+v", problem)
			}
		}
		Arguments(s, instance)
	})
}
