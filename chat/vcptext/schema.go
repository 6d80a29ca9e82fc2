package vcptext

import (
	"slices"
	"strings"

	"vcphost/internal/rawjson"
)

// schemas keeps what a Schema has answered: keys are many, schemas are few.
type schemas struct {
	schema Schema
	known  map[string]*names // by command as written
}

func newSchemas(schema Schema) *schemas {
	return &schemas{schema: schema, known: map[string]*names{}}
}

// names are the parameters of one command. "command" always is one.
type names struct {
	schema  Schema
	command string
	exact   map[string]bool
	alike   map[string]string // by folded name; "" if several are alike
	typed   map[string][]string
	open    bool // the schema names nothing
}

func (s *schemas) of(command string) *names {
	if n, ok := s.known[command]; ok {
		return n
	}
	list := s.schema.InputNames(command)
	n := &names{
		schema: s.schema, command: command, open: len(list) == 0,
		exact: map[string]bool{}, alike: map[string]string{}, typed: map[string][]string{},
	}
	for _, name := range append(slices.Clone(list), commandKey) {
		if n.exact[name] {
			continue
		}
		n.exact[name] = true
		folded := fold(name)
		if _, several := n.alike[folded]; several {
			name = ""
		}
		n.alike[folded] = name
	}
	s.known[command] = n
	return n
}

// match gives the parameter that a key means; known is false, and the name is the
// key itself, if there is none or more than one.
func (n *names) match(key string) (name string, known bool) {
	return n.matchFolded(key, fold(key))
}

// matchFolded is match for a key that was folded before.
func (n *names) matchFolded(key, folded string) (name string, known bool) {
	if n.exact[key] {
		return key, true
	}
	if name := n.alike[folded]; name != "" {
		return name, true
	}
	return key, false
}

func (n *names) has(name string) bool { return n.exact[name] }

func (n *names) types(name string) []string {
	if !n.exact[name] {
		return nil
	}
	types, ok := n.typed[name]
	if !ok {
		types = n.schema.InputTypes(n.command, name)
		n.typed[name] = types
	}
	return types
}

// fold maps names to the same string exactly if abi.SameName holds for them.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '-':
			return -1
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// appendTyped appends a value to dst as what the schema says it is. What is not
// of that type stays a string, and the schema then tells what is wrong with it.
func appendTyped(dst []byte, value string, types []string) []byte {
	if len(types) > 0 {
		if raw := typedValue(value, types); raw != nil {
			return append(dst, raw...)
		}
	}
	return rawjson.Quote(dst, value)
}

// typedValue gives the JSON that the value is, nil if it is just a string.
func typedValue(value string, types []string) []byte {
	text := slices.Contains(types, "string")
	if !text && slices.Contains(types, "boolean") {
		for _, word := range []string{"true", "false"} {
			if strings.EqualFold(value, word) {
				return []byte(word)
			}
		}
	}
	raw := []byte(value)
	kind := rawjson.KindOf(raw)
	fits := slices.Contains(types, kind.String())
	switch kind {
	case rawjson.Array, rawjson.Object:
	case rawjson.Number:
		fits = !text && (fits || slices.Contains(types, "integer"))
	case rawjson.Bool, rawjson.Null:
		fits = !text && fits
	default:
		return nil
	}
	if !fits || rawjson.Check(raw, rawjson.Limits{}) != nil {
		return nil
	}
	return raw
}
