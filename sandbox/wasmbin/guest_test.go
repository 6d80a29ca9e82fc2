package wasmbin_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"

	"vcphost/sandbox/wasmbin"
)

// What standard Go makes of work is the same in every form, and takes the same
// fuel each time, growth of memory and collection of garbage included.
func TestAGuestOfGo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module")
	}
	binary := goGuest(t, "./testdata/work")
	ctx, config := context.Background(), wazero.NewRuntimeConfigCompiler()
	call := func(plan *wasmbin.Rewritten) (result, left uint64) {
		t.Helper()
		m := run(t, config, binary, plan)
		for range 2 {
			values, err := m.ExportedFunction("work").Call(ctx, 20)
			if err != nil {
				t.Fatal(err)
			}
			result = values[0]
		}
		if plan != nil {
			left = m.ExportedGlobal(plan.Fuel).Get()
		}
		return result, left
	}
	want, _ := call(nil)
	for _, opts := range []wasmbin.RewriteOptions{{}, {VirtualMemory: true, Limits: wasmbin.Limits{MemoryPages: 1024}}} {
		plan, err := wasmbin.Rewrite(binary, opts)
		if err != nil {
			t.Fatal(err)
		}
		if plan.Unrestorable != nil || len(plan.Data) < 1000 || plan.Memory.Virtual != opts.VirtualMemory {
			t.Errorf("%d segments, %+v, unrestorable: %q", len(plan.Data), plan.Memory, plan.Unrestorable)
		}
		result, fuel := call(plan)
		if again, same := call(plan); result != want || again != want || same != fuel {
			t.Errorf("%+v: got %d with %d left, then %d with %d left; want %d", opts, result, int64(fuel), again, int64(same), want)
		}
	}
}
