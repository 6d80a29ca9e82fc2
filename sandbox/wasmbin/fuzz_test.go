package wasmbin_test

import (
	"context"
	varint "encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"vcphost/sandbox/wasmbin"
)

// FuzzRewrite: nothing panics or grows beyond measure; what the engine takes it
// takes rewritten, and what it refuses it refuses rewritten.
func FuzzRewrite(f *testing.F) {
	for _, binary := range modules() {
		f.Add(binary)
	}
	for _, binary := range []string{bulkModule()[:600], indices(), string(loops())} {
		f.Add([]byte(binary))
	}
	files, err := filepath.Glob(engineFile(f, "spectest", "v2", "testdata", "*.wasm"))
	if err != nil {
		f.Fatal(err)
	}
	for i, file := range files {
		binary, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(binary) < 2<<10 && i%7 == 0 && !strings.HasPrefix(filepath.Base(file), "simd") {
			f.Add(binary)
		}
	}
	r := engine(f)
	f.Fuzz(func(t *testing.T, binary []byte) {
		if len(binary) > 8<<10 {
			return
		}
		for _, virtual := range []bool{false, true} {
			plan, err := wasmbin.Rewrite(binary, wasmbin.RewriteOptions{VirtualMemory: virtual, Limits: wasmbin.Limits{MemoryPages: 100}})
			if err != nil {
				return
			}
			if len(plan.Binary) > 64*len(binary)+2048 {
				t.Errorf("%d bytes become %d", len(binary), len(plan.Binary))
			}
			want, got := compiles(t, r, withoutCustom(binary)), compiles(t, r, plan.Binary)
			if (want == nil) != (got == nil) {
				t.Errorf("the module: %v; rewritten: %v", want, got)
			}
		}
	})
}

// withoutCustom leaves out the custom sections: the engine refuses some that
// mean nothing, and the rewriter drops them.
func withoutCustom(binary []byte) []byte {
	out := append([]byte{}, binary[:8]...)
	for rest := binary[8:]; len(rest) > 0; {
		size, n := varint.Uvarint(rest[1:])
		end := 1 + n + int(size)
		if rest[0] != 0 {
			out = append(out, rest[:end]...)
		}
		rest = rest[end:]
	}
	return out
}

func compiles(t *testing.T, r wazero.Runtime, binary []byte) error {
	t.Helper()
	compiled, err := r.CompileModule(context.Background(), binary)
	if err == nil {
		err = compiled.Close(context.Background())
	}
	return err
}
