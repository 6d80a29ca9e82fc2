package sandbox_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/sandbox"
	"vcphost/sandbox/hostfunc"
	"vcphost/sandbox/wasmbuild"
)

// wild is a function of guest ABI 1 as the test of wild pointers sees it: what
// its arguments are ('n' a number such as a handle, 's' a pointer and a length),
// and its result (0 for none).
type wild struct {
	name, takes string
	result      wasmbuild.ValueType
}

func wildFunctions() []wild {
	const i32, i64 = wasmbuild.I32, wasmbuild.I64
	return []wild{
		{"resource_create", "s", i32},
		{"resource_write", "ns", i32},
		{"resource_close", "n", i32},
		{"resource_open", "s", i32},
		{"resource_size", "n", i64},
		{"resource_read", "ns", i32},
		{"progress", "s", i32},
		{"cancelled", "", i32},
		{"log", "ns", 0},
		{"random", "s", i32},
		{"now", "", i64},
		{"config_get", "ss", i32},
		{"kv_get", "ss", i32},
		{"kv_set", "ss", i32},
		{"kv_delete", "s", i32},
		{"http_request", "ss", i32},
		{"http_status", "n", i32},
		{"http_header", "nss", i32},
		{"http_read", "ns", i32},
		{"http_close", "n", i32},
		{"call_tool", "s", i32},
	}
}

const (
	wildPages = 2
	wildBytes = wildPages << 16

	draftAddress, inputAddress = 2048, 2064 // what the guest begins with: see guest
)

// span is a pointer with a length.
type span struct{ at, size uint32 }

func (s span) outside() bool { return uint64(s.at)+uint64(s.size) > wildBytes }

// spans has every combination of edges, wrapping sums among them.
func spans() []span {
	var list []span
	for _, at := range []uint32{0, 1, 65535, wildBytes - 1, wildBytes, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		for _, size := range []uint32{0, 1, 2, 65535, wildBytes, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			list = append(list, span{at, size})
		}
	}
	return list
}

// arguments lists the argument lists that a function is tried with: each span
// beside a sound one, and some wild ones together.
func (w wild) arguments() [][]any {
	sound := span{inputAddress, 8}
	switch w.takes {
	case "":
		return [][]any{nil}
	case "n":
		return numbers(nil)
	}
	count := strings.Count(w.takes, "s")
	var lists [][]any
	for _, s := range spans() {
		for at := range count {
			list := []any{sound, sound}[:count]
			list[at] = s
			lists = append(lists, list)
		}
	}
	if count == 2 {
		lists = append(lists,
			[]any{span{0, 1<<32 - 1}, span{1<<32 - 1, 1<<32 - 1}}, []any{span{0, wildBytes}, span{0, wildBytes}}, []any{span{0, 0}, span{wildBytes, 0}})
	}
	if w.takes[0] != 'n' {
		return lists
	}
	var all [][]any
	for _, list := range lists {
		all = append(all, numbers(list)...)
	}
	return all
}

// numbers puts each interesting number before the rest: 1 is the handle of an
// open output, 2 that of an open input.
func numbers(rest []any) [][]any {
	var lists [][]any
	for _, n := range []int32{-1 << 31, -1, 0, 1, 2, 3, 1<<31 - 1} {
		lists = append(lists, append([]any{n}, rest...))
	}
	return lists
}

// guest is a module that opens an output and an input, calls the function, and
// returns its result as eight bytes.
func (w wild) guest(arguments []any, input string) []byte {
	i32 := wasmbuild.I32
	two := wasmbuild.Signature{Params: []wasmbuild.ValueType{i32, i32}, Results: []wasmbuild.ValueType{i32}}
	signature := wasmbuild.Signature{}
	for _, kind := range w.takes {
		signature.Params = append(signature.Params, i32)
		if kind == 's' {
			signature.Params = append(signature.Params, i32)
		}
	}
	if w.result != 0 {
		signature.Results = []wasmbuild.ValueType{w.result}
	}
	const draft = `{"id":"out"}`
	return wasmbuild.Guest{
		Pages: wildPages,
		Imports: func(m *wasmbuild.Module) {
			m.ImportFunction("vcp", "resource_create", two)
			m.ImportFunction("vcp", "resource_open", two)
			m.ImportFunction("vcp", w.name, signature)
		},
		Extra: func(m *wasmbuild.Module) {
			m.Data(draftAddress, []byte(draft))
			m.Data(inputAddress, []byte(input))
		},
		Body: func(*wasmbuild.Module) [][]byte {
			code := [][]byte{
				wasmbuild.I32Const(draftAddress), wasmbuild.I32Const(int32(len(draft))), wasmbuild.Call(0), wasmbuild.Drop(),
				wasmbuild.I32Const(inputAddress), wasmbuild.I32Const(int32(len(input))), wasmbuild.Call(1), wasmbuild.Drop(),
				wasmbuild.I32Const(wasmbuild.PayloadAddress),
			}
			for _, argument := range arguments {
				switch value := argument.(type) {
				case int32:
					code = append(code, wasmbuild.I32Const(value))
				case span:
					code = append(code, wasmbuild.I32Const(int32(value.at)), wasmbuild.I32Const(int32(value.size)))
				}
			}
			code = append(code, wasmbuild.Call(2))
			switch w.result {
			case 0:
				code = append(code, wasmbuild.I64Const(0))
			case wasmbuild.I32:
				code = append(code, wasmbuild.I64ExtendI32S())
			}
			i64Store := []byte{0x37, 0x00, 0x00}
			return append(code, i64Store, wasmbuild.I64Const(wasmbuild.Packed(wasmbuild.PayloadAddress, 8)))
		},
	}.Bytes()
}

// wildBench is a sandbox whose plugin is granted everything.
type wildBench struct {
	sandbox *sandbox.Sandbox
	store   *resources.Store
	owner   abi.Owner
	input   string // id of an input resource
}

func newWildBench(t *testing.T) *wildBench {
	t.Helper()
	ctx, db := context.Background(), kv.NewMemory()
	store, err := resources.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	owner := abi.Owner{Tenant: "default", Actor: "tester"}
	input, err := store.Import(ctx, owner, abi.ResourceDraft{FileName: "in.txt"}, strings.NewReader(strings.Repeat("x", 100_000)), 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sandbox.New(ctx, &sandbox.Options{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return &wildBench{s, store, owner, input.ID}
}

// result runs a guest in a session of its own and gives what its function
// returned.
func (b *wildBench) result(t *testing.T, module []byte) int64 {
	t.Helper()
	ctx := context.Background()
	session := b.store.Begin(b.owner, "Wild", resources.Limits{})
	defer func() {
		if err := session.Discard(); err != nil {
			t.Error(err)
		}
	}()
	inputs, err := session.Allow(ctx, abi.Viewer{Owner: b.owner}, []string{b.input})
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.sandbox.Open(ctx, sandbox.Module{Name: "Wild", Binary: module, Config: map[string]string{"KEY": "value"}, KVBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	reply, err := p.Invoke(ctx, &abi.Invocation{Inputs: inputs, Resources: session, Reader: session, Progress: func(abi.Progress) {}})
	if err != nil {
		t.Fatalf("the call failed: %v", err)
	}
	return int64(binary.LittleEndian.Uint64(reply.Payload))
}

// TestWildPointers calls every host function with every combination of edges: a
// pointer outside memory is EFAULT, anything else an answer of the ABI, never a
// trap, and the host allocates nothing because of a length that a guest names.
func TestWildPointers(t *testing.T) {
	b := newWildBench(t)
	for _, w := range wildFunctions() {
		t.Run(w.name, func(t *testing.T) {
			for _, arguments := range w.arguments() {
				module := w.guest(arguments, b.input)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				got := b.result(t, module)
				runtime.ReadMemStats(&after)
				if problem := w.judge(arguments, got); problem != "" {
					t.Errorf("%s(%v) gave %d: %s", w.name, arguments, got, problem)
				}
				const most = 6 << 20 // a sandboxed call with its module and what it stores, and room
				if grown := after.TotalAlloc - before.TotalAlloc; grown > most {
					t.Errorf("%s(%v) made the host allocate %d bytes", w.name, arguments, grown)
				}
			}
		})
	}
}

// judge tells what is wrong with a result, "" for nothing.
func (w wild) judge(arguments []any, got int64) string {
	if w.result == 0 {
		return ""
	}
	for _, argument := range arguments {
		if s, ok := argument.(span); ok && s.outside() {
			if got != int64(hostfunc.EFAULT) {
				return fmt.Sprintf("want EFAULT (%d)", hostfunc.EFAULT)
			}
			return ""
		}
	}
	if got == int64(hostfunc.EFAULT) {
		return "EFAULT for a pointer inside memory"
	}
	if got < int64(hostfunc.ENOSYS) {
		return "no error number"
	}
	return ""
}
