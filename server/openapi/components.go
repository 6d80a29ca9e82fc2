package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"vcphost/internal/rawjson"
)

// component is one schema of the document and the names of those that it refers
// to.
type component struct {
	raw  json.RawMessage
	uses map[string]bool
}

// components collects the schemas of a document.
type components struct {
	list  map[string]component
	taken map[string]bool
}

func newComponents() *components {
	return &components{list: map[string]component{}, taken: map[string]bool{}}
}

// name gives a name that no other component has, as near to the wanted one as
// the specification allows.
func (c *components) name(wanted string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, wanted)
	name := clean
	for i := 2; c.taken[name] || name == ""; i++ {
		name = fmt.Sprintf("%s_%d", clean, i)
	}
	c.taken[name] = true
	return name
}

// add takes a schema and all that it has under $defs in; the name must come from
// name.
func (c *components) add(name string, raw []byte) {
	if rawjson.KindOf(raw) != rawjson.Object {
		c.list[name] = component{raw: plain(raw)}
		return
	}
	w := &rewriter{
		own: componentPrefix + name, hoisted: map[string]string{}, anchors: map[string]string{}, used: map[string]bool{},
	}
	findAnchors(raw, "", w.anchors)
	type definition struct {
		name string
		raw  []byte
	}
	var definitions []definition
	for _, keyword := range []string{"$defs", "definitions"} {
		list, _ := rawjson.At(raw, "/"+keyword)
		for key, value := range rawjson.Members(list) {
			hoisted := c.name(name + "." + key)
			w.hoisted[rawjson.AppendPointer("/"+keyword, key)] = componentPrefix + hoisted
			definitions = append(definitions, definition{hoisted, value})
		}
	}
	for _, d := range definitions {
		w.used = map[string]bool{}
		c.list[d.name] = component{raw: plain(w.schema(nil, d.raw)), uses: w.used}
	}
	w.used = map[string]bool{}
	c.list[name] = component{raw: w.schema(nil, without(raw, "$defs", "definitions")), uses: w.used}
}

// plain writes the schemas true and false as objects, which every reader of a
// document knows.
func plain(raw []byte) json.RawMessage {
	switch string(raw) {
	case "false":
		return json.RawMessage(`{"not":{}}`)
	case "true", "":
		return json.RawMessage(`{}`)
	}
	return raw
}

// without copies an object but for some members.
func without(object []byte, names ...string) []byte {
	out := []byte{'{'}
	for name, value := range rawjson.Members(object) {
		if !slices.Contains(names, name) {
			out = append(member(out, name), value...)
		}
	}
	return append(out, '}')
}

// reachable gives the components that some lead to, and fails for one that is
// not there.
func (c *components) reachable(from map[string]bool) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	queue := slices.Sorted(maps.Keys(from))
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		if _, seen := out[name]; seen {
			continue
		}
		found, ok := c.list[name]
		if !ok {
			return nil, fmt.Errorf("there is no schema %q", name)
		}
		out[name] = found.raw
		queue = append(queue, slices.Sorted(maps.Keys(found.uses))...)
	}
	return out, nil
}
