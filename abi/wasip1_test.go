//go:build !wasip1

package abi_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// A guest may use the very same types and checks, so the tests of this package
// and of its schemas also pass where a guest runs: compiled for wasip1, in
// wazero, without files, environment or network.
func TestPassesInWASIP1(t *testing.T) {
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	defer func() { _ = runtime.Close(ctx) }()
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)

	for _, pkg := range []string{".", "./schema"} {
		t.Run(pkg, func(t *testing.T) {
			var output bytes.Buffer
			// Fuzz tests look for their corpus; there is none in an empty directory.
			empty := wazero.NewFSConfig().WithReadOnlyDirMount(t.TempDir(), "/")
			config := wazero.NewModuleConfig().WithName("").WithArgs("test").WithFSConfig(empty).
				WithStdout(&output).WithStderr(&output).WithSysWalltime().WithSysNanotime()
			_, err := runtime.InstantiateWithConfig(ctx, compileTests(t, pkg), config)
			var exit *sys.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == 0 {
				err = nil
			}
			if err != nil {
				t.Errorf("the tests fail in wasip1: %v\n%s", err, output.Bytes())
			}
			if !bytes.Contains(output.Bytes(), []byte("PASS")) {
				t.Errorf("the tests did not run: %s", output.Bytes())
			}
		})
	}
}

// compileTests builds the tests of a package for wasip1 and gives the module.
func compileTests(t *testing.T, pkg string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tests.wasm")
	build := exec.Command("go", "test", "-c", "-o", path, pkg)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compile the tests of %s: %v\n%s", pkg, err, out)
	}
	module, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the compiled tests: %v", err)
	}
	return module
}
