package sandbox

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"vcphost/sandbox/hostfunc"
)

// vcpModule is the import module of guest ABI 1.
const vcpModule = "vcp"

// callKey is the context key under which a guest's host functions find the
// state of their call: wazero hands a host function nothing else that is the
// call's own.
type callKey struct{}

func withCall(ctx context.Context, call *hostfunc.Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// guestCall is one call of a host function: its state, the guest's memory, and
// the stack that holds arguments and takes the result.
type guestCall struct {
	*hostfunc.Call
	memory api.Memory
	stack  []uint64
}

func (g guestCall) i32(arg int) int32 { return api.DecodeI32(g.stack[arg]) }

// bytes gives the guest's bytes that two arguments (pointer, length) name, as a
// view that is valid during the host function only.
func (g guestCall) bytes(arg int) ([]byte, bool) {
	return g.memory.Read(uint32(g.stack[arg]), uint32(g.stack[arg+1]))
}

func (g guestCall) returnI32(value int32) { g.stack[0] = api.EncodeI32(value) }
func (g guestCall) returnI64(value int64) { g.stack[0] = api.EncodeI64(value) }

// hostFunction is one entry of guest ABI 1. A pointer that leaves the guest's
// memory is answered with EFAULT before call is reached: spans name the
// arguments that begin a (pointer, length) pair.
type hostFunction struct {
	name    string
	params  int // all i32
	results []api.ValueType
	spans   []int
	call    func(g guestCall, span [][]byte)
}

// vcpFunctions is guest ABI 1: every name that it has, in the order of its
// documentation. Names that are part of the ABI and not served answer ENOSYS.
func vcpFunctions() []hostFunction {
	i32, i64 := []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}
	return []hostFunction{
		{"resource_create", 2, i32, []int{0}, func(g guestCall, b [][]byte) { g.returnI32(g.ResourceCreate(b[0])) }},
		{"resource_write", 3, i32, []int{1}, func(g guestCall, b [][]byte) { g.returnI32(g.ResourceWrite(g.i32(0), b[0])) }},
		{"resource_close", 1, i32, nil, func(g guestCall, _ [][]byte) { g.returnI32(int32(g.ResourceClose(g.i32(0)))) }},
		{"resource_open", 2, i32, []int{0}, func(g guestCall, b [][]byte) { g.returnI32(g.ResourceOpen(b[0])) }},
		{"resource_size", 1, i64, nil, func(g guestCall, _ [][]byte) { g.returnI64(g.ResourceSize(g.i32(0))) }},
		{"resource_read", 3, i32, []int{1}, func(g guestCall, b [][]byte) { g.returnI32(g.ResourceRead(g.i32(0), b[0])) }},
		{"progress", 2, i32, []int{0}, func(g guestCall, b [][]byte) { g.returnI32(int32(g.Progress(b[0]))) }},
		{"cancelled", 0, i32, nil, func(g guestCall, _ [][]byte) { g.returnI32(g.Cancelled()) }},
		{"log", 3, nil, []int{1}, func(g guestCall, b [][]byte) { g.Log(g.i32(0), b[0]) }},
		{"random", 2, i32, []int{0}, func(g guestCall, b [][]byte) { g.returnI32(int32(g.Random(b[0]))) }},
		{"now", 0, i64, nil, func(g guestCall, _ [][]byte) { g.returnI64(g.Now()) }},
		{"config_get", 4, i32, []int{0, 2}, func(g guestCall, b [][]byte) { g.returnI32(g.ConfigGet(b[0], b[1])) }},
		{"kv_get", 4, i32, []int{0, 2}, func(g guestCall, b [][]byte) { g.returnI32(g.KVGet(b[0], b[1])) }},
		{"kv_set", 4, i32, []int{0, 2}, func(g guestCall, b [][]byte) { g.returnI32(int32(g.KVSet(b[0], b[1]))) }},
		{"kv_delete", 2, i32, []int{0}, func(g guestCall, b [][]byte) { g.returnI32(int32(g.KVDelete(b[0]))) }},
		{"http_request", 4, i32, []int{0, 2}, notServed},
		{"http_status", 1, i32, nil, notServed},
		{"http_header", 5, i32, []int{1, 3}, notServed},
		{"http_read", 3, i32, []int{1}, notServed},
		{"http_close", 1, i32, nil, notServed},
		{"call_tool", 2, i32, []int{0}, notServed},
	}
}

func notServed(g guestCall, _ [][]byte) { g.returnI32(int32(hostfunc.ENOSYS)) }

func linkVCP(ctx context.Context, runtime wazero.Runtime) error {
	builder := runtime.NewHostModuleBuilder(vcpModule)
	for _, f := range vcpFunctions() {
		params := make([]api.ValueType, f.params)
		for i := range params {
			params[i] = api.ValueTypeI32
		}
		builder.NewFunctionBuilder().WithGoModuleFunction(f.run(), params, f.results).Export(f.name)
	}
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("link the host functions: %w", err)
	}
	return nil
}

// run wraps a host function in what all of them owe: pointers checked before
// anything is done, and no panic of the host's that would end as the guest's
// trap.
func (f hostFunction) run() api.GoModuleFunc {
	return func(ctx context.Context, module api.Module, stack []uint64) {
		call, _ := ctx.Value(callKey{}).(*hostfunc.Call)
		g := guestCall{call, module.Memory(), stack}
		defer func() {
			if cause := recover(); cause != nil {
				call.Panicked(f.name, cause)
				f.fail(g, hostfunc.EIO)
			}
		}()
		var spans [2][]byte
		for i, arg := range f.spans {
			span, ok := g.bytes(arg)
			if !ok {
				f.fail(g, hostfunc.EFAULT)
				return
			}
			spans[i] = span
		}
		f.call(g, spans[:len(f.spans)])
	}
}

func (f hostFunction) fail(g guestCall, errno hostfunc.Errno) {
	if len(f.results) > 0 {
		g.stack[0] = uint64(int64(errno))
		if f.results[0] == api.ValueTypeI32 {
			g.returnI32(int32(errno))
		}
	}
}
