package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"vcphost/abi"
)

// bareWazero is a guest in wazero without a sandbox around it: compiled once,
// linked to what it imports and no more.
type bareWazero struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	config   wazero.ModuleConfig
	hosted   *abi.Invocation // nil where the guest imports nothing of "vcp"
	input    []byte
}

func openWazero(ctx context.Context, g *guest, config wazero.RuntimeConfig) (*bareWazero, error) {
	input, err := g.input()
	if err != nil {
		return nil, err
	}
	w := &bareWazero{
		runtime: wazero.NewRuntimeWithConfig(ctx, config), input: input,
		config: wazero.NewModuleConfig().WithName("").WithStartFunctions().
			WithRandSource(rand.Reader).WithSysWalltime().WithSysNanotime(),
	}
	if w.compiled, err = w.runtime.CompileModule(ctx, g.vcp); err != nil {
		return nil, errors.Join(fmt.Errorf("compile: %w", err), w.runtime.Close(ctx))
	}
	if err := w.link(ctx, g.invocation); err != nil {
		return nil, errors.Join(err, w.runtime.Close(ctx))
	}
	return w, nil
}

func (w *bareWazero) imports(module string) bool {
	return slices.ContainsFunc(w.compiled.ImportedFunctions(), func(f api.FunctionDefinition) bool {
		from, _, _ := f.Import()
		return from == module
	})
}

func (w *bareWazero) link(ctx context.Context, inv *abi.Invocation) error {
	if w.imports(wasi_snapshot_preview1.ModuleName) {
		if _, err := wasi_snapshot_preview1.Instantiate(ctx, w.runtime); err != nil {
			return fmt.Errorf("link WASI: %w", err)
		}
	}
	if !w.imports("vcp") {
		return nil
	}
	w.hosted = inv
	builder := w.runtime.NewHostModuleBuilder("vcp")
	types := map[string][]api.ValueType{"": nil, "i32": {api.ValueTypeI32}, "i64": {api.ValueTypeI64}}
	for _, f := range hostFunctions() {
		run := func(ctx context.Context, m api.Module, stack []uint64) { f.run(ctx, m.Memory(), stack) }
		params := slices.Repeat([]api.ValueType{api.ValueTypeI32}, f.params)
		builder.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(run), params, types[f.result]).Export(f.name)
	}
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("link the host functions: %w", err)
	}
	return nil
}

// start makes an instance and runs the guest's own start.
func (w *bareWazero) start(ctx context.Context) (api.Module, *instance, error) {
	m, err := w.runtime.InstantiateModule(ctx, w.compiled, w.config)
	if err != nil {
		return nil, nil, fmt.Errorf("instantiate: %w", err)
	}
	if initialize := m.ExportedFunction("_initialize"); initialize != nil {
		if _, err := initialize.Call(ctx); err != nil {
			return nil, nil, fmt.Errorf("initialise: %w", err)
		}
	}
	return m, &instance{
		memory: m.Memory(), write: m.Memory().Write,
		alloc: m.ExportedFunction("vcp_alloc").CallWithStack,
		call:  m.ExportedFunction("vcp_call").CallWithStack,
	}, nil
}

func (w *bareWazero) serve(ctx context.Context, i *instance) ([]byte, error) {
	if w.hosted == nil {
		return i.serve(ctx, w.input)
	}
	ctx, end := withHost(ctx, w.hosted)
	defer end()
	return i.serve(ctx, w.input)
}

// fresh is a call in an instance of its own.
func (w *bareWazero) fresh(ctx context.Context) ([]byte, error) {
	m, i, err := w.start(ctx)
	if err != nil {
		return nil, err
	}
	payload, err := w.serve(ctx, i)
	return payload, errors.Join(err, m.Close(ctx))
}

// openWazeroRunner opens a guest in wazero, its compiled code shared through
// cache with other runtimes of the same kind.
func openWazeroRunner(ctx context.Context, g *guest, c column, cache wazero.CompilationCache) (*runner, error) {
	config := wazero.NewRuntimeConfig().WithCompilationCache(cache).WithCloseOnContextDone(c == wazeroStoppable)
	w, err := openWazero(ctx, g, config)
	if err != nil {
		return nil, err
	}
	r := &runner{column: c, close: func() error { return w.runtime.Close(ctx) }}
	if c == wazeroFresh {
		r.call = func() ([]byte, error) { return w.fresh(ctx) }
		return r, nil
	}
	_, i, err := w.start(ctx)
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.call = func() ([]byte, error) { return w.serve(ctx, i) }
	r.more = func() error {
		_, another, err := w.start(ctx)
		if err != nil {
			return err
		}
		_, err = w.serve(ctx, another)
		return err
	}
	return r, nil
}
