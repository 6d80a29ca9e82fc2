package wasmbin_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"vcphost/sandbox/wasmbin"
	"vcphost/sandbox/wasmbuild"
)

// The instructions of the hand-made loops.
const (
	i32Load, i32LtS, i32Sub, i32And, i32Xor, brIf = 0x28, 0x48, 0x6b, 0x71, 0x73, 0x0d
	ifI32, elseOp, endOp, returnOp                = 0x04, 0x05, 0x0b, 0x0f
)

// loops are functions of an i32 that run that many turns: tight, with a load
// from memory, and fib, which is recursion alone.
func loops() []byte {
	m := &wasmbuild.Module{}
	m.Memory(1, 0)
	turn := wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}, Results: []wasmbuild.ValueType{wasmbuild.I32}}
	locals := []wasmbuild.ValueType{wasmbuild.I32}
	loop := func(work ...[]byte) [][]byte {
		code := [][]byte{{0x03, 0x40}}
		code = append(code, work...)
		code = append(code, wasmbuild.LocalGet(0), wasmbuild.I32Const(1), []byte{i32Sub}, []byte{0x22, 0}, []byte{brIf, 0, endOp}, wasmbuild.LocalGet(1))
		return code
	}
	m.ExportFunction("tight", m.Function(turn, locals, loop(
		wasmbuild.LocalGet(1), wasmbuild.LocalGet(0), []byte{i32Xor}, wasmbuild.LocalSet(1))...))
	m.ExportFunction("memory", m.Function(turn, locals, loop(
		wasmbuild.LocalGet(1), wasmbuild.LocalGet(0), wasmbuild.I32Const(0xfffc), []byte{i32And, i32Load, 2, 0},
		wasmbuild.I32Add(), wasmbuild.LocalSet(1))...))
	const fib = 2
	m.ExportFunction("fib", m.Function(turn, nil,
		wasmbuild.LocalGet(0), wasmbuild.I32Const(2), []byte{i32LtS, ifI32, 0x40}, wasmbuild.LocalGet(0), []byte{returnOp, endOp},
		wasmbuild.LocalGet(0), wasmbuild.I32Const(1), []byte{i32Sub}, wasmbuild.Call(fib),
		wasmbuild.LocalGet(0), wasmbuild.I32Const(2), []byte{i32Sub}, wasmbuild.Call(fib), wasmbuild.I32Add()))
	return m.Bytes()
}

// goGuest builds a guest of standard Go.
func goGuest(t testing.TB, folder string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, folder)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", folder, err, text)
	}
	binary, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// run begins an instance of a module, rewritten if it has a plan.
func run(t testing.TB, config wazero.RuntimeConfig, binary []byte, plan *wasmbin.Rewritten) api.Module {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, config)
	t.Cleanup(func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	if plan != nil {
		linkRefuel(t, r, func(left int64) int64 { return left + 1<<20 })
		binary = plan.Binary
	}
	m, err := r.InstantiateWithConfig(ctx, binary, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	if plan != nil && plan.Memory.Exists {
		memory, _ := m.Memory().Read(0, m.Memory().Size())
		if err := plan.WriteData(memory, nil); err != nil {
			t.Fatal(err)
		}
	}
	if f := m.ExportedFunction("_initialize"); f != nil {
		if _, err := f.Call(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// BenchmarkFuel runs loops and real work without fuel, with it, and with the
// engine's own way to stop a guest.
func BenchmarkFuel(b *testing.B) {
	small, large := loops(), goGuest(b, "./testdata/work")
	for _, work := range []struct {
		function string
		binary   []byte
		argument uint64
	}{{"tight", small, 1e6}, {"memory", small, 1e6}, {"fib", small, 27}, {"work", large, 10}} {
		for _, form := range []string{"none", "fuel", "virtual", "closeOnDone"} {
			b.Run(work.function+"/"+form, func(b *testing.B) {
				ctx := context.Background()
				config := wazero.NewRuntimeConfigCompiler()
				var plan *wasmbin.Rewritten
				switch form {
				case "closeOnDone":
					config = config.WithCloseOnContextDone(true)
					done, cancel := context.WithCancel(ctx)
					defer cancel()
					ctx = done
				case "fuel", "virtual":
					var err error
					opts := wasmbin.RewriteOptions{VirtualMemory: form == "virtual", Limits: wasmbin.Limits{MemoryPages: 1024}}
					if plan, err = wasmbin.Rewrite(work.binary, opts); err != nil {
						b.Fatal(err)
					}
				}
				f := run(b, config, work.binary, plan).ExportedFunction(work.function)
				for b.Loop() {
					if _, err := f.Call(ctx, work.argument); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRewrite is the rewriter itself on a guest of megabytes.
func BenchmarkRewrite(b *testing.B) {
	binary := goGuest(b, "./testdata/work")
	b.SetBytes(int64(len(binary)))
	b.ReportAllocs()
	for b.Loop() {
		plan, err := wasmbin.Rewrite(binary, wasmbin.RewriteOptions{VirtualMemory: true})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(plan.Binary))/float64(len(binary)), "size")
	}
}
