package sandbox

import (
	"context"

	"vcphost/sandbox/engine"
	"vcphost/sandbox/hostfunc"
)

// vcpModule is the import module of guest ABI 1.
const vcpModule = "vcp"

// guestCall is one call of a host function: the state of the guest's call, and
// the stack that holds arguments and takes the result.
type guestCall struct {
	*hostfunc.Call
	stack []uint64
}

func (g guestCall) i32(arg int) int32 { return int32(uint32(g.stack[arg])) }

func (g guestCall) returnI32(value int32) { g.stack[0] = uint64(uint32(value)) }
func (g guestCall) returnI64(value int64) { g.stack[0] = uint64(value) }

// hostFunction is one entry of guest ABI 1. A pointer that leaves the guest's
// memory is answered with EFAULT before call is reached: spans name the
// arguments that begin a (pointer, length) pair.
type hostFunction struct {
	name    string
	params  int // all i32
	results []engine.ValueType
	spans   []int
	// waits says that the function may have to wait for a disk or a peer: it
	// then runs beside the guest (waiting.go).
	waits waits
	call  func(g guestCall, span [][]byte)
}

// waits says how a function that may wait uses the guest's memory.
type waits struct {
	may    bool
	out    int  // the span that it writes to, 0 for none: its index, from 1
	pieces bool // it may be called for parts of its span, one after the other
}

// vcpFunctions is guest ABI 1: every name that it has, in the order of its
// documentation. Names that are part of the ABI and not served answer ENOSYS.
func vcpFunctions() []hostFunction {
	i32, i64 := []engine.ValueType{engine.I32}, []engine.ValueType{engine.I64}
	no, reads, appends := waits{}, waits{may: true}, waits{may: true, pieces: true}
	writes, writesSecond := waits{may: true, out: 1}, waits{may: true, out: 2}
	return []hostFunction{
		{"resource_create", 2, i32, []int{0}, reads, func(g guestCall, b [][]byte) { g.returnI32(g.ResourceCreate(b[0])) }},
		{"resource_write", 3, i32, []int{1}, appends, func(g guestCall, b [][]byte) { g.returnI32(g.ResourceWrite(g.i32(0), b[0])) }},
		{"resource_close", 1, i32, nil, reads, func(g guestCall, _ [][]byte) { g.returnI32(int32(g.ResourceClose(g.i32(0)))) }},
		{"resource_open", 2, i32, []int{0}, reads, func(g guestCall, b [][]byte) { g.returnI32(g.ResourceOpen(b[0])) }},
		{"resource_size", 1, i64, nil, no, func(g guestCall, _ [][]byte) { g.returnI64(g.ResourceSize(g.i32(0))) }},
		{"resource_read", 3, i32, []int{1}, writes, func(g guestCall, b [][]byte) { g.returnI32(g.ResourceRead(g.i32(0), b[0])) }},
		{"progress", 2, i32, []int{0}, no, func(g guestCall, b [][]byte) { g.returnI32(int32(g.Progress(b[0]))) }},
		{"cancelled", 0, i32, nil, no, func(g guestCall, _ [][]byte) { g.returnI32(g.Cancelled()) }},
		{"log", 3, nil, []int{1}, no, func(g guestCall, b [][]byte) { g.Log(g.i32(0), b[0]) }},
		{"random", 2, i32, []int{0}, no, func(g guestCall, b [][]byte) { g.returnI32(int32(g.Random(b[0]))) }},
		{"now", 0, i64, nil, no, func(g guestCall, _ [][]byte) { g.returnI64(g.Now()) }},
		{"config_get", 4, i32, []int{0, 2}, no, func(g guestCall, b [][]byte) { g.returnI32(g.ConfigGet(b[0], b[1])) }},
		{"kv_get", 4, i32, []int{0, 2}, writesSecond, func(g guestCall, b [][]byte) { g.returnI32(g.KVGet(b[0], b[1])) }},
		{"kv_set", 4, i32, []int{0, 2}, reads, func(g guestCall, b [][]byte) { g.returnI32(int32(g.KVSet(b[0], b[1]))) }},
		{"kv_delete", 2, i32, []int{0}, reads, func(g guestCall, b [][]byte) { g.returnI32(int32(g.KVDelete(b[0]))) }},
		{"http_request", 4, i32, []int{0, 2}, no, notServed},
		{"http_status", 1, i32, nil, no, notServed},
		{"http_header", 5, i32, []int{1, 3}, no, notServed},
		{"http_read", 3, i32, []int{1}, no, notServed},
		{"http_close", 1, i32, nil, no, notServed},
		{"call_tool", 2, i32, []int{0}, no, notServed},
	}
}

func notServed(g guestCall, _ [][]byte) { g.returnI32(int32(hostfunc.ENOSYS)) }

// linkedFunctions are the functions of guest ABI 1 as the engine links them.
func linkedFunctions() []engine.HostFunction {
	var list []engine.HostFunction
	for _, f := range vcpFunctions() {
		params := make([]engine.ValueType, f.params)
		for i := range params {
			params[i] = engine.I32
		}
		list = append(list, engine.HostFunction{Name: f.name, Params: params, Results: f.results, Call: f.linked})
	}
	return list
}

// linked runs the function for the guest that called it.
func (f hostFunction) linked(ctx context.Context, stack []uint64) {
	g := engine.State(ctx).(*guest)
	g.endOver()
	call := guestCall{g.run.call, stack}
	var spans [2][]byte
	for i, arg := range f.spans {
		span, ok := g.view(uint32(stack[arg]), uint32(stack[arg+1]))
		if !ok {
			f.fail(call, hostfunc.EFAULT)
			return
		}
		spans[i] = span
	}
	if f.waits.may && g.run.ctx.Done() != nil {
		g.waitInPieces(f, call, spans[:len(f.spans)])
		return
	}
	f.safely(call, spans[:len(f.spans)])
}

// safely calls the function so that no panic of the host's ends as the guest's
// trap.
func (f hostFunction) safely(call guestCall, spans [][]byte) {
	defer func() {
		if cause := recover(); cause != nil {
			call.Panicked(f.name, cause)
			f.fail(call, hostfunc.EIO)
		}
	}()
	f.call(call, spans)
}

func (f hostFunction) fail(g guestCall, errno hostfunc.Errno) {
	if len(f.results) > 0 {
		g.stack[0] = uint64(int64(errno))
		if f.results[0] == engine.I32 {
			g.returnI32(int32(errno))
		}
	}
}
