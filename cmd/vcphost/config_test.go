package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vcphost.yaml")
	if err := os.WriteFile(file, []byte("adr: x\nlimits:\n  maxInFlight: 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"validate", "print"} {
		got := invocation{args: []string{"config", verb, "--config", file, "--drain", "1"}, env: map[string]string{"VCPHOST_LOG_LEVEL": "loud"}}.run(t)
		want := []string{":1:1: adr: there is no such setting; did you mean addr?", ":3:16: limits.maxInFlight: ", "VCPHOST_LOG_LEVEL: logLevel: ", "--drain: drain: "}
		lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
		if got.status != exitResult || got.stdout != "" || len(lines) != len(want) {
			t.Fatalf("config %s exits with %d:\n%s%s", verb, got.status, got.stdout, got.stderr)
		}
		for i, part := range want {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %d is %q, want %q in it", i, lines[i], part)
			}
		}
	}
	if got := (invocation{args: []string{"config", "validate", "--config", file + "x"}}).run(t); got.status != exitNoResult {
		t.Errorf("a file that is not there exits with %d", got.status)
	}
}

func TestConfigPrintsWhatHolds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "vcphost.yaml")
	if err := os.WriteFile(file, []byte("drain: 10s\nlimits: {maxInFlight: 3}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret := strings.Repeat("k", 40)
	got := invocation{
		args: []string{"config", "print", "--addr", "127.0.0.1:7000", "--plugins", "a", "--plugins", "b"},
		env:  map[string]string{"VCPHOST_CONFIG": file, "VCPHOST_KEY": secret, "VCPHOST_RETENTION": "forever"},
	}.run(t)
	if got.status != exitOK || got.stderr != "" || strings.Contains(got.stdout, secret) {
		t.Fatalf("exit status %d:\n%s%s", got.status, got.stdout, got.stderr)
	}
	for _, want := range []string{
		`addr: "127.0.0.1:7000" # --addr`, `plugins: ["a", "b"] # --plugins`, "drain: 10s # " + file + ":1:8", `key: "********" # VCPHOST_KEY`,
		"retention: forever # VCPHOST_RETENTION", "  maxInFlight: 3 # " + file + ":2:23", "  readTimeout: 30s # default",
	} {
		if !strings.Contains(got.stdout, want+"\n") {
			t.Errorf("no line %q in\n%s", want, got.stdout)
		}
	}
	if again := (invocation{args: []string{"config", "validate"}}).run(t); again.status != exitOK || again.stdout != "the settings are valid\n" {
		t.Errorf("without any setting: %+v", again)
	}
}
