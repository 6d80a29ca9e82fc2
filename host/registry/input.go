package registry

import (
	"slices"
	"strings"

	"vcphost/internal/rawjson"
)

// resourceSchema is the schema of a reference to a resource, which the host
// knows.
const resourceSchema = "vcp:resource"

// maxSchemaHops bounds how many references and combinations are followed on the
// way to a type; schemas may refer to themselves.
const maxSchemaHops = 16

// Input tells what an argument may be, as far as its schema says so outright.
type Input struct {
	// Known: the input schema names the argument.
	Known bool
	// Types lists the JSON Schema types that it may have: "string", "integer",
	// "number", "boolean", "array", "object", "null". Empty means that the schema
	// does not say.
	Types []string
	// Resource: it may be a reference to a resource.
	Resource bool
}

// InputType tells what the named argument of a command may be. An empty command
// means the plugin's only one. References within the schema are followed, and the
// branches of allOf, anyOf and oneOf are taken together. It is meant for reading
// name=value on a command line; the schema itself decides what is valid.
func (p *Plugin) InputType(command, argument string) Input {
	c := p.inputOf(command)
	if c == nil {
		return Input{}
	}
	var input Input
	for _, schema := range subSchemas(c.InputRaw, argument) {
		input.Known = true
		eachBranch(c.InputRaw, schema, maxSchemaHops, input.add)
	}
	return input
}

// InputNames lists the arguments that the input schema of a command names, in the
// order of the schema, each once. An empty command means the plugin's only one;
// the list is empty where InputType knows no argument. It is a new slice.
func (p *Plugin) InputNames(command string) []string {
	c := p.inputOf(command)
	if c == nil {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	eachBranch(c.InputRaw, c.InputRaw, maxSchemaHops, func(branch []byte) {
		properties, _ := member(branch, "properties")
		for name := range rawjson.Members(properties) {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	})
	return names
}

// inputOf gives the command whose input schema counts, nil if it has none.
func (p *Plugin) inputOf(command string) *Command {
	c := p.find(command)
	if c == nil && command == "" && p.Manifest != nil && len(p.Manifest.Commands) == 1 {
		c = p.Manifest.Commands[0]
	}
	if c == nil || rawjson.KindOf(c.InputRaw) != rawjson.Object {
		return nil
	}
	return c
}

// add notes what one schema, without its references, says.
func (in *Input) add(schema []byte) {
	if ref, ok := member(schema, "$ref"); ok {
		if name, _ := rawjson.Unquote(ref); name == resourceSchema {
			in.Resource = true
			in.note("object")
		}
	}
	if raw, ok := member(schema, "type"); ok {
		if name, isText := rawjson.Unquote(raw); isText {
			in.note(name)
		}
		for _, element := range rawjson.Elements(raw) {
			name, _ := rawjson.Unquote(element)
			in.note(name)
		}
		return
	}
	if raw, ok := member(schema, "const"); ok {
		in.note(rawjson.KindOf(raw).String())
	}
	if raw, ok := member(schema, "enum"); ok {
		for _, element := range rawjson.Elements(raw) {
			in.note(rawjson.KindOf(element).String())
		}
	}
}

func (in *Input) note(kind string) {
	if kind != "" && !slices.Contains(in.Types, kind) {
		in.Types = append(in.Types, kind)
	}
}

// subSchemas lists the schemas that the branches of schema have for a property.
func subSchemas(schema []byte, property string) [][]byte {
	var list [][]byte
	eachBranch(schema, schema, maxSchemaHops, func(branch []byte) {
		if properties, ok := member(branch, "properties"); ok {
			if sub, ok := member(properties, property); ok {
				list = append(list, sub)
			}
		}
	})
	return list
}

// eachBranch visits a schema, what it refers to within root, and the branches of
// its combinations, hops levels deep.
func eachBranch(root, schema []byte, hops int, visit func(branch []byte)) {
	budget := 256 // branches in all, however they are nested
	var walk func(schema []byte, hops int)
	walk = func(schema []byte, hops int) {
		if hops == 0 || budget == 0 || rawjson.KindOf(schema) != rawjson.Object {
			return
		}
		budget--
		visit(schema)
		if ref, ok := member(schema, "$ref"); ok {
			name, _ := rawjson.Unquote(ref)
			if pointer, local := strings.CutPrefix(name, "#"); local {
				if target, ok := rawjson.At(root, pointer); ok {
					walk(target, hops-1)
				}
			}
		}
		for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
			list, _ := member(schema, keyword)
			for _, branch := range rawjson.Elements(list) {
				walk(branch, hops-1)
			}
		}
	}
	walk(schema, hops)
}

// member gives the value of an object's member.
func member(object []byte, key string) ([]byte, bool) {
	return rawjson.At(object, rawjson.AppendPointer("", key))
}
