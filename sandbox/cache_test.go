package sandbox_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

func TestDamagedCompiledModulesAreCompiledAnew(t *testing.T) {
	for _, test := range []struct {
		name   string
		damage func(content []byte) []byte
	}{
		{"empty", func([]byte) []byte { return nil }},
		{"cut", func(content []byte) []byte { return content[:len(content)/2] }},
		{"of something else", func([]byte) []byte { return bytes.Repeat([]byte("other"), 100) }},
		{"other code", func(content []byte) []byte {
			content[len(content)/2] ^= 0xff
			return content
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a[b") // no pattern
			openIn(t, dir)
			damaged := compiledIn(t, dir)
			if len(damaged) != 1 {
				t.Fatalf("the cache has %v, want one module", damaged)
			}
			content, err := os.ReadFile(damaged[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(damaged[0], test.damage(bytes.Clone(content)), 0o600); err != nil {
				t.Fatal(err)
			}
			if log := openIn(t, dir); log == "" {
				t.Error("nothing is logged")
			}
			if got, err := os.ReadFile(damaged[0]); err != nil || !bytes.Equal(got, content) {
				t.Errorf("the module is not in the cache again: %v", err)
			}
			if log := openIn(t, dir); log != "" {
				t.Errorf("the third time, the log says %s", log)
			}
		})
	}
}

func TestABadModuleLeavesTheCompiledOnes(t *testing.T) {
	dir := t.TempDir()
	openIn(t, dir)
	s, err := sandbox.New(t.Context(), &sandbox.Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	bad := wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte { return nil }} // no result on the stack
	if _, err := s.Open(t.Context(), sandbox.Module{Name: "Bad", Binary: bad.Bytes()}); abi.CodeOf(err) != abi.CodeToolDisabled {
		t.Errorf("the bad module gives %v", err)
	}
	if got := compiledIn(t, dir); len(got) != 1 {
		t.Errorf("the cache has %v, want the first module", got)
	}
}

// openIn opens a module with the cache in dir, in a sandbox of its own as a new
// process would, and returns what was logged.
func openIn(t *testing.T, dir string) string {
	t.Helper()
	var log bytes.Buffer
	s, err := sandbox.New(t.Context(), &sandbox.Options{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	plugin, err := s.Open(t.Context(), sandbox.Module{Name: "Test", Binary: wasmbuild.Guest{}.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plugin.Invoke(t.Context(), &abi.Invocation{}); err != nil {
		t.Error(err)
	}
	if err := plugin.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return log.String()
}

func compiledIn(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
