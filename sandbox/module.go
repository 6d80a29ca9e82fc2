package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"vcphost/abi"
	"vcphost/sandbox/hostfunc"
	"vcphost/sandbox/wasmbin"
)

const (
	pageBytes = 64 << 10
	mebibyte  = 1 << 20
)

// Limits of a plugin; a zero field means its default.
type Limits struct {
	MemoryMiB      int   // linear memory; default 64
	MaxInputBytes  int64 // the invocation; default 8 MiB
	MaxOutputBytes int64 // the payload; default 8 MiB
	MaxLogBytes    int   // all lines of one call; default 64 KiB, below zero none
}

func (l Limits) withDefaults() Limits {
	if l.MemoryMiB <= 0 {
		l.MemoryMiB = 64
	}
	if l.MaxInputBytes <= 0 {
		l.MaxInputBytes = 8 * mebibyte
	}
	if l.MaxOutputBytes <= 0 {
		l.MaxOutputBytes = 8 * mebibyte
	}
	return l
}

func (l Limits) memoryBytes() uint64 { return uint64(l.MemoryMiB) * mebibyte }

// Module is what a plugin brings and what it was granted.
type Module struct {
	Name    string // of the plugin
	Binary  []byte
	Limits  Limits
	Config  map[string]string // values that it may read; nil when not granted
	KVBytes int64             // quota of its store in bytes; 0 when not granted
}

// Plugin is a module ready to be called. It is safe for concurrent use: every
// call has an instance of its own.
type Plugin struct {
	sandbox  *Sandbox
	name     string
	limits   Limits
	grants   hostfunc.Grants
	compiled wazero.CompiledModule
	config   wazero.ModuleConfig // what all instances have in common
	start    bool                // the module exports _initialize
	closed   atomic.Bool
}

// Open checks and compiles a module. A module that cannot be a plugin fails
// with an [abi.Error] of code TOOL_DISABLED whose message names what is wrong
// and whose details hold {"reason":"refused"}.
func (s *Sandbox) Open(ctx context.Context, m Module) (*Plugin, error) {
	p := &Plugin{
		sandbox: s, name: m.Name, limits: m.Limits.withDefaults(),
		config: wazero.NewModuleConfig().WithName("").WithStartFunctions().
			WithRandSource(rand.Reader).WithSysWalltime().WithSysNanotime(),
	}
	if err := s.checkImports(m.Binary); err != nil {
		return nil, refused(err)
	}
	compiled, err := s.compile(ctx, m.Binary)
	if err != nil {
		return nil, refused(fmt.Errorf("does not compile: %w", err))
	}
	p.compiled = compiled
	if err := p.check(); err != nil {
		return nil, errors.Join(refused(err), compiled.Close(ctx))
	}
	p.grants.Config = m.Config
	if m.KVBytes > 0 && s.db != nil {
		p.grants.KV = hostfunc.NewKVSpace(s.db, m.Name, m.KVBytes)
	}
	s.counters.open.Add(1)
	return p, nil
}

// Close gives the compiled module back. It is idempotent.
func (p *Plugin) Close(ctx context.Context) error {
	if !p.closed.Swap(true) {
		p.sandbox.counters.open.Add(-1)
	}
	return p.compiled.Close(ctx)
}

func refused(err error) *abi.Error {
	return abi.NewError(abi.CodeToolDisabled, "the module %s", err).
		WithDetails(map[string]string{"reason": "refused"}).WithCause(err)
}

// checkImports refuses what is no core module and what imports anything that
// the host does not link.
func (s *Sandbox) checkImports(binary []byte) error {
	imports, err := wasmbin.Imports(binary)
	if err == nil {
		err = wasmbin.Check(binary)
	}
	switch {
	case errors.Is(err, wasmbin.ErrComponent):
		return fmt.Errorf("is %w; build it for a core target such as wasip1", err)
	case err != nil:
		return fmt.Errorf("is %w", err)
	}
	for _, i := range imports {
		functions, ok := s.known[i.Module]
		if _, known := functions[i.Name]; !ok || !known || i.Kind != wasmbin.Function {
			return fmt.Errorf("imports the %s %q of %q, which this host does not have", i.Kind, i.Name, i.Module)
		}
	}
	return nil
}

func (p *Plugin) check() error {
	for _, imported := range p.compiled.ImportedFunctions() {
		module, name, _ := imported.Import()
		linked := p.sandbox.known[module][name]
		if !sameSignature(imported, linked.ParamTypes(), linked.ResultTypes()) {
			return fmt.Errorf("imports %q of %q as %s, and it is %s", name, module,
				signature(imported.ParamTypes(), imported.ResultTypes()), signature(linked.ParamTypes(), linked.ResultTypes()))
		}
	}
	memory, ok := p.compiled.ExportedMemories()["memory"]
	if !ok {
		return errors.New(`does not export its memory as "memory"`)
	}
	if need := uint64(memory.Min()) * pageBytes; need > p.limits.memoryBytes() {
		return fmt.Errorf("needs %d MiB of memory at its start, and sandbox.memoryMiB allows %d", (need+mebibyte-1)/mebibyte, p.limits.MemoryMiB)
	}
	return p.checkExports()
}

// The exports of binding "vcp", version 1.
const (
	exportMark       = "vcp_abi_1"
	exportAlloc      = "vcp_alloc"
	exportCall       = "vcp_call"
	exportInitialize = "_initialize"
	exportPrepare    = "vcp_prepare"
)

func (p *Plugin) checkExports() error {
	i32, i64 := api.ValueTypeI32, api.ValueTypeI64
	exports := p.compiled.ExportedFunctions()
	for _, want := range []struct {
		name            string
		params, results []api.ValueType
		optional        bool
	}{
		{exportMark, nil, nil, false},
		{exportAlloc, []api.ValueType{i32}, []api.ValueType{i32}, false},
		{exportCall, []api.ValueType{i32, i32}, []api.ValueType{i64}, false},
		{exportInitialize, nil, nil, true},
		{exportPrepare, nil, nil, true},
	} {
		got, ok := exports[want.name]
		switch {
		case !ok && !want.optional:
			return fmt.Errorf("does not export the function %q, which binding vcp needs", want.name)
		case ok && !sameSignature(got, want.params, want.results):
			return fmt.Errorf("exports %q as %s, and binding vcp has it as %s", want.name,
				signature(got.ParamTypes(), got.ResultTypes()), signature(want.params, want.results))
		}
	}
	_, p.start = exports[exportInitialize]
	return nil
}

func sameSignature(f api.FunctionDefinition, params, results []api.ValueType) bool {
	return slices.Equal(f.ParamTypes(), params) && slices.Equal(f.ResultTypes(), results)
}

func signature(params, results []api.ValueType) string {
	return fmt.Sprintf("%v -> %v", typeNames(params), typeNames(results))
}

func typeNames(types []api.ValueType) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = api.ValueTypeName(t)
	}
	return names
}
