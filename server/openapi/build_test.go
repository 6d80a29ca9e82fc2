package openapi

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"testing"

	"vcphost/abi/schema"
	"vcphost/host/validate"
	"vcphost/internal/rawjson"
)

// source has the least that a document with tools needs.
func source(commands ...Command) *Source {
	return &Source{
		Title: "T", Version: "1", Tools: []Tool{{Name: "Tool", Description: "D", Commands: commands}},
		Schemas: map[string]json.RawMessage{ResultSchema: schema.Result(), ReferenceSchema: schema.Resource(), "Manifest": schema.Manifest()},
	}
}

// built is a document as the tests look at it.
type built struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas map[string]json.RawMessage
	}
	raw []byte
}

func build(t *testing.T, s *Source) built {
	t.Helper()
	raw, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := rawjson.Check(raw, rawjson.Limits{}); err != nil {
		t.Fatal(err)
	}
	b := built{raw: raw}
	if err := json.Unmarshal(raw, &b); err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`"\$ref":"(#/components/[^"]*)"`).FindAllSubmatch(raw, -1) {
		pointer := unescape(t, string(match[1]))
		if _, ok := rawjson.At(raw, pointer); !ok {
			t.Errorf("the reference %s leads nowhere", match[1])
		}
	}
	return b
}

func (b built) names() []string { return slices.Sorted(maps.Keys(b.Components.Schemas)) }

func TestReferencesOfPluginsAreRewritten(t *testing.T) {
	for _, test := range []struct{ name, schema, want string }{
		{"a resource", `{"properties":{"a":{"$ref":"vcp:resource"},"b":{"$ref":"vcp:resource#"}}}`,
			`{"properties":{"a":{"$ref":"#/components/schemas/ResourceReference"},"b":{"$ref":"#/components/schemas/ResourceReference"}}}`},
		{"itself", `{"type":"object","properties":{"next":{"$ref":"#"}}}`,
			`{"type":"object","properties":{"next":{"$ref":"#/components/schemas/Tool.Go.Input"}}}`},
		{"a definition", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`,
			`{"properties":{"a":{"$ref":"#/components/schemas/Tool.Go.Input.n"}}}`},
		{"an old definition", `{"items":{"$ref":"#/definitions/n"},"definitions":{"n":true}}`,
			`{"items":{"$ref":"#/components/schemas/Tool.Go.Input.n"}}`},
		{"below a definition", `{"items":{"$ref":"#/$defs/n/properties/a%20b"},"$defs":{"n":{"properties":{"a b":{}}}}}`,
			`{"items":{"$ref":"#/components/schemas/Tool.Go.Input.n/properties/a%20b"}}`},
		{"a place of its own", `{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`,
			`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/components/schemas/Tool.Go.Input/properties/a"}}}`},
		{"an anchor", `{"items":{"$ref":"#here"},"$defs":{"n":{"$anchor":"here","type":"null"}}}`,
			`{"items":{"$ref":"#/components/schemas/Tool.Go.Input.n"}}`},
		{"an anchor in a list", `{"anyOf":[{"type":"null"},{"$anchor":"x","type":"string"}],"properties":{"a":{"$ref":"#x"}}}`,
			`{"anyOf":[{"type":"null"},{"type":"string"}],"properties":{"a":{"$ref":"#/components/schemas/Tool.Go.Input/anyOf/1"}}}`},
		{"base and dialect", `{"$id":"http://example.com/a","$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`, `{"type":"object"}`},
		{"what only looks like one", `{"const":{"$ref":"vcp:resource"},"enum":[{"$ref":"#"}],"default":{"$id":1},"properties":{"$ref":{"const":"#"}},"x":{"$ref":"#"}}`,
			`{"const":{"$ref":"vcp:resource"},"enum":[{"$ref":"#"}],"default":{"$id":1},"properties":{"$ref":{"const":"#"}},"x":{"$ref":"#"}}`},
		{"numbers as they are", `{"minimum":1.50,"maximum":123456789012345678901234567890}`, `{"minimum":1.50,"maximum":123456789012345678901234567890}`},
		{"the command is in the path", `{"properties":{"command":{"const":"Go"}},"required":["command","x"]}`, `{"properties":{"command":{"const":"Go"}},"required":["x"]}`},
		{"anything", `true`, `{"type":"object"}`},
		{"nothing", ``, `{"type":"object"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := build(t, source(Command{Name: "Go", Input: json.RawMessage(test.schema)}))
			if got := string(b.Components.Schemas["Tool.Go.Input"]); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			for _, name := range b.names() {
				if bytes.Contains(b.Components.Schemas[name], []byte(`"$defs"`)) {
					t.Errorf("%s keeps definitions of its own", name)
				}
			}
		})
	}
}

func TestOnlyWhatIsUsedIsThere(t *testing.T) {
	b := build(t, &Source{Title: "T", Version: "1", Schemas: source().Schemas, Operations: []Operation{{
		Method: "GET", Path: "/a", ID: "a", Public: true, Responses: []Response{{200, Content{"text/plain", ""}}},
	}}})
	if got := b.names(); !slices.Equal(got, []string{"Problem"}) {
		t.Errorf("got %q", got)
	}
	b = build(t, source(Command{Name: "Go", Output: json.RawMessage(`{"$ref":"vcp:resource"}`)}))
	for _, name := range []string{"Result", "Result.resource", "ResourceReference", "Tool.Go.Input", "Tool.Go.Output", "Tool.Go.Result"} {
		if !slices.Contains(b.names(), name) {
			t.Errorf("%s is missing", name)
		}
	}
	if slices.Contains(b.names(), "Manifest") {
		t.Error("a schema is there that nothing refers to")
	}
}

func TestNamesThatAreNoComponents(t *testing.T) {
	commands := []Command{
		{Name: "a b", Input: json.RawMessage(`{"type":"object"}`)}, {Name: "a_b", Input: json.RawMessage(`{"type":"object"}`)},
		{Name: "画", Input: json.RawMessage(`{"$ref":"#/$defs/é","$defs":{"é":{"type":"object"},"_":{"type":"null"}}}`)},
		{Name: "{id}"}, {Name: "50%"}, {Name: "a?b#c"},
		{Name: "a/b"}, {Name: ".."}, {Name: "."}, {Name: ""}, {Name: `a\b`},
	}
	b := build(t, source(commands...))
	want := []string{"/v1/tools/Tool/%7Bid%7D", "/v1/tools/Tool/%E7%94%BB", "/v1/tools/Tool/50%25", "/v1/tools/Tool/a%20b", "/v1/tools/Tool/a%3Fb%23c", "/v1/tools/Tool/a_b"}
	if got := slices.Sorted(maps.Keys(b.Paths)); !slices.Equal(got, want) {
		t.Errorf("paths: got %q\nwant %q", got, want)
	}
	valid, ids := regexp.MustCompile(`^[a-zA-Z0-9._-]+$`), map[string]bool{}
	for _, name := range b.names() {
		if !valid.MatchString(name) {
			t.Errorf("%q is no name of a component", name)
		}
	}
	for path, methods := range b.Paths {
		var o struct{ OperationID string }
		if err := json.Unmarshal(methods["post"], &o); err != nil || ids[o.OperationID] || !valid.MatchString(o.OperationID) {
			t.Errorf("%s: operation id %q, %v", path, o.OperationID, err)
		}
		ids[o.OperationID] = true
	}
}

func TestContradictionsAreErrors(t *testing.T) {
	get := Operation{Method: "GET", Path: "/a", ID: "a"}
	for _, test := range []struct {
		name   string
		source Source
	}{
		{"a schema that is not there", Source{Operations: []Operation{{Method: "GET", Path: "/a", ID: "a", Responses: []Response{{200, Content{"application/json", "No"}}}}}}},
		{"one id twice", Source{Operations: []Operation{get, {Method: "GET", Path: "/b", ID: "a"}}}},
		{"one place twice", Source{Operations: []Operation{get, {Method: "GET", Path: "/a", ID: "b"}}}},
		{"a schema that takes the name of problems", Source{Schemas: map[string]json.RawMessage{"Problem": json.RawMessage(`{}`)}}},
		{"a name that is none", Source{Schemas: map[string]json.RawMessage{"a b": json.RawMessage(`{}`)}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if raw, err := Build(&test.source); err == nil {
				t.Errorf("got %s", raw)
			}
		})
	}
}

func TestOperationsSayWhatTheyNeed(t *testing.T) {
	b := build(t, &Source{Title: "T", Version: "1", Schemas: map[string]json.RawMessage{"Body": json.RawMessage(`{"type":"object"}`)}, Operations: []Operation{
		{Method: "GET", Path: "/public", ID: "a", Public: true},
		{Method: "POST", Path: "/b", ID: "b", Scope: "x:y", Bodies: []Content{{"application/json", "Body"}}, Responses: []Response{
			{200, Content{"application/json", "Body"}}, {200, Content{"text/event-stream", ""}}, {503, Content{"application/json", "Body"}}, {Status: 204},
		}},
		{Method: "HEAD", Path: "/b", ID: "h", Responses: []Response{{200, Content{"application/json", "Body"}}}},
	}})
	for _, test := range []struct{ pointer, want string }{
		{"/paths/~1public/get/security", `[]`},
		{"/paths/~1b/post/security", `[{"bearer":["x:y"]}]`},
		{"/paths/~1b/post/responses/200/content/text~1event-stream", `{}`},
		{"/paths/~1b/post/responses/503/content/application~1problem+json/schema", `{"$ref":"#/components/schemas/Problem"}`},
		{"/paths/~1b/post/responses/default", `{"$ref":"#/components/responses/Problem"}`},
		{"/paths/~1b/post/requestBody/content/application~1json/schema", `{"$ref":"#/components/schemas/Body"}`},
	} {
		if got, _ := rawjson.At(b.raw, test.pointer); string(got) != test.want {
			t.Errorf("%s: got %s, want %s", test.pointer, got, test.want)
		}
	}
	for _, pointer := range []string{"/paths/~1b/post/responses/204/content", "/paths/~1b/head/responses/200/content"} {
		if got, found := rawjson.At(b.raw, pointer); found {
			t.Errorf("%s is %s", pointer, got)
		}
	}
}

// FuzzBuild takes any schema that the host takes from a plugin: the document is
// JSON, and every reference in it leads somewhere.
func FuzzBuild(f *testing.F) {
	for _, seed := range []string{
		`{"$ref":"vcp:resource"}`, `{"properties":{"a":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"$anchor":"x"},"":{"$ref":"#x"}}}`,
		`{"items":{"$ref":"#/$defs/a/$defs/b"},"$defs":{"a":{"$defs":{"b":true}}}}`, `false`, `{"required":["command"]}`,
		`{"properties":{"%25":{"$ref":"#/properties/~0"},"~":{}}}`, `{"$ref":"#/$defs/%E4%B8%AD","$defs":{"中":{}}}`,
	} {
		f.Add(seed, "Command")
	}
	compiler, err := validate.NewCompiler()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		if _, err := compiler.Compile([]byte(text)); err != nil {
			t.Skip()
		}
		raw, err := Build(source(Command{Name: name, Input: json.RawMessage(text), Output: json.RawMessage(text)}))
		if err != nil {
			t.Fatal(err)
		}
		if err := rawjson.Check(raw, rawjson.Limits{}); err != nil {
			t.Fatal(err)
		}
		var document struct {
			Components struct{ Schemas map[string]json.RawMessage }
		}
		if err := json.Unmarshal(raw, &document); err != nil {
			t.Fatal(err)
		}
		for name, schema := range document.Components.Schemas {
			checkReferences(t, raw, name, schema)
		}
	})
}

// checkReferences walks a schema as its readers do.
func checkReferences(t *testing.T, document []byte, at string, raw []byte) {
	for keyword, value := range rawjson.Members(raw) {
		if keyword == "$ref" {
			ref, _ := rawjson.Unquote(value)
			if _, found := rawjson.At(document, unescape(t, ref)); !found {
				t.Errorf("%s: the reference %q leads nowhere", at, ref)
			}
		}
		switch shapeOf(keyword, value) {
		case oneSchema:
			checkReferences(t, document, at, value)
		case schemaList:
			for _, element := range rawjson.Elements(value) {
				checkReferences(t, document, at, element)
			}
		case schemaMap:
			for _, element := range rawjson.Members(value) {
				checkReferences(t, document, at, element)
			}
		}
	}
}

func unescape(t *testing.T, ref string) string {
	t.Helper()
	parsed, err := url.Parse(ref)
	if err != nil {
		t.Errorf("%q is no reference: %v", ref, err)
		return "/"
	}
	return parsed.Fragment
}
