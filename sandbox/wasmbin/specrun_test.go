package wasmbin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"vcphost/sandbox/wasmbin"
)

// specWorld is an engine that runs a script, either the modules as they are or
// what the rewriter makes of them.
type specWorld struct {
	runtime wazero.Runtime
	rewrite *wasmbin.RewriteOptions // nil: as they are
	ctx     context.Context         // of instantiation; nil: the background
	atomic  bool                    // version 1: a segment out of bounds keeps all others out, too

	named     map[string]*specModule
	last      *specModule
	virtual   bool // some module had a virtual memory
	rewritten int
}

type specModule struct {
	api.Module
	plan *wasmbin.Rewritten // nil: as it is
}

func newSpecWorld(t *testing.T, features api.CoreFeatures, rewrite *wasmbin.RewriteOptions) *specWorld {
	t.Helper()
	ctx := context.Background()
	w := &specWorld{
		runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features)),
		rewrite: rewrite, atomic: features == api.CoreFeaturesV1, named: map[string]*specModule{},
	}
	t.Cleanup(func() {
		if err := w.runtime.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	host, err := os.ReadFile(engineFile(t, "spectest", "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.runtime.InstantiateWithConfig(ctx, host, wazero.NewModuleConfig()); err != nil {
		t.Fatal(err)
	}
	linkRefuel(t, w.runtime, func(left int64) int64 { return left + 500 })
	return w
}

// linkRefuel links the added import.
func linkRefuel(t testing.TB, r wazero.Runtime, refuel func(left int64) int64) {
	t.Helper()
	_, err := r.NewHostModuleBuilder(wasmbin.ReservedModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) { stack[0] = uint64(refuel(int64(stack[0]))) }),
			[]api.ValueType{api.ValueTypeI64}, []api.ValueType{api.ValueTypeI64}).
		Export(wasmbin.RefuelName).Instantiate(context.Background())
	if err != nil {
		t.Fatal(err)
	}
}

// instantiate begins an instance as its world does.
func (w *specWorld) instantiate(binary []byte, name string) (*specModule, error) {
	ctx, config := w.context(), wazero.NewModuleConfig().WithName(name).WithStartFunctions()
	if w.rewrite == nil {
		m, err := w.runtime.InstantiateWithConfig(ctx, binary, config)
		return &specModule{Module: m}, err
	}
	plan, err := wasmbin.Rewrite(binary, *w.rewrite)
	if err != nil {
		return nil, err
	}
	w.rewritten++
	w.virtual = w.virtual || plan.Memory.Virtual
	m, err := w.runtime.InstantiateWithConfig(ctx, plan.Binary, config)
	if err != nil {
		return nil, fmt.Errorf("the rewritten module: %w", err)
	}
	module := &specModule{m, plan}
	return module, w.begin(module)
}

// begin does what the engine would have done with the lifted parts.
func (w *specWorld) begin(m *specModule) error {
	if len(m.plan.Data) > 0 {
		memory, _ := m.Memory().Read(0, m.Memory().Size())
		global := func(name string) uint32 { return uint32(m.ExportedGlobal(name).Get()) }
		if w.atomic {
			memory = append([]byte{}, memory...)
			if err := m.plan.WriteData(memory, global); err != nil {
				return err
			}
			m.Memory().Write(0, memory)
		} else if err := m.plan.WriteData(memory, global); err != nil {
			return err
		}
	}
	if m.plan.Start == "" {
		return nil
	}
	_, err := m.ExportedFunction(m.plan.Start).Call(w.context())
	return err
}

func (w *specWorld) context() context.Context {
	if w.ctx == nil {
		return context.Background()
	}
	return w.ctx
}

// outcome is what a command gave: values, or why not.
type outcome struct {
	values []uint64
	err    error
	absent bool
}

func (w *specWorld) act(a specAction) outcome {
	m := w.last
	if a.Module != "" {
		m = w.named[a.Module]
	}
	if m == nil {
		return outcome{absent: true}
	}
	if a.Type == "get" {
		g := m.ExportedGlobal(a.Field)
		if g == nil {
			return outcome{absent: true}
		}
		return outcome{values: []uint64{g.Get()}}
	}
	f := m.ExportedFunction(a.Field)
	if f == nil {
		return outcome{absent: true}
	}
	var args []uint64
	for _, v := range a.Args {
		args = append(args, v.bits()...)
	}
	values, err := f.Call(context.Background(), args...)
	return outcome{values: values, err: err}
}

// trap is the kind of a trap, without its stack trace.
func (o outcome) trap() string {
	if o.err == nil {
		return ""
	}
	kind, _, _ := strings.Cut(o.err.Error(), "\n")
	kind = strings.TrimSuffix(kind, " (recovered by wazero)")
	return kind
}

// specTally counts what was run.
type specTally struct{ Modules, Returns, Traps, Exhaustions, Refusals, Failures, Registers, Texts int }

// specRun runs one script in two worlds.
type specRun struct {
	t                   *testing.T
	script              specScript
	original, rewritten *specWorld
	tally               *specTally
	deviations          map[string]bool
}

// deviates records that the worlds differ at a command.
func (r *specRun) deviates(c specCommand, format string, args ...any) {
	r.deviations[r.script.at(c)] = true
	r.t.Logf("%s %s: %s", r.script.at(c), c.Type, fmt.Sprintf(format, args...))
}

func (r *specRun) run() {
	for i := 0; i < len(r.script.Commands); i++ {
		switch c := r.script.Commands[i]; c.Type {
		case "module":
			name := ""
			if i+1 < len(r.script.Commands) && r.script.Commands[i+1].Type == "register" {
				i++
				name = r.script.Commands[i].As
				r.tally.Registers++
			}
			r.module(c, name)
		case "assert_return", "action":
			r.tally.Returns++
			r.returns(c)
		case "assert_trap":
			r.tally.Traps++
			r.traps(c)
		case "assert_exhaustion":
			r.tally.Exhaustions++
			r.traps(c)
		case "assert_malformed", "assert_invalid", "assert_unlinkable":
			if c.ModuleType == "text" {
				r.tally.Texts++ // a matter of the text format
				continue
			}
			r.tally.Refusals++
			r.refuses(c)
		case "assert_uninstantiable":
			r.tally.Failures++
			r.refuses(c)
		default:
			r.t.Fatalf("%s: unknown command %q", r.script.at(c), c.Type)
		}
	}
	r.sameMemory(specCommand{Type: "end"})
}

func (r *specRun) module(c specCommand, name string) {
	r.tally.Modules++
	r.sameMemory(c)
	binary := r.script.binary(r.t, c)
	original, err := r.original.instantiate(binary, name)
	if err != nil {
		r.t.Fatalf("%s: the engine refuses the module: %v", r.script.at(c), err)
	}
	rewritten, err := r.rewritten.instantiate(binary, name)
	if err != nil {
		r.deviates(c, "the rewritten form fails: %v", err)
		rewritten = nil
	}
	r.original.last, r.rewritten.last = original, rewritten
	if c.Name != "" {
		r.original.named[c.Name], r.rewritten.named[c.Name] = original, rewritten
	}
}

func (r *specRun) returns(c specCommand) {
	want, got := r.original.act(c.Action), r.rewritten.act(c.Action)
	if want.err != nil || want.absent {
		r.t.Fatalf("%s: the engine fails: %v", r.script.at(c), want.err)
	}
	if got.err != nil || got.absent || len(got.values) != len(want.values) {
		r.deviates(c, "got %v, want %v", got, want.values)
		return
	}
	words := got.values
	for _, v := range c.Expected {
		width := len(v.bits())
		ok, several := v.holds(words[:width])
		if !ok || !several && !slices.Equal(words[:width], want.values[len(want.values)-len(words):][:width]) {
			r.deviates(c, "got %x, the original %x, and the script wants %s %s", got.values, want.values, v.Type, v.Value)
			return
		}
		words = words[width:]
	}
}

func (r *specRun) traps(c specCommand) {
	want, got := r.original.act(c.Action), r.rewritten.act(c.Action)
	if want.err == nil {
		r.t.Fatalf("%s: the engine does not trap", r.script.at(c))
	}
	if got.trap() != want.trap() || got.absent {
		r.deviates(c, "got %q, want %q", got.trap(), want.trap())
	}
}

// refuses holds that a module does not begin in the rewritten form where it
// does not in the original one.
func (r *specRun) refuses(c specCommand) {
	binary := r.script.binary(r.t, c)
	_, want := r.original.instantiate(binary, "")
	_, got := r.rewritten.instantiate(binary, "")
	if (want == nil) != (got == nil) {
		r.deviates(c, "got %v, want %v", got, want)
		return
	}
	var trap error = got
	if c.Type == "assert_uninstantiable" && want != nil && !errors.Is(got, wasmbin.ErrDataBounds) {
		if w, g := (outcome{err: want}).trap(), (outcome{err: trap}).trap(); !strings.Contains(w, strings.TrimPrefix(g, "the rewritten module: ")) {
			r.deviates(c, "got %q, want %q", g, w)
		}
	}
}

// sameMemory compares what the last modules have in their memories.
func (r *specRun) sameMemory(c specCommand) {
	a, b := r.original.last, r.rewritten.last
	if a == nil || b == nil || !b.plan.Memory.Exists {
		return
	}
	want, _ := a.Memory().Read(0, a.Memory().Size())
	size := b.Memory().Size()
	if b.plan.Memory.Virtual {
		size = uint32(b.ExportedGlobal(b.plan.MemorySize).Get()) << 16
	}
	if got, _ := b.Memory().Read(0, size); !bytes.Equal(got, want) {
		r.deviates(c, "the memories differ")
	}
}

// runSpec runs a version of the suite in two worlds, in short mode without the
// scripts on vectors.
func runSpec(t *testing.T, version string, features api.CoreFeatures, rewrite wasmbin.RewriteOptions) (specTally, []string, int) {
	t.Helper()
	tally, deviations, virtual := specTally{}, map[string]bool{}, 0
	for _, script := range specScripts(t, version) {
		if testing.Short() && strings.HasPrefix(script.name, "simd") {
			continue // most of the suite
		}
		t.Run(script.name, func(t *testing.T) {
			r := &specRun{
				t: t, script: script, tally: &tally, deviations: deviations,
				original: newSpecWorld(t, features, nil), rewritten: newSpecWorld(t, features, &rewrite),
			}
			r.run()
			if r.rewritten.virtual {
				virtual++
			}
		})
	}
	return tally, slices.Sorted(maps.Keys(deviations)), virtual
}

func TestSpecificationStrict(t *testing.T) {
	for _, test := range []struct {
		version    string
		features   api.CoreFeatures
		want       specTally
		deviations []string
	}{
		// Version 1 writes no table if a later data segment is out of bounds;
		// version 2, which the host runs, writes up to the first that is.
		{"v1", api.CoreFeaturesV1, specTally{780, 15830, 458, 15, 1745, 2, 10, 430}, []string{"linking.wast:248"}},
		{"v2", api.CoreFeaturesV2, specTally{1599, 45889, 2408, 15, 2948, 34, 22, 1091}, nil},
	} {
		t.Run(test.version, func(t *testing.T) {
			got, deviations, _ := runSpec(t, test.version, test.features, wasmbin.RewriteOptions{})
			if got != test.want && !testing.Short() {
				t.Errorf("ran %+v, want %+v", got, test.want)
			}
			if !slices.Equal(deviations, test.deviations) {
				t.Errorf("deviations: %q, want %q", deviations, test.deviations)
			}
		})
	}
}

// The deviations that a virtual size is documented to have, each by its line.
func TestSpecificationVirtual(t *testing.T) {
	options := wasmbin.RewriteOptions{VirtualMemory: true, Limits: wasmbin.Limits{MemoryPages: 1100}}
	got, deviations, virtual := runSpec(t, "v2", api.CoreFeaturesV2, options)
	if want := (specTally{1599, 45889, 2408, 15, 2948, 34, 22, 1091}); !testing.Short() && got != want || virtual != 19 {
		t.Errorf("ran %+v, want %+v; %d scripts with a virtual memory, want 19", got, want, virtual)
	}
	want := []string{
		// An access between the size and the cap does not trap.
		"memory_grow.wast:15", "memory_grow.wast:16", "memory_grow.wast:17", "memory_grow.wast:18",
		"memory_grow.wast:24", "memory_grow.wast:25",
		"memory_trap.wast:23", "memory_trap.wast:24", "memory_trap.wast:25", "memory_trap.wast:26",
		"memory_trap.wast:27", "memory_trap.wast:28", "memory_trap.wast:29", "memory_trap.wast:30",
		"memory_trap.wast:35", // the memory, where the end of a store at the border was written
		// What was stored there is found when the memory has grown.
		"memory_grow.wast:21", "memory_grow.wast:31",
		// Another module that imports the memory sees the cap as its size.
		"memory_grow.wast:324", "memory_grow.wast:325", "memory_grow.wast:330", "memory_grow.wast:end",
	}
	slices.Sort(want)
	if !slices.Equal(deviations, want) {
		t.Errorf("deviations:\n%s\nwant:\n%s", strings.Join(deviations, "\n"), strings.Join(want, "\n"))
	}
}
