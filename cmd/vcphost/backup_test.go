package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackupAndRestoreOfADataDirectory: what was stored is there in another data
// directory, and nothing that is there is touched.
func TestBackupAndRestoreOfADataDirectory(t *testing.T) {
	data, dir := newData(t), t.TempDir()
	file := filepath.Join(dir, "vcphost.backup")
	run := func(want int, stdin string, args ...string) outcome {
		t.Helper()
		got := invocation{args: args, stdin: stdin}.run(t)
		if got.status != want {
			t.Fatalf("%q exits with %d, want %d:\n%s%s", args, got.status, want, got.stdout, got.stderr)
		}
		return got
	}
	run(exitOK, "", "key", "add", "--name", "mine", "--scope", "admin", "--data", data)
	keys := run(exitOK, "", "key", "list", "--data", data).stdout
	if got := run(exitOK, "", "backup", file, "--data", data).stdout; !strings.HasPrefix(got, "wrote "+file+": 1 entries, ") {
		t.Errorf("backup says %q", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := run(exitOK, "", "backup", "-", "--data", data); got.stdout != string(raw) || got.stderr == "" {
		t.Errorf("to standard output went %q, %q", got.stdout, got.stderr)
	}
	for name, args := range map[string][]string{
		"a file that is there":          {"backup", file, "--data", data},
		"a folder that is not there":    {"backup", filepath.Join(dir, "none", "b"), "--data", data},
		"a data directory with a store": {"restore", file, "--data", data},
		"no file":                       {"restore", filepath.Join(dir, "none"), "--data", newData(t)},
	} {
		if got := run(exitNoResult, "", args...); got.stdout != "" {
			t.Errorf("%s: %s", name, got.stdout)
		}
	}
	for _, restore := range []struct {
		name, stdin string
	}{{file, ""}, {"-", string(raw)}} {
		other := newData(t)
		run(exitOK, restore.stdin, "restore", restore.name, "--data", other)
		if got := run(exitOK, "", "key", "list", "--data", other).stdout; got != keys {
			t.Errorf("the restored keys are\n%s\nwant\n%s", got, keys)
		}
	}
	cut := newData(t)
	if got := run(exitNoResult, string(raw[:len(raw)-1]), "restore", "-", "--data", cut); !strings.Contains(got.stderr, "its end is missing") {
		t.Errorf("a cut backup: %s", got.stderr)
	}
	if _, err := os.Stat(filepath.Join(cut, "store")); !os.IsNotExist(err) {
		t.Errorf("a cut backup left a store: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder of the backup has %v, %v", entries, err)
	}
}
