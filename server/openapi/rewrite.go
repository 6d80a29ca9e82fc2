package openapi

import (
	"net/url"
	"strconv"
	"strings"

	"vcphost/abi/schema"
	"vcphost/internal/rawjson"
)

// componentPrefix begins every reference of a document.
const componentPrefix = "#/components/schemas/"

// shape says how the value of a keyword holds schemas.
type shape int

const (
	noSchema shape = iota
	oneSchema
	schemaList
	schemaMap
)

func shapeOf(keyword string, value []byte) shape {
	switch keyword {
	case "items":
		if rawjson.KindOf(value) == rawjson.Array {
			return schemaList
		}
		return oneSchema
	case "not", "if", "then", "else", "contains", "additionalProperties", "propertyNames",
		"unevaluatedItems", "unevaluatedProperties", "contentSchema", "additionalItems":
		return oneSchema
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return schemaList
	case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
		return schemaMap
	}
	return noSchema
}

// rewriter makes a schema that stands alone one that stands among the components
// of a document.
type rewriter struct {
	own     string            // reference to the schema itself
	hoisted map[string]string // pointer of a schema under $defs to its reference
	anchors map[string]string // name to pointer
	used    map[string]bool   // names of components that were referred to
}

// schema copies a schema, its references rewritten.
func (w *rewriter) schema(out, raw []byte) []byte {
	if rawjson.KindOf(raw) != rawjson.Object {
		return append(out, raw...)
	}
	out = append(out, '{')
	for keyword, value := range rawjson.Members(raw) {
		if dropped(keyword) {
			continue
		}
		out = member(out, keyword)
		if keyword == "$ref" {
			out = w.reference(out, value)
			continue
		}
		out = w.keyword(out, shapeOf(keyword, value), value)
	}
	return append(out, '}')
}

// dropped are the keywords that would give a schema within the document a base
// or a name of its own.
func dropped(keyword string) bool {
	return keyword == "$id" || keyword == "$schema" || keyword == "$anchor"
}

func member(out []byte, name string) []byte {
	if out[len(out)-1] != '{' {
		out = append(out, ',')
	}
	return append(rawjson.Quote(out, name), ':')
}

func (w *rewriter) keyword(out []byte, form shape, value []byte) []byte {
	kind := rawjson.KindOf(value)
	switch {
	case form == oneSchema:
		return w.schema(out, value)
	case form == schemaList && kind == rawjson.Array:
		out = append(out, '[')
		for i, element := range rawjson.Elements(value) {
			if i > 0 {
				out = append(out, ',')
			}
			out = w.schema(out, element)
		}
		return append(out, ']')
	case form == schemaMap && kind == rawjson.Object:
		out = append(out, '{')
		for name, element := range rawjson.Members(value) {
			out = w.schema(member(out, name), element)
		}
		return append(out, '}')
	}
	return append(out, value...)
}

func (w *rewriter) reference(out, value []byte) []byte {
	text, ok := rawjson.Unquote(value)
	if !ok {
		return append(out, value...)
	}
	target := w.target(text)
	if name, ok := componentOf(target); ok {
		w.used[name] = true
	}
	return rawjson.Quote(out, target)
}

// target is where a reference leads within the document.
func (w *rewriter) target(ref string) string {
	if strings.TrimSuffix(ref, "#") == schema.ResourceURI {
		return componentPrefix + ReferenceSchema
	}
	fragment, local := strings.CutPrefix(ref, "#")
	if !local || strings.HasPrefix(ref, componentPrefix) {
		return ref
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return ref
	}
	if pointer != "" && pointer[0] != '/' {
		pointer = w.anchors[pointer]
	}
	for at := pointer; at != ""; at = at[:strings.LastIndexByte(at, '/')] {
		if name, ok := w.hoisted[at]; ok {
			return name + escapeFragment(pointer[len(at):])
		}
	}
	return w.own + escapeFragment(pointer)
}

func escapeFragment(pointer string) string {
	if pointer == "" {
		return ""
	}
	return strings.TrimPrefix((&url.URL{Fragment: pointer}).String(), "#")
}

// componentOf is the name of the component that a reference leads into.
func componentOf(ref string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(ref, componentPrefix)
	name, _, _ = strings.Cut(rest, "/")
	return name, ok
}

// findAnchors notes the pointer of every schema that has an anchor.
func findAnchors(raw []byte, pointer string, found map[string]string) {
	for keyword, value := range rawjson.Members(raw) {
		at := rawjson.AppendPointer(pointer, keyword)
		if keyword == "$anchor" {
			if name, ok := rawjson.Unquote(value); ok {
				found[name] = pointer
			}
		}
		switch shapeOf(keyword, value) {
		case oneSchema:
			findAnchors(value, at, found)
		case schemaList:
			for i, element := range rawjson.Elements(value) {
				findAnchors(element, at+"/"+strconv.Itoa(i), found)
			}
		case schemaMap:
			for name, element := range rawjson.Members(value) {
				findAnchors(element, rawjson.AppendPointer(at, name), found)
			}
		}
	}
}
