package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"vcphost/sandbox/wasmbuild"
)

// Arguments by which this test binary becomes another process: one that
// compiles, and one that has a module compiled.
const (
	childVerb  = "compile-module"
	ensureVerb = "ensure-module" // directory, file
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == childVerb:
		os.Exit(ChildMain(os.Args[2:], os.Stdin, os.Stderr))
	case len(os.Args) == 4 && os.Args[1] == ensureVerb:
		if err := ensureMain(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ensureMain has the module in a file compiled, and loads it.
func ensureMain(dir, file string) error {
	binary, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c, err := OpenCache(dir, &CacheOptions{Command: []string{self, childVerb}})
	if err != nil {
		return err
	}
	return errors.Join(c.Ensure(context.Background(), binary), run(c, binary), c.Close())
}

// thisBinary is the command that compiles in a process of this test binary.
func thisBinary(t testing.TB) []string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{path, childVerb}
}

// open opens a cache until the test ends.
func open(t *testing.T, dir string, opts *CacheOptions) *Cache {
	t.Helper()
	c, err := OpenCache(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// ensure makes a module loadable, or fails the test.
func ensure(t *testing.T, c *Cache, binary []byte) {
	t.Helper()
	if err := c.Ensure(t.Context(), binary); err != nil {
		t.Fatal(err)
	}
}

// answers is a module of some size whose function "answer" returns a number.
func answers(number int32, functions int) []byte {
	m := &wasmbuild.Module{}
	m.ExportFunction("answer", m.Function(wasmbuild.Signature{Results: []wasmbuild.ValueType{wasmbuild.I32}}, nil, wasmbuild.I32Const(number)))
	for i := range functions {
		m.Function(wasmbuild.Signature{Results: []wasmbuild.ValueType{wasmbuild.I32}}, nil, wasmbuild.I32Const(int32(i)))
	}
	return m.Bytes()
}

// run loads a module of answers as the host does and calls it.
func run(c *Cache, binary []byte) error {
	ctx := context.Background()
	engine := wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCompilationCache(c.engine()))
	defer engine.Close(ctx)
	instance, err := engine.Instantiate(ctx, binary)
	if err != nil {
		return err
	}
	_, err = instance.ExportedFunction("answer").Call(ctx)
	return err
}

// files lists the regular files below a directory.
func files(t *testing.T, dir string) []string {
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

// await waits until something holds, for as long as a busy machine may take.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for start := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("does not happen: " + what)
		}
	}
}

// failedAs asserts the reason for which a module was not compiled.
func failedAs(t *testing.T, err error, reason string) *CompileError {
	t.Helper()
	var failed *CompileError
	if !errors.As(err, &failed) || failed.Reason != reason {
		t.Fatalf("the error is %v, want the reason %q", err, reason)
	}
	return failed
}
