package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vcphost/abi"
)

// The plugin that the README shows is built and called as it stands there.
func TestThePluginOfTheREADMEWorks(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	plugins := t.TempDir()
	folder := filepath.Join(plugins, "greet")
	if err := os.CopyFS(filepath.Join(folder, "guest"), os.DirFS("../../abi/guest/go")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.go", "plugin-manifest.json"} {
		if err := os.WriteFile(filepath.Join(folder, name), snippet(t, string(readme), name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"mod", "init", "greet"},
		{"build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", "greet.wasm", "."},
	} {
		if !strings.Contains(string(readme), "go "+args[0]) {
			t.Errorf("the README does not say go %s", args[0])
		}
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir = folder
		command.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}

	var stdout, stderr bytes.Buffer
	program := &Program{
		Args:  []string{"call", "Greet", "name=Ada", "--plugins", plugins, "--trust", plugins, "--data", t.TempDir()},
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		LookupEnv: func(string) (string, bool) { return "", false },
	}
	if status := program.Run(t.Context()); status != 0 {
		t.Fatalf("exit status %d: %s %s", status, &stdout, &stderr)
	}
	var result abi.Result
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil {
		t.Fatal(err)
	}
	var data struct{ Message string }
	if err := json.Unmarshal(result.Data, &data); err != nil || data.Message != "Hello, Ada!" {
		t.Errorf("got data %s, %v", result.Data, err)
	}
	if len(result.Warnings) > 0 {
		t.Errorf("got warnings %v", result.Warnings)
	}
}

// snippet gives the fenced block that follows a marker of the README.
func snippet(t *testing.T, readme, name string) []byte {
	t.Helper()
	_, rest, found := strings.Cut(readme, "<!-- snippet: "+name+" -->\n```")
	_, rest, _ = strings.Cut(rest, "\n")
	body, _, closed := strings.Cut(rest, "\n```")
	if !found || !closed {
		t.Fatalf("the README has no snippet %s", name)
	}
	return []byte(body + "\n")
}
