package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/registry"
	"vcphost/host/validate"
	"vcphost/internal/rawjson"
	"vcphost/presenters/ai"
	"vcphost/server/identity"
	"vcphost/server/signedurl"
)

// wireTypes are the Go types that are written as they are, by the name of their
// schema.
func wireTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"Health": reflect.TypeFor[health](), "Tools": reflect.TypeFor[toolList](), "Tool": reflect.TypeFor[toolInfo](),
		"Command": reflect.TypeFor[commandInfo](), "Plugins": reflect.TypeFor[pluginList](), "Plugin": reflect.TypeFor[pluginInfo](),
		"Keys": reflect.TypeFor[keyList](), "Key": reflect.TypeFor[identity.Key](), "NewKey": reflect.TypeFor[newKey](),
		"KeySpec": reflect.TypeFor[identity.KeySpec](), "AIView": reflect.TypeFor[ai.Projection](),
		"Breaker": reflect.TypeFor[host.BreakerStatus](), "SignedURL": reflect.TypeFor[signedURL](),
		"Interrupted": reflect.TypeFor[interrupted](), "Stats": reflect.TypeFor[statistics](),
	}
}

// shapeless are the schemas of bodies that no Go type stands for: combinations
// of others, texts, what is passed on as it came, and what is read member by
// member, which TestBodiesAreReadAsDescribed holds.
func shapeless() []string {
	return []string{
		"Answer", "Answers", "StoredAnswer", "LegacyAnswer", "ResultPart", "Resource", "Result", "ResourceReference", "Manifest",
		"CallText", "EventStream", "Arguments", "OpenAPI", "Upload", "Call", "Interrupt", "SignResource",
	}
}

func schemasOf(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	list, err := bodySchemas()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestEveryBodyHasItsSchema(t *testing.T) {
	schemas, types := schemasOf(t), wireTypes()
	a := &API{opts: Options{Host: &host.Host{}, KeyStore: &identity.Store{}, URLs: &signedurl.Signer{}}}
	a.routes = a.table()
	for _, route := range a.routes {
		named := slices.Collect(maps.Values(route.Doc.RequestTypes))
		for _, content := range route.Doc.Responses {
			named = append(named, content.Schema)
		}
		for _, name := range named {
			if _, ok := schemas[name]; name != "" && !ok {
				t.Errorf("%s %s: write server/api/schemas/%s.json, and name the Go type in wireTypes", route.Method, route.Path, name)
			}
		}
	}
	for name := range schemas {
		_, typed := types[name]
		if typed == slices.Contains(shapeless(), name) {
			t.Errorf("the schema %s is to be held against a Go type, or to be said to have none", name)
		}
	}
}

func TestSchemasAreTheTypes(t *testing.T) {
	schemas := schemasOf(t)
	for name, kind := range wireTypes() {
		t.Run(name, func(t *testing.T) {
			for _, fault := range (&comparison{schemas, wireTypes()}).compare(name, kind, schemas[name]) {
				t.Error(fault)
			}
		})
	}
}

// comparison holds Go types against schemas.
type comparison struct {
	schemas map[string]json.RawMessage
	types   map[string]reflect.Type
}

// jsonSchema is what the comparison looks at.
type jsonSchema struct {
	Ref                  string                     `json:"$ref"`
	Type                 any                        `json:"type"`
	Const                any                        `json:"const"`
	Enum                 []any                      `json:"enum"`
	Properties           map[string]json.RawMessage `json:"properties"`
	Required             []string                   `json:"required"`
	Items                json.RawMessage            `json:"items"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
}

func (c *comparison) compare(at string, kind reflect.Type, raw json.RawMessage) (faults []string) {
	var s jsonSchema
	if err := json.Unmarshal(raw, &s); err != nil {
		return []string{at + ": " + err.Error()}
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		if c.types[name] != kind {
			faults = append(faults, fmt.Sprintf("%s is a %s, and the schema refers to %s", at, kind, name))
		}
		return faults
	}
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
		if kinds, ok := s.Type.([]any); ok && len(kinds) == 2 && kinds[1] == "null" {
			s.Type = kinds[0]
		}
	}
	switch {
	case kind == reflect.TypeFor[json.RawMessage](), kind == reflect.TypeFor[identity.Scope](): // TestSchemasKnowTheScopes
	case kind == reflect.TypeFor[time.Time](), kind.Kind() == reflect.String:
		faults = append(faults, s.want(at, "string")...)
	case kind.Kind() == reflect.Bool:
		faults = append(faults, s.want(at, "boolean")...)
	case kind.Kind() >= reflect.Int && kind.Kind() <= reflect.Uint64:
		faults = append(faults, s.want(at, "integer")...)
	case kind.Kind() == reflect.Float64:
		faults = append(faults, s.want(at, "number")...)
	case kind.Kind() == reflect.Map:
		faults = append(append(faults, s.want(at, "object")...), c.compare(at+"{}", kind.Elem(), s.AdditionalProperties)...)
	case kind.Kind() == reflect.Slice:
		faults = append(append(faults, s.want(at, "array")...), c.compare(at+"[]", kind.Elem(), s.Items)...)
	case kind.Kind() == reflect.Struct:
		faults = append(append(faults, s.want(at, "object")...), c.members(at, kind, &s)...)
	default:
		faults = append(faults, fmt.Sprintf("%s: no rule for %s", at, kind))
	}
	return faults
}

// want tells where the schema does not have the type: in a keyword, or in the
// values that it lists.
func (s *jsonSchema) want(at, kind string) []string {
	if s.Type == kind {
		return nil
	}
	values := s.Enum
	if s.Const != nil {
		values = append(values, s.Const)
	}
	for _, value := range values {
		if got := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean"}[reflect.ValueOf(value).Kind()]; got != kind {
			return []string{fmt.Sprintf("%s lists %v, and the field is a %s", at, value, kind)}
		}
	}
	if len(values) == 0 {
		return []string{fmt.Sprintf("%s has the type %v, and the field is a %s", at, s.Type, kind)}
	}
	return nil
}

// members holds the fields of a struct against the properties: the same names,
// and required what is always written.
func (c *comparison) members(at string, kind reflect.Type, s *jsonSchema) (faults []string) {
	if string(s.AdditionalProperties) != "false" {
		faults = append(faults, at+" allows other members")
	}
	var names, always []string
	for _, field := range reflect.VisibleFields(kind) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous || name == "-" || !field.IsExported() {
			continue
		}
		names = append(names, name)
		if !strings.Contains(options, "omit") {
			always = append(always, name)
		}
		if property, ok := s.Properties[name]; ok {
			faults = append(faults, c.compare(at+"."+name, field.Type, property)...)
		}
	}
	slices.Sort(names)
	slices.Sort(always)
	slices.Sort(s.Required)
	if got := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(got, names) {
		faults = append(faults, fmt.Sprintf("%s has the properties %q, the type %q", at, got, names))
	}
	if kind != reflect.TypeFor[identity.KeySpec]() && !slices.Equal(s.Required, always) { // a spec is read, and much of it may be missing
		faults = append(faults, fmt.Sprintf("%s requires %q, and %q are always there", at, s.Required, always))
	}
	return faults
}

func texts[T ~string](list []T) []any {
	out := make([]any, 0, len(list))
	for _, word := range list {
		out = append(out, string(word))
	}
	return out
}

func TestSchemasHaveTheValuesOfTheTypes(t *testing.T) {
	schemas := schemasOf(t)
	breaker := texts([]host.BreakerState{host.BreakerClosed, host.BreakerOpen, host.BreakerHalfOpen})
	for _, test := range []struct {
		name string
		path []string
		want []any
	}{
		{"Plugin", []string{"state"}, texts([]registry.State{registry.Ready, registry.Refused, registry.Blocked, registry.ApprovalRequired})},
		{"Plugin", []string{"breaker"}, breaker},
		{"Breaker", []string{"state"}, breaker},
		{"Call", []string{"options", "view"}, texts(views())},
		{"Key", []string{"actorType"}, texts(abi.ActorTypes())},
		{"KeySpec", []string{"actorType"}, append([]any{""}, texts(abi.ActorTypes())...)},
	} {
		t.Run(test.name+"."+strings.Join(test.path, "."), func(t *testing.T) {
			raw := schemas[test.name]
			var s jsonSchema
			for _, name := range append(test.path, "") {
				s = jsonSchema{}
				if err := json.Unmarshal(raw, &s); err != nil {
					t.Fatal(err)
				}
				raw = s.Properties[name]
			}
			if !reflect.DeepEqual(s.Enum, test.want) {
				t.Errorf("the schema lists %v, the code %v", s.Enum, test.want)
			}
		})
	}
	var query jsonSchema
	parameter := viewParameter()
	if err := json.Unmarshal(parameter.schema(), &query); err != nil || !reflect.DeepEqual(query.Enum, texts(views())) {
		t.Errorf("the parameter view lists %v, the code %v", query.Enum, views())
	}
}

// TestBodiesAreReadAsDescribed holds bodies that are read member by member
// against their schemas: both take the same.
func TestBodiesAreReadAsDescribed(t *testing.T) {
	schemas := schemasOf(t)
	compiler, err := validate.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	call := func(body []byte) error { _, err := parseCall(body); return err }
	key := func(body []byte) error { _, err := parseKeySpec(body); return err }
	for _, test := range []struct {
		schema string
		read   func([]byte) error
		body   string
		valid  bool
	}{
		{"Call", call, `{"tool":"A"}`, true},
		{"Call", call, `{"tool":"A","arguments":{"a":1},"options":{"view":"ai","maxCharacters":1,"maxResources":1,"includeExecutionMetadata":true,"timeoutMs":1,"record":false}}`, true},
		{"Call", call, `{"tool":"A","options":{}}`, true},
		{"Call", call, `{"tool":""}`, false},
		{"Call", call, `{"arguments":{}}`, false},
		{"Call", call, `[]`, false},
		{"Call", call, `{"tool":1}`, false},
		{"Call", call, `{"tool":"A","option":{}}`, false},
		{"Call", call, `{"tool":"A","options":null}`, false},
		{"Call", call, `{"tool":"A","options":{"view":"html"}}`, false},
		{"Call", call, `{"tool":"A","options":{"maxCharacters":0}}`, false},
		{"Call", call, `{"tool":"A","options":{"maxResources":2147483648}}`, false},
		{"Call", call, `{"tool":"A","options":{"timeoutMs":1.5}}`, false},
		{"Call", call, `{"tool":"A","options":{"record":0}}`, false},
		{"Call", call, `{"tool":"A","options":{"approval":false}}`, false},
		{"KeySpec", key, `{"name":"n","scopes":["admin"],"tenant":"t","actor":"a","actorType":"agent","expiresAt":"2030-01-02T03:04:05Z"}`, true},
		{"KeySpec", key, `{"name":"n","scopes":"admin"}`, false},
		{"KeySpec", key, `{"name":"n","scopes":[1]}`, false},
		{"KeySpec", key, `{"name":"n","scopes":["admin"],"expiresAt":"tomorrow"}`, false},
		{"KeySpec", key, `{"name":"n","scopes":["admin"],"secret":"mine"}`, false},
	} {
		t.Run(test.schema+" "+test.body, func(t *testing.T) {
			compiled, err := compiler.Compile(schemas[test.schema])
			if err != nil {
				t.Fatal(err)
			}
			if err := validate.Data(compiled, []byte(test.body)); (err == nil) != test.valid {
				t.Errorf("the schema says %v, want valid %v", err, test.valid)
			}
			if err := test.read([]byte(test.body)); (err == nil) != test.valid {
				t.Errorf("the reader says %v, want valid %v", err, test.valid)
			}
		})
	}
}

func TestSchemasKnowTheScopes(t *testing.T) {
	var items struct {
		AnyOf []struct{ Enum []string }
	}
	raw, _ := rawjson.At(schemasOf(t)["KeySpec"], "/properties/scopes/items")
	if err := json.Unmarshal(raw, &items); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, info := range identity.KnownScopes() {
		if !strings.HasPrefix(string(info.Scope), string(identity.ScopeToolsCall)) {
			want = append(want, string(info.Scope))
		}
	}
	got := items.AnyOf[0].Enum
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the schema lists the scopes %q, the code %q", got, want)
	}
}
