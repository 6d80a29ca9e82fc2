package config

import (
	"encoding/json"
	"maps"
	"testing"
)

func lookup(values map[string]string) Lookup {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

func TestResolveTakesTheFirstPlaceThatHasAValue(t *testing.T) {
	keys := []Key{
		{Name: "THEME", Type: "string", Default: json.RawMessage(`"light"`)},
		{Name: "LIMIT", Type: "integer", Default: json.RawMessage(`10`)},
		{Name: "DEBUG", Type: "boolean"},
		{Name: "EMPTY", Default: json.RawMessage(`null`)},
	}
	plugin := lookup(map[string]string{"THEME": "dark", "UNKNOWN": "x"})
	environment := lookup(map[string]string{"THEME": "blue", "DEBUG": "true", "PATH": "secret"})
	got, err := Resolve(keys, plugin, environment)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"THEME": "dark", "LIMIT": "10", "DEBUG": "true"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestResolveRefusesValuesOfAnotherType(t *testing.T) {
	for _, test := range []struct{ name, kind, value string }{
		{"letters after digits", "integer", "12abc"},
		{"a fraction", "integer", "1.5"},
		{"an empty number", "number", ""},
		{"yes", "boolean", "yes"},
		{"a type that does not exist", "intger", "1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			values, err := Resolve([]Key{{Name: "K", Type: test.kind}}, lookup(map[string]string{"K": test.value}))
			if err == nil || len(values) != 0 {
				t.Errorf("%q as %s gave %v, want an error and no value", test.value, test.kind, values)
			}
		})
	}
}
