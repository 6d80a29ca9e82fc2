package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"vcphost/abi"
	"vcphost/sandbox/engine"
	"vcphost/sandbox/hostfunc"
	"vcphost/sandbox/snapshot"
	"vcphost/sandbox/wasmbin"
)

// Plugin is a module ready to be called. It is safe for concurrent use: no two
// calls have the same instance at a time.
type Plugin struct {
	sandbox   *Sandbox
	name      string
	limits    Limits
	isolation Isolation
	grants    hostfunc.Grants

	code      *engine.Code
	rewritten *wasmbin.Rewritten
	imports   int       // functions that the module itself imports
	template  *template // nil where every call starts an instance
	logger    *slog.Logger
	idle      idle
	lastKept  atomic.Int64 // when an instance was kept, by the sandbox's clock
	refills   sync.WaitGroup
	slice     atomic.Int64 // units of fuel that take about sliceTime
	closed    atomic.Bool
}

// Open checks and compiles a module, starts it and takes its snapshot. A module
// that cannot be a plugin fails with an [abi.Error] of code TOOL_DISABLED whose
// message names what is wrong and whose details hold {"reason":"refused"}; one
// that fails while it starts, with the code of that failure.
func (s *Sandbox) Open(ctx context.Context, m Module) (*Plugin, error) {
	p := &Plugin{
		sandbox: s, name: m.Name, limits: m.Limits.withDefaults(), isolation: m.Isolation,
		logger: s.logger.With("plugin", m.Name),
	}
	if p.isolation == "" {
		p.isolation = IsolationCall
	}
	if p.isolation == IsolationShared && !s.opts.AllowShared {
		return nil, refused(errors.New(`asks for the isolation "shared", which the setting sandbox.allowShared does not allow`))
	}
	if err := p.rewrite(m.Binary); err != nil {
		return nil, err
	}
	code, err := s.engine.Compile(ctx, p.rewritten.Binary)
	if err != nil {
		return nil, notCompiled(ctx, err)
	}
	p.code = code
	p.grants.Config = m.Config
	if m.KVBytes > 0 && s.opts.DB != nil {
		p.grants.KV = hostfunc.NewKVSpace(s.opts.DB, m.Name, m.KVBytes)
	}
	if err := p.begin(ctx, m.Prepare); err != nil {
		return nil, errors.Join(err, code.Close(ctx))
	}
	s.pool.open(p)
	s.counters.open.Add(1)
	return p, nil
}

// begin checks what only the compiled module tells, and takes the snapshot.
func (p *Plugin) begin(ctx context.Context, prepare []Prepare) error {
	if err := p.check(); err != nil {
		return refused(err)
	}
	if p.isolation == IsolationShared && p.Unrestorable() != nil {
		return refused(fmt.Errorf(`asks for the isolation "shared", which needs what this module cannot do: %s`, strings.Join(p.Unrestorable(), "; ")))
	}
	if p.isolation == IsolationFresh || p.Unrestorable() != nil {
		p.isolation = IsolationFresh
		return nil
	}
	template, err := p.newTemplate(ctx, prepare)
	p.template = template
	return err
}

// Isolation is how the plugin's calls are kept apart, which differs from what was
// asked for where the module cannot be restored.
func (p *Plugin) Isolation() Isolation { return p.isolation }

// Unrestorable says, for people, why an instance of the module cannot be put back
// after a call; nil if it can.
func (p *Plugin) Unrestorable() []string { return p.rewritten.Unrestorable }

// Notices tells the author of the plugin why its calls cost more than they must;
// nil if they do not.
func (p *Plugin) Notices() []string {
	var list []string
	for _, reason := range p.rewritten.Unrestorable {
		list = append(list, "every call starts an instance of its own, for one cannot be put back: "+reason)
	}
	return list
}

// Close gives the compiled module and all waiting instances back. It is
// idempotent; calls must be over.
func (p *Plugin) Close(ctx context.Context) error {
	if p.closed.Swap(true) {
		return nil
	}
	p.sandbox.counters.open.Add(-1)
	errs := []error{p.drain(ctx)}
	if p.template != nil {
		errs = append(errs, p.template.image.Close())
	}
	return errors.Join(append(errs, p.code.Close(ctx))...)
}

func refused(err error) *abi.Error {
	return abi.NewError(abi.CodeToolDisabled, "the module %s", err).
		WithDetails(map[string]string{"reason": "refused"}).WithCause(err)
}

// tooBig refuses a module for a limit that a setting raises.
func tooBig(err error, limit, setting string, need, allowed int64) *abi.Error {
	return abi.NewError(abi.CodeToolDisabled, "the module %s", err).WithDetails(map[string]any{
		"reason": "refused", "limit": limit, "allowed": allowed, "needed": need, "setting": setting,
	}).WithCause(err)
}

// rewrite checks the binary and gives it its fuel. Nothing of it was compiled
// yet, and nothing is compiled that was not rewritten.
func (p *Plugin) rewrite(binary []byte) error {
	if err := p.checkImports(binary); err != nil {
		return refused(err)
	}
	rewritten, err := wasmbin.Rewrite(binary, wasmbin.RewriteOptions{Limits: p.limits.binary(), VirtualMemory: true})
	var over *wasmbin.LimitError
	switch {
	case errors.As(err, &over) && over.Limit == "memoryPages":
		need := (over.Need*pageBytes + mebibyte - 1) / mebibyte
		return tooBig(fmt.Errorf("needs %d MiB of memory at its start, and sandbox.memoryMiB allows %d", need, p.limits.MemoryMiB),
			"memoryMiB", "sandbox.memoryMiB", need, int64(p.limits.MemoryMiB))
	case errors.As(err, &over) && over.Limit == "tableElements":
		return tooBig(fmt.Errorf("needs %d table elements, and sandbox.tableElements allows %d", over.Need, over.Max),
			"tableElements", "sandbox.tableElements", over.Need, over.Max)
	case err != nil:
		return refused(fmt.Errorf("is %w", err))
	}
	p.rewritten = rewritten
	first, _ := p.slices()
	p.slice.Store(first)
	return nil
}

// checkImports refuses what is no core module and what imports anything that
// the host does not link.
func (p *Plugin) checkImports(binary []byte) error {
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
	p.imports = len(imports)
	for _, i := range imports {
		if _, linked := p.sandbox.engine.Linked(i.Module, i.Name); !linked || i.Kind != wasmbin.Function || i.Module == refuelModule {
			return fmt.Errorf("imports the %s %q of %q, which this host does not have", i.Kind, i.Name, i.Module)
		}
	}
	return nil
}

// notCompiled tells a module that does not compile from one that costs too much.
func notCompiled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ended(ctx, err)
	}
	var failed *engine.CompileError
	if errors.As(err, &failed) && failed.Setting != "" {
		return abi.NewError(abi.CodeToolDisabled, "the module could not be compiled within limits: %s", failed).
			WithDetails(map[string]any{"reason": "refused", "limit": failed.Limit, "setting": failed.Setting}).WithCause(err)
	}
	return refused(fmt.Errorf("does not compile: %w", err))
}

// check holds what the module imports and exports against the binding.
func (p *Plugin) check() error {
	for _, imported := range p.code.Imports() {
		linked, _ := p.sandbox.engine.Linked(imported.Module, imported.Name)
		if !same(imported.Signature, linked) {
			return fmt.Errorf("imports %q of %q as %s, and it is %s", imported.Name, imported.Module, imported.Signature, linked)
		}
	}
	if !p.code.ExportsMemory("memory") {
		return errors.New(`does not export its memory as "memory"`)
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
	i32, i64 := engine.I32, engine.I64
	for _, want := range []struct {
		name            string
		params, results []engine.ValueType
		optional        bool
	}{
		{exportMark, nil, nil, false},
		{exportAlloc, []engine.ValueType{i32}, []engine.ValueType{i32}, false},
		{exportCall, []engine.ValueType{i32, i32}, []engine.ValueType{i64}, false},
		{exportInitialize, nil, nil, true},
		{exportPrepare, nil, nil, true},
	} {
		got, ok := p.code.Export(want.name)
		expected := engine.Signature{Params: want.params, Results: want.results}
		switch {
		case !ok && !want.optional:
			return fmt.Errorf("does not export the function %q, which binding vcp needs", want.name)
		case ok && !same(got, expected):
			return fmt.Errorf("exports %q as %s, and binding vcp has it as %s", want.name, got, expected)
		}
	}
	return nil
}

func same(a, b engine.Signature) bool {
	return slices.Equal(a.Params, b.Params) && slices.Equal(a.Results, b.Results)
}

// template is what the instances of a plugin are made from and put back to.
type template struct {
	image   *snapshot.Image
	globals []uint64 // in the order of Rewritten.Globals
}
