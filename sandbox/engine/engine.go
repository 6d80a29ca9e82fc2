package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// ValueType is the type of a parameter, a result or a global.
type ValueType = byte

// The value types that host functions use.
const (
	I32 ValueType = api.ValueTypeI32
	I64 ValueType = api.ValueTypeI64
)

// HostFunction is a function that the host offers to guests. Arguments lie on
// the stack from its beginning, and results take their place; the stack is as
// long as the longer of the two.
type HostFunction struct {
	Name            string
	Params, Results []ValueType
	Call            func(ctx context.Context, stack []uint64)
}

// Signature is the type of a function.
type Signature struct{ Params, Results []ValueType }

// String shows a signature as [i32 i64] -> [i32].
func (s Signature) String() string {
	return fmt.Sprintf("%v -> %v", typeNames(s.Params), typeNames(s.Results))
}

func typeNames(types []ValueType) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = api.ValueTypeName(t)
	}
	return names
}

// Engine compiles and runs modules. It is safe for concurrent use.
type Engine struct {
	runtime wazero.Runtime
	cache   *Cache
	linked  map[string]map[string]Signature // module → name → what the host links
}

// New starts an engine over the compiled modules of cache, which it does not
// close; nil compiles everything anew.
func New(ctx context.Context, cache *Cache) *Engine {
	config := runtimeConfig()
	if cache != nil {
		config = config.WithCompilationCache(cache.engine())
	}
	return &Engine{
		runtime: wazero.NewRuntimeWithConfig(ctx, config), cache: cache,
		linked: map[string]map[string]Signature{},
	}
}

// Link offers functions to guests under the name of an import module.
func (e *Engine) Link(ctx context.Context, module string, functions []HostFunction) error {
	builder := e.runtime.NewHostModuleBuilder(module)
	export(builder, functions)
	return e.instantiate(ctx, module, builder)
}

// LinkWASI offers WASI preview 1, in which the given functions stand for the
// engine's own of the same names.
func (e *Engine) LinkWASI(ctx context.Context, instead []HostFunction) error {
	const module = wasi_snapshot_preview1.ModuleName
	builder := e.runtime.NewHostModuleBuilder(module)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(builder)
	export(builder, instead)
	return e.instantiate(ctx, module, builder)
}

func export(builder wazero.HostModuleBuilder, functions []HostFunction) {
	for _, f := range functions {
		builder.NewFunctionBuilder().WithGoFunction(api.GoFunc(f.Call), f.Params, f.Results).Export(f.Name)
	}
}

func (e *Engine) instantiate(ctx context.Context, module string, builder wazero.HostModuleBuilder) error {
	linked, err := builder.Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("link the host functions of %q: %w", module, err)
	}
	offers := map[string]Signature{}
	for name, f := range linked.ExportedFunctionDefinitions() {
		offers[name] = Signature{f.ParamTypes(), f.ResultTypes()}
	}
	e.linked[module] = offers
	return nil
}

// Linked tells the signature of a host function, false where there is none.
func (e *Engine) Linked(module, name string) (Signature, bool) {
	s, ok := e.linked[module][name]
	return s, ok
}

// Close ends the engine and everything compiled in it.
func (e *Engine) Close(ctx context.Context) error { return e.runtime.Close(ctx) }

// Compile makes a module ready to be instantiated: through the cache where there
// is one, whose errors it passes on.
func (e *Engine) Compile(ctx context.Context, binary []byte) (*Code, error) {
	code := &Code{engine: e}
	compile := func() (err error) {
		if code.compiled, err = e.runtime.CompileModule(ctx, binary); err != nil {
			return fmt.Errorf("compile: %w", err)
		}
		return nil
	}
	load := compile
	if e.cache != nil {
		load = func() error { return e.cache.load(ctx, binary, compile) }
	}
	if err := load(); err != nil {
		return nil, err
	}
	return code, nil
}

// Code is a compiled module. It is safe for concurrent use.
type Code struct {
	engine   *Engine
	compiled wazero.CompiledModule
}

// Import is a function that a module imports.
type Import struct {
	Module, Name string
	Signature    Signature
}

// Imports lists the functions that the module imports.
func (c *Code) Imports() []Import {
	var list []Import
	for _, f := range c.compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		list = append(list, Import{module, name, Signature{f.ParamTypes(), f.ResultTypes()}})
	}
	return list
}

// Export tells the signature of an exported function, false where there is none.
func (c *Code) Export(name string) (Signature, bool) {
	f, ok := c.compiled.ExportedFunctions()[name]
	if !ok {
		return Signature{}, false
	}
	return Signature{f.ParamTypes(), f.ResultTypes()}, true
}

// ExportsMemory reports whether the module exports its memory under a name.
func (c *Code) ExportsMemory(name string) bool {
	_, ok := c.compiled.ExportedMemories()[name]
	return ok
}

// Close lets the compiled module go. Instances must have been closed.
func (c *Code) Close(ctx context.Context) error {
	if err := c.compiled.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close a compiled module: %w", err)
	}
	return nil
}
