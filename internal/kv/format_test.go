package kv_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"vcphost/internal/kv"
	"vcphost/internal/kv/kvtest"
)

func TestFormatVersionOfTheDirectory(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "vcphost.format")
	if err := openBadger(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "1\n" {
		t.Fatalf("a new directory has the version %q, %v", raw, err)
	}
	for _, test := range []struct {
		name, text string
		newer      bool
		want       string // part of the error; empty: none
	}{
		{"the same", "1\n", false, ""},
		{"without a line break", "1", false, ""},
		{"newer", "2\n", true, "has format version 2: it was made by a newer program than this one, which knows versions up to 1"},
		{"much newer", "2147483647", true, "run the newer program, or restore a backup that this one made"},
		{"empty", "", false, "is no format version"},
		{"zero", "0", false, "is no format version"},
		{"rubbish", "\x00\x00\x00", false, "is no format version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a refusal leaves no lock behind
				db, err := kv.OpenBadger(dir, nil)
				if test.want == "" {
					if err != nil || db.Close() != nil {
						t.Fatalf("OpenBadger = %v", err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, kv.ErrNewerFormat) != test.newer {
					t.Errorf("OpenBadger = %v, want %q", err, test.want)
				}
			}
		})
	}
}

// TestADirectoryWithoutAVersion is of a program that wrote none.
func TestADirectoryWithoutAVersion(t *testing.T) {
	dir := t.TempDir()
	db := openBadger(t, dir)
	kvtest.Set(t, db, "a", "1")
	if err := errors.Join(db.Close(), os.Remove(filepath.Join(dir, "vcphost.format"))); err != nil {
		t.Fatal(err)
	}
	db = openBadger(t, dir)
	defer db.Close()
	if got, err := db.Get([]byte("a")); err != nil || string(got) != "1" {
		t.Errorf("the value is %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "vcphost.format")); err != nil {
		t.Error(err)
	}
}

// TestReadOnlyDirectory: once by the directory's mode, which root does not feel,
// and once by its file system, which only root can make.
func TestReadOnlyDirectory(t *testing.T) {
	refused := func(t *testing.T, dir string) {
		t.Helper()
		for _, path := range []string{dir, filepath.Join(dir, "new", "store")} {
			if _, err := kv.OpenBadger(path, nil); !errors.Is(err, kv.ErrReadOnly) || !strings.Contains(err.Error(), dir) {
				t.Errorf("OpenBadger = %v, want ErrReadOnly with the directory", err)
			}
		}
	}
	t.Run("mode", func(t *testing.T) {
		if os.Getuid() <= 0 {
			if os.Getuid() < 0 {
				t.Skip("the system has no modes of directories")
			}
			t.Skip("root writes whatever the mode says")
		}
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		refused(t, dir)
	})
	t.Run("file system", func(t *testing.T) {
		dir := mountTmpfs(t, "size=1g,ro")
		refused(t, dir)
	})
}

// mountTmpfs mounts a file system of its own for the test, which it skips where
// that is not allowed.
func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("mounting a file system takes root on Linux")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a file system cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}
