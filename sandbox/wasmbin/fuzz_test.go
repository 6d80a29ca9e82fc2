package wasmbin_test

import (
	"context"
	varint "encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"vcphost/sandbox/wasmbin"
)

// addSeeds adds modules of our own and of the specification's suite.
func addSeeds(f *testing.F) {
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
}

// FuzzRewrite: nothing panics or grows beyond measure; what the engine takes it
// takes rewritten, and what it refuses it refuses rewritten.
func FuzzRewrite(f *testing.F) {
	addSeeds(f)
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

// errEmpty ends a guest that has used its fuel.
var errEmpty = errors.New("no more fuel")

// patience is for calls that end at once: fuel for a million instructions.
const patience = 20 * time.Second

// FuzzRun: what a module does it does rewritten, too, and nothing that passes
// the rewriter runs on when its fuel is used.
func FuzzRun(f *testing.F) {
	addSeeds(f)
	const pages = 64
	config := wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(pages).WithCloseOnContextDone(true)
	f.Fuzz(func(t *testing.T, binary []byte) {
		_, err := wasmbin.Rewrite(binary, wasmbin.RewriteOptions{Limits: wasmbin.Limits{MemoryPages: pages, TableElements: 100_000, Imports: 1}})
		if err != nil || len(binary) > 8<<10 {
			return
		}
		ctx := context.Background()
		r := wazero.NewRuntimeWithConfig(ctx, config)
		defer r.Close(ctx)
		if compiles(t, r, binary) != nil {
			return
		}
		budget := 1000
		linkRefuel(t, r, func(left int64) int64 {
			if budget--; budget < 0 {
				panic(errEmpty)
			}
			return left + 1000
		})
		original := &specWorld{runtime: r}
		rewritten := &specWorld{runtime: r, rewrite: &wasmbin.RewriteOptions{}}
		b, errB := rewritten.within(patience, binary)
		if errors.Is(errB, errEmpty) {
			return
		}
		a, errA := original.within(patience, binary)
		sameEnd(t, "start", outcome{err: errA}, outcome{err: errB})
		if errA != nil || errB != nil {
			return
		}
		for name, definition := range a.ExportedFunctionDefinitions() {
			args := make([]uint64, words(definition.ParamTypes()))
			got := b.within(patience, name, args)
			if errors.Is(got.err, errEmpty) {
				return // the original might run for years, and recursion cannot be stopped
			}
			want := a.within(patience, name, args)
			sameEnd(t, name, want, got)
			if want.err != nil || got.err != nil {
				return // they may have parted
			}
			numbers := !slices.ContainsFunc(definition.ResultTypes(), func(v api.ValueType) bool { return v < api.ValueTypeI64 })
			if numbers && !slices.Equal(want.values, got.values) {
				t.Errorf("%s: got %x, want %x", name, got.values, want.values)
			}
		}
	})
}

// within begins an instance that is to have begun within a time.
func (w *specWorld) within(limit time.Duration, binary []byte) (*specModule, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	w.ctx = ctx
	return w.instantiate(binary, "")
}

// within calls a function that is to return within a time.
func (m *specModule) within(limit time.Duration, name string, args []uint64) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	values, err := m.ExportedFunction(name).Call(ctx, args...)
	return outcome{values: values, err: err}
}

// sameEnd compares how a call ended in both forms, unless one ran out of its
// stack, which the other may not have.
func sameEnd(t *testing.T, what string, want, got outcome) {
	t.Helper()
	var exit *sys.ExitError
	if errors.As(got.err, &exit) {
		t.Fatalf("%s: the rewritten form ran on without fuel", what)
	}
	if strings.Contains(want.trap()+got.trap(), "stack overflow") {
		return
	}
	if (want.err == nil) != (got.err == nil) {
		t.Errorf("%s: got %v, want %v", what, got.err, want.err)
	}
}
