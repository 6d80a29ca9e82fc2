package sandbox

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

const (
	shortDeadline = 100 * time.Millisecond
	// farBeyond is more than ten times what an answer may take beyond its deadline:
	// tests share their machine.
	farBeyond = 3 * time.Second
)

// busy lists guests that do not end, each with the imports that it needs.
func busy() map[string]wasmbuild.Guest {
	i32 := wasmbuild.I32
	c := wasmbuild.I32Const
	imported := func(module, name string, params int, results ...wasmbuild.ValueType) func(*wasmbuild.Module) {
		return func(m *wasmbuild.Module) {
			m.ImportFunction(module, name, wasmbuild.Signature{Params: slices.Repeat([]wasmbuild.ValueType{i32}, params), Results: results})
		}
	}
	// Loops that spend all of their time in the host, and next to no fuel.
	hosts := func(imports func(*wasmbuild.Module), drop bool, arguments ...int32) wasmbuild.Guest {
		return wasmbuild.Guest{Pages: 900, Imports: imports, Body: func(m *wasmbuild.Module) [][]byte {
			var code []byte
			for _, a := range arguments {
				code = append(code, c(a)...)
			}
			code = append(code, wasmbuild.Call(0)...)
			if drop {
				code = append(code, wasmbuild.Drop()...)
			}
			return [][]byte{wasmbuild.Loop(code), wasmbuild.I64Const(0)}
		}}
	}
	wasi, all := "wasi_snapshot_preview1", int32(900*pageBytes)
	vectors := hosts(imported(wasi, "fd_write", 4, i32), true, 1, 65536, 1024, 0)
	vectors.Extra = func(m *wasmbuild.Module) {
		m.Data(65536, bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0x80, 3}, 1024)) // each is 56 MiB from 0 on
	}
	return map[string]wasmbuild.Guest{
		"a loop": {Body: func(*wasmbuild.Module) [][]byte { return [][]byte{wasmbuild.Loop(), wasmbuild.I64Const(0)} }},
		"a tree of 2^40 calls": {Body: func(m *wasmbuild.Module) [][]byte {
			tree := m.Function(wasmbuild.Signature{Params: []wasmbuild.ValueType{i32}}, nil, wasmbuild.Unreachable())
			down := join(wasmbuild.LocalGet(0), c(-1), wasmbuild.I32Add(), wasmbuild.Call(tree))
			m.SetBody(tree, wasmbuild.LocalGet(0), wasmbuild.If(down, down))
			return [][]byte{c(40), wasmbuild.Call(tree), wasmbuild.I64Const(0)}
		}},
		"a fat loop": {Body: func(*wasmbuild.Module) [][]byte {
			return [][]byte{wasmbuild.Loop(slices.Repeat(count(belowSize), 4_000)), wasmbuild.I64Const(0)}
		}},
		"huge fills": {Pages: 900, Body: func(*wasmbuild.Module) [][]byte {
			return [][]byte{wasmbuild.Loop(c(0), c(1), c(all), wasmbuild.MemoryFill()), wasmbuild.I64Const(0)}
		}},
		"random":           hosts(imported("vcp", "random", 2, i32), true, 0, all),
		"configuration":    hosts(imported("vcp", "config_get", 4, i32), true, 0, all, 0, 0),
		"logs":             hosts(imported("vcp", "log", 3), false, 1, 0, all),
		"random of WASI":   hosts(imported(wasi, "random_get", 2, i32), true, 0, all),
		"writes of 56 GiB": vectors,
		"yields":           hosts(imported(wasi, "sched_yield", 0, i32), true),
	}
}

func TestACallIsAnsweredSoonAfterItsDeadline(t *testing.T) {
	s := box(t, nil)
	for name, guest := range busy() {
		t.Run(name, func(t *testing.T) {
			p := opened(t, s, Module{Binary: guest.Bytes(), Config: map[string]string{"KEY": "value"}})
			for range 2 {
				ctx, cancel := context.WithTimeout(context.Background(), shortDeadline)
				began := time.Now()
				_, err := p.Invoke(ctx, &abi.Invocation{})
				took := time.Since(began)
				cancel()
				if abi.CodeOf(err) != abi.CodeToolTimeout || took < shortDeadline || took > shortDeadline+farBeyond {
					t.Errorf("after %v: %v, want %s after %v", took, err, abi.CodeToolTimeout, shortDeadline)
				}
				t.Logf("answered %v beyond the deadline", took-shortDeadline)
			}
		})
	}
}

// stuck is a host whose functions block until they are let go, whatever their
// context says, and notes what is closed.
type stuck struct {
	at      string // what blocks
	entered atomic.Int32
	leave   chan struct{}
	closed  atomic.Int32 // inputs
}

func (s *stuck) block(at string) {
	if s.at == at {
		s.entered.Add(1)
		<-s.leave
	}
}

func (s *stuck) Create(context.Context, abi.ResourceDraft) (abi.ResourceSink, error) {
	s.block("create")
	return stuckSink{s}, nil
}

func (s *stuck) Open(context.Context, string) (abi.ResourceStream, error) {
	s.block("open")
	return stuckStream{s}, nil
}

type stuckSink struct{ *stuck }

func (s stuckSink) Write(p []byte) (int, error) {
	s.block("write")
	return len(p), nil
}

func (s stuckSink) Close() error {
	s.block("close")
	return nil
}

type stuckStream struct{ *stuck }

func (s stuckStream) Read(p []byte) (int, error) {
	s.block("read")
	return len(p), nil
}

func (s stuckStream) Size() int64 { return 100 }

func (s stuckStream) Close() error {
	s.closed.Add(1)
	return nil
}

// usesResources is a guest that opens, reads, creates, writes and closes, and
// answers the number of its calls and what the functions returned.
func usesResources() wasmbuild.Guest {
	i32 := wasmbuild.I32
	c := wasmbuild.I32Const
	return wasmbuild.Guest{
		Imports: func(m *wasmbuild.Module) {
			for _, f := range []struct {
				name   string
				params int
			}{{"resource_open", 2}, {"resource_read", 3}, {"resource_create", 2}, {"resource_write", 3}, {"resource_close", 1}} {
				m.ImportFunction("vcp", f.name, wasmbuild.Signature{Params: slices.Repeat([]wasmbuild.ValueType{i32}, f.params), Results: []wasmbuild.ValueType{i32}})
			}
		},
		Extra: func(m *wasmbuild.Module) { m.Data(10_000, []byte(`{"id":"out"}`)) },
		Body: func(*wasmbuild.Module) [][]byte {
			return [][]byte{count(belowSize), answers(
				wide(load8(belowSize)),
				wide(c(10_000), c(4), wasmbuild.Call(0)), wide(c(1), c(11_000), c(100), wasmbuild.Call(1)),
				wide(c(10_000), c(12), wasmbuild.Call(2)), wide(c(2), c(11_000), c(100), wasmbuild.Call(3)), wide(c(2), wasmbuild.Call(4)),
			)}
		},
	}
}

// TestAHostThatBlocks: the call is answered, the next one has its own state, and
// what the straggler leaves open is closed when it comes back.
func TestAHostThatBlocks(t *testing.T) {
	s := box(t, nil)
	p := opened(t, s, Module{Binary: usesResources().Bytes()})
	want := []int64{1, 1, 100, 2, 100, 0}
	for _, at := range []string{"open", "read", "create", "write", "close"} {
		t.Run(at, func(t *testing.T) {
			host := &stuck{at: at, leave: make(chan struct{})}
			ctx, cancel := context.WithTimeout(context.Background(), shortDeadline)
			defer cancel()
			began := time.Now()
			_, err := p.Invoke(ctx, &abi.Invocation{Resources: host, Reader: host})
			if took := time.Since(began); abi.CodeOf(err) != abi.CodeToolTimeout || took > shortDeadline+farBeyond {
				t.Errorf("after %v: %v, want %s", took, err, abi.CodeToolTimeout)
			}
			if host.entered.Load() != 1 || host.closed.Load() != 0 {
				t.Errorf("the host was entered %d times, and %d inputs were closed while it runs", host.entered.Load(), host.closed.Load())
			}
			for range 2 {
				free := &stuck{}
				reply, err := p.Invoke(t.Context(), &abi.Invocation{Resources: free, Reader: free})
				if err != nil {
					t.Fatalf("the next call: %v", err)
				}
				if words := wordsOf(reply.Payload); !slices.Equal(words, want) || free.closed.Load() != 1 {
					t.Errorf("the next call gives %v and closes %d inputs, want %v and 1", words, free.closed.Load(), want)
				}
			}
			close(host.leave)
			eventually(t, "the straggler closes its input", func() bool { return host.closed.Load() == 1 })
		})
	}
}

// Many calls whose host blocks and comes back at the very moment at which they
// are given up: each input is closed once, and no call sees another's state.
func TestStragglersComeBackInTime(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	p := opened(t, box(t, nil), Module{Binary: usesResources().Bytes()})
	var opened, closed atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for round := range rounds {
				host := &stuck{at: "read", leave: make(chan struct{})}
				ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
				letGo := time.AfterFunc(time.Millisecond+waitGrace+time.Duration(round*i)*10*time.Microsecond-waitGrace/4, func() { close(host.leave) })
				reply, err := p.Invoke(ctx, &abi.Invocation{Resources: host, Reader: host})
				if err == nil && wordsOf(reply.Payload)[0] != 1 {
					t.Errorf("the answer is %v", wordsOf(reply.Payload))
				}
				if letGo.Stop() {
					close(host.leave)
				}
				cancel()
				if host.entered.Load() == 1 {
					opened.Add(1)
					eventually(t, "an input is closed", func() bool { return host.closed.Load() > 0 })
					closed.Add(host.closed.Load())
				}
			}
		})
	}
	all.Wait()
	if opened.Load() != closed.Load() || opened.Load() == 0 {
		t.Errorf("%d inputs were opened, and %d closed", opened.Load(), closed.Load())
	}
}

func TestTheEndOfASandboxDoesNotWaitForEver(t *testing.T) {
	s, err := New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Open(context.Background(), Module{Name: "Test", Binary: usesResources().Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	host := &stuck{at: "create", leave: make(chan struct{})}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.Invoke(ctx, &abi.Invocation{Resources: host, Reader: host}); abi.CodeOf(err) != abi.CodeToolTimeout {
		t.Errorf("got %v, want %s", err, abi.CodeToolTimeout)
	}
	began := time.Now()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > farBeyond {
		t.Errorf("the end took %v", took)
	}
	close(host.leave)
	s.waits.Wait()
	if host.closed.Load() != 1 {
		t.Error("the straggler closed nothing")
	}
}

// What a guest answers once its call is over does not count, even within the
// grace that lets it finish.
func TestAnAnswerAfterTheEndIsNone(t *testing.T) {
	done := make(chan string, 1)
	s := box(t, &Options{Logger: slog.New(firstLine{slog.DiscardHandler, done})})
	i32 := wasmbuild.I32
	p := opened(t, s, Module{Binary: wasmbuild.Guest{
		Imports: func(m *wasmbuild.Module) {
			m.ImportFunction("vcp", "cancelled", wasmbuild.Signature{Results: []wasmbuild.ValueType{i32}})
			m.ImportFunction("vcp", "log", wasmbuild.Signature{Params: []wasmbuild.ValueType{i32, i32, i32}})
		},
		Body: func(m *wasmbuild.Module) [][]byte {
			m.Data(10_000, []byte("finished"))
			return [][]byte{
				wasmbuild.While(wasmbuild.Call(0), wasmbuild.I32Eqz()),
				wasmbuild.I32Const(1), wasmbuild.I32Const(10_000), wasmbuild.I32Const(8), wasmbuild.Call(1),
				wasmbuild.I64Const(wasmbuild.Packed(wasmbuild.PayloadAddress, 32)),
			}
		},
	}.Bytes()})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	reply, err := p.Invoke(ctx, &abi.Invocation{})
	if reply != nil || abi.CodeOf(err) != abi.CodeToolCancelled {
		t.Errorf("got %v, %v, want %s", reply, err, abi.CodeToolCancelled)
	}
	select {
	case line := <-done:
		if !strings.Contains(line, "finished") {
			t.Errorf("the guest logs %q", line)
		}
	default:
		t.Error("the guest could not finish")
	}
}
