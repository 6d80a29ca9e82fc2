package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/hostfunc"
	"vcphost/sandbox/wasmbuild"
)

func newSandbox(t *testing.T) *Sandbox {
	t.Helper()
	s, err := New(context.Background(), &Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func open(t *testing.T, s *Sandbox, guest wasmbuild.Guest, limits Limits) *Plugin {
	t.Helper()
	p, err := s.Open(context.Background(), Module{Name: "Test", Binary: guest.Bytes(), Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestInvokeReturnsThePayload(t *testing.T) {
	p := open(t, newSandbox(t), wasmbuild.Guest{}, Limits{})
	reply, err := p.Invoke(context.Background(), &abi.Invocation{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(reply.Payload), `{"status":"success","data":null}`; got != want {
		t.Errorf("got payload %s, want %s", got, want)
	}
}

func TestOpenRefusesByName(t *testing.T) {
	sig := func(params, results int) wasmbuild.Signature {
		types := []wasmbuild.ValueType{wasmbuild.I32, wasmbuild.I32, wasmbuild.I32, wasmbuild.I32}
		return wasmbuild.Signature{Params: types[:params], Results: types[:results]}
	}
	good := wasmbuild.Guest{}.Bytes()
	imports := func(module, name string, s wasmbuild.Signature) []byte {
		return wasmbuild.Guest{Imports: func(m *wasmbuild.Module) { m.ImportFunction(module, name, s) }}.Bytes()
	}
	for _, test := range []struct {
		name   string
		binary []byte
		says   string
	}{
		{"empty", nil, "not a WebAssembly binary"},
		{"text", []byte("hello, this is no module"), "not a WebAssembly binary"},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00"), "component"},
		{"a version from the future", []byte("\x00asm\x02\x00\x00\x00"), "version 2"},
		{"cut in the header", good[:6], "not a WebAssembly binary"},
		{"cut in the code", good[:len(good)-40], "malformed"},
		{"a claim of four billion parameters", []byte("\x00asm\x01\x00\x00\x00\x01\x07\x01\x60\xff\xff\xff\xff\x0f"), "params is 4294967295, and 1000 is allowed"},
		{"an unknown module", imports("env", "abort", sig(4, 0)), `"abort" of "env"`},
		{"an unknown vcp function", imports("vcp", "resource_destroy", sig(1, 1)), `"resource_destroy" of "vcp"`},
		{"an unknown WASI function", imports("wasi_snapshot_preview1", "sock_bind", sig(1, 1)), `"sock_bind"`},
		{"a vcp function with another type", imports("vcp", "cancelled", sig(1, 1)), `imports "cancelled"`},
		{"an imported memory", wasmbuild.Guest{Imports: func(m *wasmbuild.Module) {
			m.Import("env", "memory", 2, []byte{0, 1})
		}}.Bytes(), `the memory "memory" of "env"`},
		{"an imported global under the name of a function", wasmbuild.Guest{Imports: func(m *wasmbuild.Module) {
			m.Import("vcp", "now", 3, []byte{byte(wasmbuild.I32), 0})
		}}.Bytes(), `the global "now" of "vcp"`},
		{"no memory export", wasmbuild.Guest{Without: "memory"}.Bytes(), "memory"},
		{"no mark", wasmbuild.Guest{Without: "vcp_abi_1"}.Bytes(), "vcp_abi_1"},
		{"no alloc", wasmbuild.Guest{Without: "vcp_alloc"}.Bytes(), "vcp_alloc"},
		{"no call", wasmbuild.Guest{Without: "vcp_call"}.Bytes(), "vcp_call"},
		{"alloc of another type", wasmbuild.Guest{Wrong: "vcp_alloc"}.Bytes(), "vcp_alloc"},
		{"call of another type", wasmbuild.Guest{Wrong: "vcp_call"}.Bytes(), "vcp_call"},
		{"more memory than allowed", wasmbuild.Guest{Pages: 1025}.Bytes(), "sandbox.memoryMiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := newSandbox(t).Open(context.Background(), Module{Name: "Bad", Binary: test.binary})
			var refusal *abi.Error
			if !errors.As(err, &refusal) || refusal.Code != abi.CodeToolDisabled {
				t.Fatalf("got %v, want TOOL_DISABLED", err)
			}
			if !strings.Contains(refusal.Message, test.says) || strings.Contains(refusal.Message, "\n") {
				t.Errorf("the refusal %q does not say %q in one line", refusal.Message, test.says)
			}
		})
	}
}

func TestGuestFailuresHaveStableCodes(t *testing.T) {
	exit := func(m *wasmbuild.Module) {
		m.ImportFunction("wasi_snapshot_preview1", "proc_exit", wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}})
	}
	exits := func(code int32) func(*wasmbuild.Module) [][]byte {
		return func(*wasmbuild.Module) [][]byte {
			return [][]byte{wasmbuild.I32Const(code), wasmbuild.Call(0), wasmbuild.Unreachable()}
		}
	}
	returns := func(packed int64) func(*wasmbuild.Module) [][]byte {
		return func(*wasmbuild.Module) [][]byte { return [][]byte{wasmbuild.I64Const(packed)} }
	}
	for _, test := range []struct {
		name  string
		guest wasmbuild.Guest
		code  string
	}{
		{"a trap", wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte { return [][]byte{wasmbuild.Unreachable()} }}, abi.CodeSandboxTrap},
		{"a recursion without end", wasmbuild.Guest{Body: recursion}, abi.CodeSandboxStackOverflow},
		{"an exit", wasmbuild.Guest{Imports: exit, Body: exits(3)}, abi.CodeSandboxExit},
		{"an exit with success", wasmbuild.Guest{Imports: exit, Body: exits(0)}, abi.CodeSandboxExit},
		{"an exit with the number that the engine uses for a deadline", wasmbuild.Guest{Imports: exit, Body: exits(-0x10000001)}, abi.CodeSandboxExit},
		{"an exit with the number that the engine uses for a cancellation", wasmbuild.Guest{Imports: exit, Body: exits(-1)}, abi.CodeSandboxExit},
		{"no payload", wasmbuild.Guest{Body: returns(0)}, abi.CodeInvalidToolResult},
		{"an empty payload", wasmbuild.Guest{Body: returns(wasmbuild.Packed(1024, 0))}, abi.CodeInvalidToolResult},
		{"a pointer outside memory", wasmbuild.Guest{Body: returns(wasmbuild.Packed(0xfffffff0, 100))}, abi.CodeInvalidToolResult},
		{"a payload that leaves memory", wasmbuild.Guest{Body: returns(wasmbuild.Packed(131070, 100))}, abi.CodeInvalidToolResult},
		{"all ones", wasmbuild.Guest{Body: returns(-1)}, abi.CodeInvalidToolResult},
		{"an oversize payload", wasmbuild.Guest{Body: returns(wasmbuild.Packed(0, 9<<20))}, abi.CodeInvalidToolResult},
		{"no room for the input", wasmbuild.Guest{AllocResult: -1}, abi.CodeSandboxMemoryLimit},
		{"room outside memory", wasmbuild.Guest{AllocResult: -16}, abi.CodeInvalidToolResult},
		{"a trap after memory was refused", wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte {
			return [][]byte{wasmbuild.I32Const(5000), wasmbuild.MemoryGrow(), wasmbuild.Drop(), wasmbuild.Unreachable()}
		}}, abi.CodeSandboxMemoryLimit},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := open(t, newSandbox(t), test.guest, Limits{})
			for range 2 { // a failure leaves the plugin usable
				_, err := p.Invoke(context.Background(), &abi.Invocation{})
				if got := abi.CodeOf(err); got != test.code {
					t.Fatalf("got %v, want %s", err, test.code)
				}
				if strings.Contains(err.Error(), "goroutine") || strings.Contains(err.Error(), ".go:") {
					t.Errorf("the error shows the host's stack: %v", err)
				}
			}
		})
	}
}

func recursion(m *wasmbuild.Module) [][]byte {
	s := wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}, Results: []wasmbuild.ValueType{wasmbuild.I32}}
	self := m.Function(s, nil, wasmbuild.LocalGet(0), wasmbuild.Call(0), wasmbuild.I32Const(1), wasmbuild.I32Add())
	return [][]byte{wasmbuild.I32Const(0), wasmbuild.Call(self), wasmbuild.I64ExtendI32S()}
}

func TestTheStackOfATrapNamesTheGuestsFunctions(t *testing.T) {
	p := open(t, newSandbox(t), wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte { return [][]byte{wasmbuild.Unreachable()} }}, Limits{})
	_, err := p.Invoke(context.Background(), &abi.Invocation{})
	var failure *abi.Error
	if !errors.As(err, &failure) {
		t.Fatal(err)
	}
	var details struct {
		Trap  string
		Stack []string
	}
	if err := json.Unmarshal(failure.Details, &details); err != nil {
		t.Fatal(err)
	}
	if details.Trap != "unreachable" || len(details.Stack) != 1 || details.Stack[0] != "vcp_call" && details.Stack[0] != "$2" {
		t.Errorf("got details %s", failure.Details)
	}
}

func TestAnEndlessLoopEndsWithItsContext(t *testing.T) {
	p := open(t, newSandbox(t), wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte {
		return [][]byte{wasmbuild.Loop(), wasmbuild.I64Const(0)}
	}}, Limits{})
	for _, test := range []struct {
		name string
		ctx  func() (context.Context, context.CancelFunc)
		code string
	}{
		{"deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), 50*time.Millisecond)
		}, abi.CodeToolTimeout},
		{"cancellation", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(50*time.Millisecond, cancel)
			return ctx, cancel
		}, abi.CodeToolCancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := test.ctx()
			defer cancel()
			began := time.Now()
			_, err := p.Invoke(ctx, &abi.Invocation{})
			if got := abi.CodeOf(err); got != test.code {
				t.Fatalf("got %v, want %s", err, test.code)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the call took %v", took)
			}
		})
	}
}

// A guest that asks sees that it is cancelled and can still act on it; one that
// does not ask goes on no longer than the grace.
func TestAGuestSeesThatItIsCancelled(t *testing.T) {
	seen := make(chan string, 1)
	box := newSandbox(t)
	box.logger = slog.New(firstLine{slog.DiscardHandler, seen})
	i32 := wasmbuild.I32
	p := open(t, box, wasmbuild.Guest{
		Imports: func(m *wasmbuild.Module) {
			m.ImportFunction("vcp", "cancelled", wasmbuild.Signature{Results: []wasmbuild.ValueType{i32}})
			m.ImportFunction("vcp", "log", wasmbuild.Signature{Params: []wasmbuild.ValueType{i32, i32, i32}})
		},
		Body: func(m *wasmbuild.Module) [][]byte {
			m.Data(8192, []byte("seen"))
			return [][]byte{wasmbuild.Loop(
				wasmbuild.Call(0),
				wasmbuild.If(wasmbuild.I32Const(1), wasmbuild.I32Const(8192), wasmbuild.I32Const(4), wasmbuild.Call(1), wasmbuild.Loop()),
			), wasmbuild.I64Const(0)}
		},
	}, Limits{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	if _, err := p.Invoke(ctx, &abi.Invocation{}); abi.CodeOf(err) != abi.CodeToolCancelled {
		t.Errorf("got %v, want %s", err, abi.CodeToolCancelled)
	}
	select {
	case line := <-seen:
		if line != "seen" {
			t.Errorf("the guest logs %q", line)
		}
	default:
		t.Error("the guest did not see it")
	}
}

// firstLine hands on the first line of a log.
type firstLine struct {
	slog.Handler
	line chan<- string
}

func (firstLine) Enabled(context.Context, slog.Level) bool { return true }

func (f firstLine) Handle(_ context.Context, record slog.Record) error {
	select {
	case f.line <- record.Message:
	default:
	}
	return nil
}

func (f firstLine) WithAttrs([]slog.Attr) slog.Handler { return f }

func TestASleepEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	call := hostfunc.NewCall(ctx, &abi.Invocation{}, hostfunc.Grants{}, hostfunc.Limits{}, slog.New(slog.DiscardHandler))
	defer call.Close()
	began := time.Now()
	call.Sleep(int64(time.Hour))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a sleep of an hour outlived its context by %v", took)
	}
}

func TestAnInvocationOverTheLimitIsRefused(t *testing.T) {
	p := open(t, newSandbox(t), wasmbuild.Guest{}, Limits{MaxInputBytes: 200})
	_, err := p.Invoke(context.Background(), &abi.Invocation{Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", 200) + `"}`)})
	if got := abi.CodeOf(err); got != abi.CodeInvalidArgument {
		t.Errorf("got %v, want %s", err, abi.CodeInvalidArgument)
	}
}

// A counter in the guest's memory and one in a global: both must read 1 in each
// of many calls that run side by side.
func TestNothingSurvivesACall(t *testing.T) {
	var global uint32
	guest := wasmbuild.Guest{
		Payload: []byte(`{"status":"success","data":0}`),
		Body: func(m *wasmbuild.Module) [][]byte {
			global = m.Global(0)
			const digit = wasmbuild.PayloadAddress + 27
			return [][]byte{
				wasmbuild.GlobalGet(global), wasmbuild.I32Const(1), wasmbuild.I32Add(), wasmbuild.GlobalSet(global),
				wasmbuild.I32Const(digit), wasmbuild.I32Const(digit), wasmbuild.I32Load8U(), wasmbuild.GlobalGet(global), wasmbuild.I32Add(), wasmbuild.I32Store8(),
				wasmbuild.I64Const(wasmbuild.Packed(wasmbuild.PayloadAddress, 29)),
			}
		},
	}
	p := open(t, newSandbox(t), guest, Limits{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				reply, err := p.Invoke(context.Background(), &abi.Invocation{})
				if err != nil {
					t.Error(err)
					return
				}
				if got, want := string(reply.Payload), `{"status":"success","data":1}`; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	wg.Wait()
}
