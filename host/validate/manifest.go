package validate

import (
	"strconv"

	"vcphost/abi/schema"
	"vcphost/internal/rawjson"
)

// maxManifestBytes bounds a manifest with all its schemas.
const maxManifestBytes = 4 << 20

// Manifest tells what is wrong with a plugin's manifest, nil if nothing is. The
// schemas within it are not looked into; each is for Compile.
func (c *Compiler) Manifest(raw []byte) []Problem {
	return checked(c.manifest, raw, maxManifestBytes)
}

// Result tells what is wrong with a canonical result, nil if nothing is. It is
// for tests and tools: the host builds its results from types.
func (c *Compiler) Result(raw []byte) []Problem {
	return checked(c.result, raw, rawjson.DefaultMaxBytes)
}

func checked(s *Schema, raw []byte, maxBytes int) []Problem {
	if err := rawjson.Check(raw, rawjson.Limits{MaxBytes: maxBytes}); err != nil {
		found := jsonError(err)
		return []Problem{{
			Pointer: found.Pointer, Keyword: "json", Expected: "JSON in UTF-8 without repeated members",
			Got: found.Detail + " at byte " + strconv.Itoa(found.Offset),
		}}
	}
	return s.Problems(raw)
}

// UnknownManifestKeys gives the JSON pointers of the members of a manifest that
// its schema does not name, in document order. They are allowed; whoever lists
// plugins tells of them, since one may be misspelt. raw must have passed Manifest.
func (c *Compiler) UnknownManifestKeys(raw []byte) []string {
	document := schema.Manifest()
	var unknown []string
	var visit func(pointer string, value, node []byte)
	visit = func(pointer string, value, node []byte) {
		if ref, ok := rawjson.At(node, "/$ref"); ok {
			target, _ := rawjson.Unquote(ref)
			node, _ = rawjson.At(document, target[1:])
		}
		if items, ok := rawjson.At(node, "/items"); ok {
			for i, element := range rawjson.Elements(value) {
				visit(pointer+"/"+strconv.Itoa(i), element, items)
			}
			return
		}
		properties, ok := rawjson.At(node, "/properties")
		if !ok {
			return
		}
		for name, inner := range rawjson.Members(value) {
			at := rawjson.AppendPointer(pointer, name)
			if known, ok := member(properties, name); ok {
				visit(at, inner, known)
			} else {
				unknown = append(unknown, at)
			}
		}
	}
	visit("", raw, document)
	return unknown
}
