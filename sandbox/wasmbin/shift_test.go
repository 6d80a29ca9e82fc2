package wasmbin_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"vcphost/sandbox/wasmbin"
)

// indices is a module that names its functions 1 to 4 wherever a module can, in
// padded numbers; function 0 is imported. Function n returns n.
func indices() string {
	padded := func(n byte) string { return string([]byte{0x80 | n, 0x80, 0x80, 0x80, 0x00}) }
	returns := func(n byte) string { return sized("\x00\x41" + padded(n) + "\x0b") }
	active := func(at, n byte) string { return string([]byte{0x41, at, 0x0b, 1}) + padded(n) }
	expression := func(n byte) string { return "\xd2" + padded(n) + "\x0b" }
	elements := sec(9,
		"\x00"+active(0, 1),
		"\x01\x00\x01"+padded(2),
		"\x02\x00\x41\x01\x0b\x00\x01"+padded(2),
		"\x03\x00\x01"+padded(3),
		"\x04\x41\x02\x0b\x02"+expression(3)+"\xd0\x70\x0b",
		"\x05\x70\x01"+expression(4),
		"\x06\x00\x41\x04\x0b\x70\x01"+expression(4),
		"\x07\x70\x01"+expression(1),
		"\x00"+active(5, 0),
	)
	dispatch := sized("\x00\x20\x00\x11" + padded(0) + padded(0) + "\x0b")
	direct := sized("\x00\x10" + padded(4) + "\x10" + padded(0) + "\x6c\x0b")
	reference := sized("\x00\x41\x00\xd2" + padded(2) + "\x26" + padded(0) + "\x41\x00\x11\x00\x00\x0b")
	initialize := sized("\x00\x41\x06\x41\x00\x41\x01\xfc\x0c" + padded(5) + padded(0) + "\x41\x06\x11\x00\x00\x0b")
	start := sized("\x00\x10" + padded(3) + "\x24" + padded(1) + "\x0b")
	names := section(0, []byte("\x04name\x00\x02\x01m\x01\x0a\x02\x00\x03env\x04\x02fn\x02\x01\x00")...)
	return header + "\x01\x8d\x80\x80\x80\x00" + vec("\x60\x00\x01\x7f", "\x60\x01\x7f\x01\x7f", "\x60\x00\x00") +
		sec(2, entry("env", "zero", 0, 0)) +
		sec(3, "\x00", "\x00", "\x00", "\x00", "\x01", "\x00", "\x00", "\x00", "\x02") +
		sec(4, "\x70\x00\x08") + sec(6, "\x70\x00"+expression(1), "\x7f\x01\x41\x00\x0b") +
		sec(7, export("f1", 0, 1), export("dispatch", 0, 5), export("direct", 0, 6), export("reference", 0, 7), export("initialize", 0, 8), export("set", 3, 1), export("t", 1, 0)) +
		section(8, []byte("\x89\x80\x00")...) + elements +
		sec(10, returns(1), returns(2), returns(3), returns(4), dispatch, direct, reference, initialize, start) + names
}

func TestIndicesFollowTheAddedImport(t *testing.T) {
	plan, err := wasmbin.Rewrite([]byte(indices()), wasmbin.RewriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	defer r.Close(ctx)
	linkRefuel(t, r, func(left int64) int64 { return left + 10 })
	if _, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func() uint32 { return 10 }).Export("zero").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	compiled, err := r.CompileModule(ctx, plan.Binary)
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	if got := m.ExportedGlobal("set").Get(); got != 0 {
		t.Errorf("the start function ran by itself: %d", got)
	}
	if _, err := m.ExportedFunction(plan.Start).Call(ctx); err != nil {
		t.Fatal(err)
	}
	if got := m.ExportedGlobal("set").Get(); got != 3 {
		t.Errorf("the start function set %d", got)
	}
	for _, test := range []struct {
		function string
		args     []uint64
		want     uint64
	}{
		{"f1", nil, 1}, {"dispatch", []uint64{0}, 1}, {"dispatch", []uint64{1}, 2}, {"dispatch", []uint64{2}, 3},
		{"dispatch", []uint64{4}, 4}, {"dispatch", []uint64{5}, 10}, {"direct", nil, 40}, {"reference", nil, 2}, {"initialize", nil, 4},
	} {
		got, err := m.ExportedFunction(test.function).Call(ctx, test.args...)
		if err != nil || got[0] != test.want {
			t.Errorf("%s%v: got %v, %v; want %d", test.function, test.args, got, err, test.want)
		}
	}
	if want := []string{`table.set in function 7`, `table.init in function 8`}; !slices.Equal(plan.Unrestorable, want) {
		t.Errorf("got %q, want %q", plan.Unrestorable, want)
	}
}

// A trap in the rewritten module names the functions of the guest, and those
// that the rewriter added.
func TestNamesInStackTraces(t *testing.T) {
	names := section(0, []byte("\x04name\x00\x06\x05guest\x01\x0b\x02\x00\x05outer\x01\x01i\x02\x03\x01\x00\x00")...)
	module := header + sec(1, "\x60\x00\x00") + sec(3, "\x00", "\x00") + sec(5, "\x00\x01") + sec(7, export("run", 0, 0)) +
		sec(10, body("\x10\x01"), body("\x41\x00\x41\x00\x41\x7f\xfc\x0b\x00")) + names
	m := meter(t, module, wasmbin.RewriteOptions{}, 100)
	_, _, err := m.used("run")
	if err == nil {
		t.Fatal("no trap")
	}
	for _, want := range []string{"guest.outer()", "guest.i()", "guest.vcp_internal.memory.fill("} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestUnrestorable(t *testing.T) {
	types := sec(1, "\x60\x00\x00")
	memory, table := sec(5, "\x00\x01"), sec(4, "\x70\x00\x04")
	one := func(code string) string { return sec(10, body(code)) }
	passive, active := sec(9, "\x01\x00\x01\x00"), sec(9, "\x00\x41\x00\x0b\x01\x00")
	three := "\x41\x00\x41\x00\x41\x00"
	for _, test := range []struct {
		name, binary string
		want         []string
	}{
		{"nothing", types + sec(3, "\x00") + table + memory + active + one("\x41\x00\x25\x00\x1a"), nil},
		{"table.set", types + sec(3, "\x00") + table + one("\x41\x00\xd0\x70\x26\x00"), []string{"table.set in function 0"}},
		{"table.grow", types + sec(3, "\x00") + table + one("\xd0\x70\x41\x00\xfc\x0f\x00\x1a"), []string{"table.grow in function 0"}},
		{"table.fill", types + sec(3, "\x00") + table + one("\x41\x00\xd0\x70\x41\x00\xfc\x11\x00"), []string{"table.fill in function 0"}},
		{"table.copy", types + sec(3, "\x00") + table + one(three+"\xfc\x0e\x00\x00"), []string{"table.copy in function 0"}},
		{"table.init and elem.drop", types + sec(3, "\x00") + table + passive + one(three+"\xfc\x0c\x00\x00\xfc\x0d\x00"), []string{"table.init in function 0", "elem.drop in function 0"}},
		{"elem.drop of what is dropped", types + sec(3, "\x00") + table + active + one("\xfc\x0d\x00"), nil},
		{"data.drop", types + sec(3, "\x00") + memory + section(12, 1) + one("\xfc\x09\x00") + sec(11, "\x01\x00"), []string{"data.drop in function 0"}},
		{"data.drop of what is dropped", types + sec(3, "\x00") + memory + section(12, 1) + one("\xfc\x09\x00") + sec(11, "\x00\x41\x00\x0b\x00"), nil},
		{"mutable globals", sec(6, "\x7f\x01\x41\x00\x0b", "\x70\x01\xd0\x70\x0b", "\x6f\x01\xd0\x6f\x0b", "\x7b\x01\xfd\x0c"+strings.Repeat("\x00", 16)+"\x0b", "\x70\x00\xd0\x70\x0b"),
			[]string{"global 1 is a mutable funcref", "global 2 is a mutable externref", "global 3 is a mutable v128"}},
		{"imports", sec(2, entry("a", "m", 2, 0, 1), entry("a", "t", 1, 0x70, 0, 1)), []string{`it imports the memory "m" of "a"`, `it imports the table "t" of "a"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan, err := wasmbin.Rewrite([]byte(header+test.binary), wasmbin.RewriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(plan.Unrestorable, test.want) {
				t.Errorf("got %q, want %q", plan.Unrestorable, test.want)
			}
			ctx := context.Background()
			r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
			defer r.Close(ctx)
			if _, err := r.CompileModule(ctx, plan.Binary); err != nil {
				t.Errorf("the engine refuses what was made: %v", err)
			}
		})
	}
}

// All mutable globals are exported, with their types.
func TestGlobals(t *testing.T) {
	module := header + sec(2, entry("env", "fixed", 3, 0x7f, 0)) +
		sec(6, "\x7f\x01\x41\x01\x0b", "\x7e\x00\x42\x02\x0b", "\x7d\x01\x43\x00\x00\x80\x3f\x0b", "\x7c\x01\x44\x00\x00\x00\x00\x00\x00\xf0\x3f\x0b", "\x7e\x01\x42\x05\x0b")
	plan, err := wasmbin.Rewrite([]byte(module), wasmbin.RewriteOptions{VirtualMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []wasmbin.ExportedGlobal{
		{"vcp_internal.global.1", api.ValueTypeI32}, {"vcp_internal.global.3", api.ValueTypeF32},
		{"vcp_internal.global.4", api.ValueTypeF64}, {"vcp_internal.global.5", api.ValueTypeI64}, {"vcp_internal.fuel", api.ValueTypeI64},
	}
	if !slices.Equal(plan.Globals, want) {
		t.Errorf("got %v, want %v", plan.Globals, want)
	}
}

// The same binary and options give the same bytes, and the input stays as it is.
func TestRewriteIsDeterministic(t *testing.T) {
	inputs := [][]byte{[]byte(bulkModule()), []byte(indices()), loops()}
	for _, input := range inputs {
		kept := bytes.Clone(input)
		for _, opts := range []wasmbin.RewriteOptions{{}, {VirtualMemory: true}} {
			first, err := wasmbin.Rewrite(input, opts)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if again, err := wasmbin.Rewrite(input, opts); err != nil || !bytes.Equal(again.Binary, first.Binary) {
					t.Fatalf("another result: %v", err)
				}
			}
		}
		if !bytes.Equal(kept, input) {
			t.Error("the input was changed")
		}
	}
}

// A rewritten module cannot be rewritten again: its names are reserved.
func TestARewrittenModuleIsRefused(t *testing.T) {
	plan, err := wasmbin.Rewrite(loops(), wasmbin.RewriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wasmbin.Rewrite(plan.Binary, wasmbin.RewriteOptions{}); err == nil || !strings.Contains(err.Error(), "reserved") {
		t.Errorf("got %v", err)
	}
}

// What once broke the engine's compiler behaves alike in both forms: each
// export without parameters is called, as far as its results can be compared.
func TestTheEnginesFuzzCases(t *testing.T) {
	files, err := filepath.Glob(engineFile(t, "fuzzcases", "testdata", "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	rewritten, calls := 0, 0
	for _, file := range files {
		binary, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := wasmbin.Rewrite(binary, wasmbin.RewriteOptions{})
		if err != nil {
			t.Logf("%s: %v", filepath.Base(file), err)
			continue
		}
		rewritten++
		calls += compareExports(t, filepath.Base(file), binary, plan)
	}
	t.Logf("%d of %d modules, %d calls", rewritten, len(files), calls)
	if rewritten < 50 {
		t.Errorf("only %d of %d modules could be rewritten", rewritten, len(files))
	}
}

// compareExports calls what a module exports in both forms.
func compareExports(t *testing.T, name string, binary []byte, plan *wasmbin.Rewritten) int {
	ctx := context.Background()
	original, errA := instance(t, binary, nil)
	rewritten, errB := instance(t, plan.Binary, plan)
	if (errA == nil) != (errB == nil) {
		t.Errorf("%s: the original begins with %v, the rewritten form with %v", name, errA, errB)
	}
	if errA != nil || errB != nil {
		return 0
	}
	calls := 0
	for export, definition := range original.ExportedFunctionDefinitions() {
		args := make([]uint64, len(definition.ParamTypes())*2)[:words(definition.ParamTypes())]
		want, errA := original.ExportedFunction(export).Call(ctx, args...)
		got, errB := rewritten.ExportedFunction(export).Call(ctx, args...)
		calls++
		a, b := outcome{want, errA, false}, outcome{got, errB, false}
		if a.trap() != b.trap() {
			t.Errorf("%s: %s: got %q, want %q", name, export, b.trap(), a.trap())
		}
		if errA == nil && errB == nil && fmt.Sprint(want) != fmt.Sprint(got) && !hasReference(definition.ResultTypes()) {
			t.Errorf("%s: %s: got %x, want %x", name, export, got, want)
		}
	}
	return calls
}

func words(types []api.ValueType) int {
	n := len(types)
	for _, t := range types {
		if t == 0x7b {
			n++
		}
	}
	return n
}

func hasReference(types []api.ValueType) bool {
	return slices.ContainsFunc(types, func(t api.ValueType) bool { return t == 0x70 || t == 0x6f })
}

// instance begins a module whose imports there may be none of.
func instance(t *testing.T, binary []byte, plan *wasmbin.Rewritten) (api.Module, error) {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithMemoryLimitPages(2000))
	t.Cleanup(func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	w := &specWorld{runtime: r}
	if plan == nil {
		m, err := w.instantiate(binary, "")
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	linkRefuel(t, r, func(left int64) int64 { return left + 1000 })
	m, err := r.InstantiateWithConfig(ctx, binary, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		return nil, err
	}
	return m, w.begin(&specModule{m, plan})
}
