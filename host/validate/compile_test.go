package validate

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestCompileRefuses(t *testing.T) {
	c := newCompiler(t)
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
		}
		fmt.Fprintf(&b, `"d%d":{"type":"null"}}}`, n)
		return b.String()
	}
	for _, test := range []struct{ name, document, pointer string }{
		{"not JSON", `{"type":`, "/type"},
		{"not UTF-8", "{\"title\":\"\xff\"}", "/title"},
		{"repeated member", `{"type":"null","type":"string"}`, "/type"},
		{"not a schema", `[]`, ""},
		{"null", `null`, ""},
		{"unresolved reference", `{"properties":{"a":{"$ref":"#/$defs/none"}}}`, "/properties/a/$ref"},
		{"unresolved reference in a definition", `{"$defs":{"a":{"items":{"$ref":"#/$defs/b"}}}}`, "/$defs/a/items/$ref"},
		{"reference to what is no schema", `{"$ref":"#/properties","properties":{"a":{}}}`, "/$ref"},
		{"reference into an enum", `{"$ref":"#/enum/0","enum":[{}]}`, "/$ref"},
		{"reference into an unknown keyword", `{"$ref":"#/x-schemas/a","x-schemas":{"a":{}}}`, "/$ref"},
		{"unknown anchor", `{"$ref":"#a"}`, "/$ref"},
		{"remote reference", `{"$ref":"https://example.com/schema.json"}`, "/$ref"},
		{"remote reference in a definition", `{"$defs":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`, "/$defs/a/$ref"},
		{"file reference", `{"$ref":"file:///etc/passwd"}`, "/$ref"},
		{"relative reference", `{"$ref":"other.json"}`, "/$ref"},
		{"reference to the metaschema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "/$ref"},
		{"reference below vcp:resource", `{"$ref":"vcp:resource#/properties"}`, "/$ref"},
		{"other resource of the host", `{"$ref":"vcp:payload"}`, "/$ref"},
		{"reference to itself", `{"$ref":"#"}`, ""},
		{"cycle of two", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, "/$defs/a"},
		{"cycle through allOf", `{"allOf":[{"anyOf":[{"$ref":"#"}]}]}`, ""},
		{"cycle through dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, ""},
		{"chain without end", chain(40), "/$defs/d8"},
		{"dynamic reference", `{"$dynamicRef":"#a","$dynamicAnchor":"a"}`, "/$dynamicRef"},
		{"nested identity", `{"properties":{"a":{"$id":"http://x/y"}}}`, "/properties/a/$id"},
		{"other dialect", `{"$schema":"http://json-schema.org/draft-07/schema#"}`, "/$schema"},
		{"dialect of one's own", `{"$schema":"http://evil.example/meta"}`, "/$schema"},
		{"old tuple", `{"items":[{}]}`, "/items"},
		{"old dependencies", `{"dependencies":{"a":["b"]}}`, "/dependencies"},
		{"repeated anchor", `{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`, "/$defs/b/$anchor"},
		{"both kinds of definitions", `{"$defs":{},"definitions":{}}`, "/definitions"},
		{"unknown type", `{"type":"int"}`, "/type"},
		{"no types", `{"type":[]}`, "/type"},
		{"type of the wrong kind", `{"type":1}`, "/type"},
		{"no alternatives", `{"anyOf":[]}`, "/anyOf"},
		{"no values", `{"enum":[]}`, "/enum"},
		{"enum of the wrong kind", `{"enum":"a"}`, "/enum"},
		{"required of the wrong kind", `{"required":true}`, "/required"},
		{"required twice", `{"required":["a","a"]}`, "/required"},
		{"negative length", `{"maxLength":-1}`, "/maxLength"},
		{"half a length", `{"minItems":1.5}`, "/minItems"},
		{"multiple of nothing", `{"multipleOf":0}`, "/multipleOf"},
		{"bound of the wrong kind", `{"minimum":"1"}`, "/minimum"},
		{"bound beyond all bounds", `{"maximum":1e999999999}`, "/maximum"},
		{"properties of the wrong kind", `{"properties":[]}`, "/properties"},
		{"property of the wrong kind", `{"properties":{"a/b":1}}`, "/properties/a~1b"},
		{"pattern that is none", `{"pattern":"("}`, "/pattern"},
		{"pattern with look-ahead", `{"properties":{"a":{"pattern":"^(?!x)"}}}`, "/properties/a/pattern"},
		{"pattern of properties that is none", `{"patternProperties":{"[":{}}}`, "/patternProperties/["},
		{"pattern that explodes", `{"pattern":"((a{0,100}){0,10}){0,10}"}`, "/pattern"},
		{"unknown format", `{"format":"datetime"}`, "/format"},
		{"flag of the wrong kind", `{"uniqueItems":1}`, "/uniqueItems"},
		{"deep", strings.Repeat(`{"not":`, 70) + "{}" + strings.Repeat("}", 70), strings.Repeat("/not", 64)},
		{"large", `{"title":"` + strings.Repeat("x", 1<<20) + `"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := c.Compile([]byte(test.document))
			var refused *SchemaError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a SchemaError", err)
			}
			if refused.Pointer != test.pointer || refused.Reason == "" {
				t.Errorf("got %q at %q, want a reason at %q", refused.Reason, refused.Pointer, test.pointer)
			}
			if len(refused.Error()) > 1000 {
				t.Errorf("the message has %d bytes", len(refused.Error()))
			}
		})
	}
}

func TestCompileAccepts(t *testing.T) {
	for _, test := range []struct{ name, document, valid, invalid string }{
		{"recursion", `{"type":"object","properties":{"next":{"$ref":"#"}},"additionalProperties":false}`, `{"next":{"next":{}}}`, `{"next":{"next":{"nxt":1}}}`},
		{"anchor", `{"items":{"$ref":"#here"},"$defs":{"a":{"$anchor":"here","type":"string"}}}`, `["a"]`, `[1]`},
		{"old definitions", `{"items":{"$ref":"#/definitions/a"},"definitions":{"a":{"type":"string"}}}`, `["a"]`, `[1]`},
		{"escaped pointer", `{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"type":"string"}}}`, `"x"`, `1`},
		{"reference to a property", `{"properties":{"a":{"type":"integer"},"b":{"$ref":"#/properties/a"}}}`, `{"b":1}`, `{"b":"x"}`},
		{"resource", `{"items":{"$ref":"vcp:resource"}}`, `[{"$resource":"res_1"}]`, `[{"$resource":"res_1","x":1}]`},
		{"format", `{"format":"date-time"}`, `"2026-07-12T10:00:00+08:00"`, `"yesterday"`},
		{"identity", `{"$id":"https://example.com/a","$schema":"https://json-schema.org/draft/2020-12/schema","type":"null"}`, `null`, `1`},
		{"reference beside a bound", `{"$ref":"#/$defs/n","maximum":5,"$defs":{"n":{"type":"number"}}}`, `5`, `6`},
		{"false", `false`, ``, `1`},
		{"exact numbers", `{"maximum":12345678901234567890}`, `12345678901234567890`, `12345678901234567891`},
		{"integer with a fraction of zero", `{"type":"integer"}`, `5.0`, `5.5`},
		{"unevaluated", `{"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`},
		{"letter case of keywords", `{"Type":"string"}`, `1`, ``},
		{"null is a constant", `{"const":null}`, `null`, `0`},
		// The root is where a pointer starts, even within a schema with definitions of its own.
		{"inner definitions", `{"$defs":{"a":{"type":"string"}},"properties":{"p":{"$defs":{"a":{"type":"integer"}},"items":{"$ref":"#/$defs/a"}}}}`, `{"p":["x"]}`, `{"p":[1]}`},
		// Content keywords are annotations; nothing is decoded for a plugin.
		{"content", `{"contentEncoding":"base64","contentMediaType":"application/yaml","contentSchema":{"type":"null"}}`, `"a: &a [*a]"`, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := compile(t, test.document)
			if test.valid != "" {
				if problems := s.Problems([]byte(test.valid)); problems != nil {
					t.Errorf("%s is refused: %v", test.valid, problems)
				}
			}
			if test.invalid != "" {
				if problems := s.Problems([]byte(test.invalid)); problems == nil {
					t.Errorf("%s is accepted", test.invalid)
				}
			}
		})
	}
}

func TestTrivial(t *testing.T) {
	for document, want := range map[string]bool{
		`true`: true, `{}`: true, ` {"title":"t","description":"d","examples":[1],"$comment":"c","x-own":1} `: true,
		`{"$defs":{"a":{}}}`: true, `false`: false, `{"type":"object"}`: false, `{"not":{}}`: false, `{"required":[]}`: false,
	} {
		if got := compile(t, document).Trivial(); got != want {
			t.Errorf("%s: trivial = %v, want %v", document, got, want)
		}
	}
}

// A plugin that gives its schema the name of another plugin's gets its own.
func TestSchemasDoNotMeetByName(t *testing.T) {
	c := newCompiler(t)
	for _, document := range []string{
		`{"$id":"https://example.com/same","type":"string"}`,
		`{"$id":"vcp:resource","type":"string"}`,
		`{"$id":"https://example.com/same","type":"integer"}`,
	} {
		if _, err := c.Compile([]byte(document)); err != nil {
			t.Fatalf("compile %s: %v", document, err)
		}
	}
	s, err := c.Compile([]byte(`{"$id":"https://example.com/same","type":"boolean"}`))
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	if s.Problems([]byte(`true`)) != nil || s.Problems([]byte(`"x"`)) == nil {
		t.Errorf("the schema is another one of the same name")
	}
	own, err := c.Compile([]byte(`{"$ref":"vcp:resource"}`))
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	if own.Problems([]byte(`{"$resource":"r"}`)) != nil || own.Problems([]byte(`"x"`)) == nil {
		t.Errorf("vcp:resource has been taken over")
	}
}

// The validator underneath writes into its schemas; two calls must not notice.
func TestSchemaServesManyAtOnce(t *testing.T) {
	s := compile(t, `{"patternProperties":{"^n":{"type":"integer"},"^s":{"type":"string","pattern":"^[a-z]+$"}},"additionalProperties":false}`)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if problems := s.Problems([]byte(`{"n":1,"s":"abc"}`)); problems != nil {
					t.Errorf("a valid value is refused: %v", problems)
				}
				if problems := s.Problems([]byte(`{"n":"x","s":"ABC"}`)); len(problems) != 2 {
					t.Errorf("got %v, want two problems", problems)
				}
			}
		})
	}
	group.Wait()
}
