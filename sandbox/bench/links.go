package main

import (
	"context"
	"log/slog"

	"vcphost/abi"
	"vcphost/sandbox/hostfunc"
)

// memory is the linear memory of a guest, of either engine.
type memory interface {
	Read(offset, size uint32) ([]byte, bool)
}

// hostFunction links one function of module "vcp" into a bare engine, as the
// sandbox does: over the same implementation, with pointers checked first. All
// parameters are i32; spans are those that begin a pair of pointer and length.
type hostFunction struct {
	name   string
	params int
	result string // "i32", "i64" or ""
	spans  []int
	call   func(c *hostfunc.Call, stack []uint64, span [][]byte) int64
}

// hostFunctions are those that guests made with the Go SDK import.
func hostFunctions() []hostFunction {
	handle := func(stack []uint64) int32 { return int32(uint32(stack[0])) }
	return []hostFunction{
		{"resource_create", 2, "i32", []int{0}, func(c *hostfunc.Call, _ []uint64, b [][]byte) int64 { return int64(c.ResourceCreate(b[0])) }},
		{"resource_write", 3, "i32", []int{1}, func(c *hostfunc.Call, s []uint64, b [][]byte) int64 { return int64(c.ResourceWrite(handle(s), b[0])) }},
		{"resource_close", 1, "i32", nil, func(c *hostfunc.Call, s []uint64, _ [][]byte) int64 { return int64(c.ResourceClose(handle(s))) }},
		{"resource_open", 2, "i32", []int{0}, func(c *hostfunc.Call, _ []uint64, b [][]byte) int64 { return int64(c.ResourceOpen(b[0])) }},
		{"resource_size", 1, "i64", nil, func(c *hostfunc.Call, s []uint64, _ [][]byte) int64 { return c.ResourceSize(handle(s)) }},
		{"resource_read", 3, "i32", []int{1}, func(c *hostfunc.Call, s []uint64, b [][]byte) int64 { return int64(c.ResourceRead(handle(s), b[0])) }},
		{"progress", 2, "i32", []int{0}, func(c *hostfunc.Call, _ []uint64, b [][]byte) int64 { return int64(c.Progress(b[0])) }},
		{"cancelled", 0, "i32", nil, func(c *hostfunc.Call, _ []uint64, _ [][]byte) int64 { return int64(c.Cancelled()) }},
		{"log", 3, "", []int{1}, func(c *hostfunc.Call, s []uint64, b [][]byte) int64 { c.Log(handle(s), b[0]); return 0 }},
		{"config_get", 4, "i32", []int{0, 2}, func(c *hostfunc.Call, _ []uint64, b [][]byte) int64 { return int64(c.ConfigGet(b[0], b[1])) }},
		{"kv_get", 4, "i32", []int{0, 2}, func(c *hostfunc.Call, _ []uint64, b [][]byte) int64 { return int64(c.KVGet(b[0], b[1])) }},
		{"kv_set", 4, "i32", []int{0, 2}, func(c *hostfunc.Call, _ []uint64, b [][]byte) int64 { return int64(c.KVSet(b[0], b[1])) }},
		{"kv_delete", 2, "i32", []int{0}, func(c *hostfunc.Call, _ []uint64, b [][]byte) int64 { return int64(c.KVDelete(b[0])) }},
	}
}

// run serves a call of the guest over its memory and stack.
func (f hostFunction) run(ctx context.Context, m memory, stack []uint64) {
	var spans [2][]byte
	result := int64(hostfunc.EFAULT)
	for i, arg := range f.spans {
		span, ok := m.Read(uint32(stack[arg]), uint32(stack[arg+1]))
		if !ok {
			f.answer(stack, result)
			return
		}
		spans[i] = span
	}
	call, _ := ctx.Value(callKey{}).(*hostfunc.Call)
	f.answer(stack, f.call(call, stack, spans[:len(f.spans)]))
}

func (f hostFunction) answer(stack []uint64, result int64) {
	switch f.result {
	case "i32":
		stack[0] = uint64(uint32(result))
	case "i64":
		stack[0] = uint64(result)
	}
}

// callKey is the context key of a call's host functions.
type callKey struct{}

// withHost gives a context that host functions find their call in, and what ends
// that call.
func withHost(ctx context.Context, inv *abi.Invocation) (context.Context, func()) {
	call := hostfunc.NewCall(ctx, inv, hostfunc.Grants{}, hostfunc.Limits{}, slog.New(slog.DiscardHandler))
	return context.WithValue(ctx, callKey{}, call), call.Close
}
