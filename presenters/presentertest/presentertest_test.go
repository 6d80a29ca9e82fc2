package presentertest

import (
	"errors"
	"testing"
	"time"

	"vcphost/abi"
)

func TestFingerprintSeesEveryChange(t *testing.T) {
	want := Fingerprint(Full())
	if got := Fingerprint(Full()); got != want {
		t.Fatalf("two equal results differ: %s, %s", got, want)
	}
	for _, tt := range []struct {
		name   string
		change func(*abi.Result)
	}{
		{"a byte of data", func(r *abi.Result) { r.Data[2]++ }},
		{"a member", func(r *abi.Result) { r.Tool.Command = "" }},
		{"behind a pointer", func(r *abi.Result) { *r.Actor.Name += "x" }},
		{"nil for empty", func(r *abi.Result) { r.Warnings = r.Warnings[:0] }},
		{"a byte in a map", func(r *abi.Result) { r.Extensions["vendor.example"][1]++ }},
		{"a new key", func(r *abi.Result) { r.Resources[0].Metadata["x"] = nil }},
		{"a cause", func(r *abi.Result) { r.Error = r.Error.WithCause(errors.New("x")) }},
		{"a time", func(r *abi.Result) { r.Execution.StartedAt = abi.Timestamp(time.Unix(1, 0)) }},
		{"order", func(r *abi.Result) { r.AIAdvice.ResourceIDs = append([]string{"x"}, r.AIAdvice.ResourceIDs...) }},
		{"text moved between members", func(r *abi.Result) { r.Tool.Name, r.Tool.DisplayName = "CsvChar", "tCSV Chart" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Full()
			tt.change(r)
			if Fingerprint(r) == want {
				t.Error("the fingerprint is the same")
			}
		})
	}
}
