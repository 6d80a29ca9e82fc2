package host

import (
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

// referenced lists the ids of all references in raw, each once, in the order of
// the document.
func referenced(raw []byte) []string {
	var list []string
	rawjson.Walk(raw, func(_ *rawjson.Path, _ string, value []byte, kind rawjson.Kind) rawjson.Visit {
		if id, ok := reference(value, kind); ok && !slices.Contains(list, id) {
			list = append(list, id)
		}
		return rawjson.Continue
	})
	return list
}
