package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/internal/config"
	"vcphost/internal/lockbuf"
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

// The server that the README starts answers the request that it shows.
func TestTheServerOfTheREADMEWorks(t *testing.T) {
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(raw)
	_, verb, found := strings.Cut(strings.TrimSpace(string(snippet(t, readme, "serve"))), "go run ./cmd/vcphost ")
	if !found || !strings.Contains(readme, "answers on "+config.Default().Addr) {
		t.Fatal("the README does not start a server on the address that it says")
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl")
	}
	var stdout, stderr lockbuf.Buffer
	program := &Program{
		Args: append(strings.Fields(verb), "--addr", "127.0.0.1:0", "--data", newData(t)), Stdin: strings.NewReader(""),
		Stdout: &stdout, Stderr: &stderr, Bundled: exampleFS(t), LookupEnv: func(string) (string, bool) { return "", false },
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- program.Run(ctx) }()
	defer func() {
		stop()
		if status := <-ended; status != exitOK {
			t.Errorf("the server ends with status %d: %s", status, &stderr)
		}
	}()
	var addr string
	for began := time.Now(); addr == ""; time.Sleep(5 * time.Millisecond) {
		if at := servingAt.FindStringSubmatch(stderr.String()); at != nil {
			addr = at[1]
		} else if time.Since(began) > 30*time.Second {
			t.Fatalf("the server does not come up: %s", &stderr)
		}
	}
	line := strings.ReplaceAll(string(snippet(t, readme, "curl")), config.Default().Addr, addr)
	command := exec.CommandContext(ctx, "sh", "-c", strings.Replace(line, "curl", curl, 1))
	command.Env = append(os.Environ(), "KEY="+shownSecret.FindString(stdout.String()))
	answer, err := command.Output()
	var result abi.Result
	if err != nil || json.Unmarshal(answer, &result) != nil || result.Status != abi.StatusSuccess {
		t.Errorf("got %s, %v", answer, err)
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
