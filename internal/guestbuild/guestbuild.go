// Package guestbuild builds guests in Go for tests, as their authors do: with
// the go command that runs the tests. It is imported by tests alone.
package guestbuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Module builds the main package at source, a path as `go build` takes it seen
// from the test's folder, as a WebAssembly module. It skips short tests.
func Module(t testing.TB, source string) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a guest")
	}
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", out, source)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", source, err, text)
	}
	binary, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}
