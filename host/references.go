package host

import (
	"bytes"
	"slices"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// reference gives the id of a reference object, {"$resource": id} and nothing
// else (§5.6).
func reference(value []byte, kind rawjson.Kind) (id string, ok bool) {
	if kind != rawjson.Object || rawjson.Len(value) != 1 {
		return "", false
	}
	for name, target := range rawjson.Members(value) {
		if name == abi.ReferenceKey {
			return rawjson.Unquote(target)
		}
	}
	return "", false
}

// mayReference reports whether raw can hold a reference at all. It looks for the
// member's name, also where an escape may hide it, and spares most documents a
// walk.
func mayReference(raw []byte) bool {
	return bytes.Contains(raw, []byte(abi.ReferenceKey)) || bytes.Contains(raw, []byte(`\u`))
}

// referenced lists the ids of all references in raw, each once, in the order of
// the document.
func referenced(raw []byte) []string {
	if !mayReference(raw) {
		return nil
	}
	var list []string
	rawjson.Walk(raw, func(_ *rawjson.Path, _ string, value []byte, kind rawjson.Kind) rawjson.Visit {
		if id, ok := reference(value, kind); ok && !slices.Contains(list, id) {
			list = append(list, id)
		}
		return rawjson.Continue
	})
	return list
}
