package engine_test

import (
	"context"
	"runtime"
	"testing"

	"vcphost/sandbox/engine"
	"vcphost/sandbox/wasmbuild"
)

// recursive is a module whose function "down" calls itself as often as it is told.
func recursive() []byte {
	m := &wasmbuild.Module{}
	m.Memory(1, 1)
	s := wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}, Results: []wasmbuild.ValueType{wasmbuild.I32}}
	down := m.Function(s, nil, wasmbuild.Unreachable())
	m.SetBody(down, wasmbuild.LocalGet(0),
		wasmbuild.If(wasmbuild.LocalGet(0), wasmbuild.I32Const(-1), wasmbuild.I32Add(), wasmbuild.Call(down), wasmbuild.Return()), wasmbuild.I32Const(7))
	m.ExportFunction("down", down)
	return m.Bytes()
}

// TestTheStackOfAFunctionIsSeen fails where the engine no longer has the field
// that StackBytes reads: instances whose stack has grown would then be kept, and
// the bound of a guest's stack would be the engine's 400 MB.
func TestTheStackOfAFunctionIsSeen(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the engine interprets here")
	}
	ctx := context.Background()
	e := engine.New(ctx, nil)
	code, err := e.Compile(ctx, recursive())
	if err != nil {
		t.Fatal(err)
	}
	instance, err := code.Instantiate(ctx, make([]byte, 1<<16), func() int64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	function := instance.Function("down")
	begins := function.StackBytes()
	if begins <= 0 || begins > 1<<20 {
		t.Fatalf("a new function has a stack of %d bytes", begins)
	}
	last := begins
	for _, depth := range []uint64{10, 10_000, 200_000} {
		stack := []uint64{depth}
		if err := function.Call(engine.NewGuestContext(nil), stack); err != nil || stack[0] != 7 {
			t.Fatalf("depth %d: got %d, %v", depth, stack[0], err)
		}
		now := function.StackBytes()
		if now < last || depth >= 10_000 && now < int(16*depth) {
			t.Errorf("depth %d: the stack has %d bytes, and had %d", depth, now, last)
		}
		last = now
	}
	if instance.Function("down").StackBytes() != begins {
		t.Error("another look-up shares the stack")
	}
	for _, err := range []error{instance.Close(ctx), code.Close(ctx), e.Close(ctx)} {
		if err != nil {
			t.Error(err)
		}
	}
}
