package engine

import (
	"context"
	"fmt"
	"reflect"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Instance is a module over its memory. One goroutine uses it at a time.
type Instance struct {
	module api.Module
}

// Instantiate makes an instance whose linear memory is the given one, as long as
// the module declares, and which stays in use until the instance is closed. The
// memory keeps its content: the module must have no active data segments of its
// own. No function of the guest runs. Through WASI it has two clocks, nanotime
// being the monotonic one, in nanoseconds, and nothing else that the host does
// not link: no files, no environment, no arguments.
func (c *Code) Instantiate(ctx context.Context, memory []byte, nanotime func() int64) (*Instance, error) {
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithSysWalltime().WithNanotime(nanotime, 1)
	ctx = experimental.WithMemoryAllocator(ctx, given{memory})
	module, err := c.engine.runtime.InstantiateModule(ctx, c.compiled, config)
	if err != nil {
		return nil, fmt.Errorf("instantiate: %w", err)
	}
	return &Instance{module}, nil
}

// given is memory that the host made. It never grows: a module whose memory may
// grow counts its size itself, below a capacity that it has from the beginning.
type given struct{ memory []byte }

func (g given) Allocate(_, _ uint64) experimental.LinearMemory { return g }

func (g given) Reallocate(size uint64) []byte {
	if size > uint64(len(g.memory)) {
		return nil
	}
	return g.memory[:size:size]
}

func (g given) Free() {}

// Close ends the instance. The memory is the caller's again.
func (i *Instance) Close(ctx context.Context) error {
	if err := i.module.Close(ctx); err != nil {
		return fmt.Errorf("close an instance: %w", err)
	}
	return nil
}

// Function looks up an exported function; nil where there is none. Each look-up
// has a stack of its own, so keep what is called often.
func (i *Instance) Function(name string) *Function {
	f := i.module.ExportedFunction(name)
	if f == nil {
		return nil
	}
	return &Function{function: f, stack: stackOf(f)}
}

// Function is an exported function of an instance.
type Function struct {
	function api.Function
	stack    *[]byte // the engine's own; nil where it has none
}

// Call runs the function. Arguments lie on the stack from its beginning, and
// results take their place. A panic of a host function that is an error comes
// back wrapped, and so does every trap, with the guest's stack in its text.
func (f *Function) Call(ctx context.Context, stack []uint64) error {
	return f.function.CallWithStack(ctx, stack)
}

// StackBytes is the size of the stack that the function has now. The engine
// lets it grow while the function runs, and keeps what it has grown to for the
// next call. 0 where the engine does not have such a thing.
func (f *Function) StackBytes() int {
	if f.stack == nil {
		return 0
	}
	return len(*f.stack)
}

// stackOf finds the stack of a function. The engine does not tell, so this looks
// at a field that is its own, by name and type; a test fails when the field is no
// more.
func stackOf(f api.Function) *[]byte {
	value := reflect.ValueOf(f)
	if value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
		return nil
	}
	stack := value.Elem().FieldByName("stack")
	if !stack.IsValid() || stack.Type() != reflect.TypeFor[[]byte]() {
		return nil
	}
	return (*[]byte)(stack.Addr().UnsafePointer())
}

// Global looks up an exported global that can be set.
func (i *Instance) Global(name string) (Global, bool) {
	global, ok := i.module.ExportedGlobal(name).(api.MutableGlobal)
	return Global{global}, ok
}

// Global is a mutable global of an instance: its bits, 32-bit types in the lower
// half.
type Global struct{ global api.MutableGlobal }

// Get reads the global.
func (g Global) Get() uint64 { return g.global.Get() }

// Set writes the global.
func (g Global) Set(bits uint64) { g.global.Set(bits) }

// Constant reads an exported global that cannot be set.
func (i *Instance) Constant(name string) (bits uint64, ok bool) {
	global := i.module.ExportedGlobal(name)
	if global == nil {
		return 0, false
	}
	return global.Get(), true
}
