package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"vcphost/abi"
	"vcphost/abi/schema"
)

var update = flag.Bool("update", false, "write codes.json from the table in abi")

func TestCodesMatchTable(t *testing.T) {
	want, err := json.MarshalIndent(abi.Codes(), "", "  ")
	if err != nil {
		t.Fatalf("marshal the table: %v", err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("codes.json", want, 0o644); err != nil {
			t.Fatalf("write codes.json: %v", err)
		}
		return
	}
	if got := schema.Codes(); !bytes.Equal(got, want) {
		t.Errorf("codes.json differs from abi.Codes(); run go test ./abi/schema -update")
	}
}

func TestDocumentsAreCopies(t *testing.T) {
	for _, test := range []struct {
		name string
		get  func() []byte
	}{
		{"payload", schema.Payload}, {"result", schema.Result}, {"manifest", schema.Manifest},
		{"resource", schema.Resource}, {"codes", schema.Codes},
	} {
		t.Run(test.name, func(t *testing.T) {
			first := test.get()
			if !json.Valid(first) {
				t.Fatalf("the document is not JSON")
			}
			first[0] = 'x'
			if second := test.get(); second[0] == 'x' {
				t.Errorf("a caller's change reached the next caller")
			}
		})
	}
}
