package validate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/abi/schema"
	"vcphost/internal/rawjson"
)

func newCompiler(t testing.TB) *Compiler {
	t.Helper()
	c, err := NewCompiler()
	if err != nil {
		t.Fatalf("make a compiler: %v", err)
	}
	return c
}

func compile(t testing.TB, document string) *Schema {
	t.Helper()
	s, err := newCompiler(t).Compile([]byte(document))
	if err != nil {
		t.Fatalf("compile %s: %v", document, err)
	}
	return s
}

func payloadSchema(t testing.TB) *Schema { return compile(t, string(schema.Payload())) }

func readPayload(document string, phase abi.Phase) (*abi.Payload, *abi.Error) {
	return Payload([]byte(document), phase, rawjson.Limits{})
}

// detailsOf reads the details that every error of this package has.
func detailsOf(t *testing.T, err *abi.Error) details {
	t.Helper()
	var d details
	if unmarshal := json.Unmarshal(err.Details, &d); unmarshal != nil {
		t.Fatalf("details of %v: %v", err, unmarshal)
	}
	return d
}

// edit returns the document with the members below pointer replaced; a value of
// "-" takes the member away.
func edit(t *testing.T, document, pointer, value string) string {
	t.Helper()
	var tree any
	if err := json.Unmarshal([]byte(document), &tree); err != nil {
		t.Fatalf("read %s: %v", document, err)
	}
	tokens := strings.Split(pointer, "/")[1:]
	node := tree
	for _, token := range tokens[:len(tokens)-1] {
		switch parent := node.(type) {
		case map[string]any:
			node = parent[token]
		case []any:
			var i int
			if _, err := fmt.Sscan(token, &i); err != nil {
				t.Fatalf("index %s of %s: %v", token, pointer, err)
			}
			node = parent[i]
		}
	}
	object, ok := node.(map[string]any)
	if !ok {
		t.Fatalf("%s has no parent object in %s", pointer, document)
	}
	if last := tokens[len(tokens)-1]; value == "-" {
		delete(object, last)
	} else {
		object[last] = json.RawMessage(value)
	}
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatalf("write the edited document: %v", err)
	}
	return string(out)
}

func limitsOf(bytes int) rawjson.Limits { return rawjson.Limits{MaxBytes: bytes} }
