package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

// payers lists guests that pay in different ways.
func payers() map[string]wasmbuild.Guest {
	i32 := wasmbuild.I32
	locals := []wasmbuild.ValueType{i32}
	guest := func(code ...[]byte) wasmbuild.Guest {
		return wasmbuild.Guest{Pages: 80, Locals: locals, Body: func(*wasmbuild.Module) [][]byte {
			return append(slices.Clone(code), answers(wasmbuild.I64Const(1)))
		}}
	}
	return map[string]wasmbuild.Guest{
		"nothing":       {},
		"a loop":        guest(repeat(100_000, count(belowSize))),
		"straight code": guest(slices.Repeat(join(wasmbuild.I32Const(1), wasmbuild.Drop()), 100_000)),
		"bulk":          guest(wasmbuild.I32Const(0x20000), wasmbuild.I32Const(1), wasmbuild.I32Const(3<<20), wasmbuild.MemoryFill(), repeat(50, count(belowSize))),
		"recursion": {Body: func(m *wasmbuild.Module) [][]byte {
			s := wasmbuild.Signature{Params: []wasmbuild.ValueType{i32}}
			tree := m.Function(s, nil, wasmbuild.Unreachable())
			down := join(wasmbuild.LocalGet(0), wasmbuild.I32Const(-1), wasmbuild.I32Add(), wasmbuild.Call(tree))
			m.SetBody(tree, wasmbuild.LocalGet(0), wasmbuild.If(down, down))
			return [][]byte{wasmbuild.I32Const(14), wasmbuild.Call(tree), answers(wasmbuild.I64Const(1))}
		}},
	}
}

// TestFuelIsExact: the same call takes the same fuel however it comes to its
// instance and however the fuel is handed out, passes with a budget of just
// that, and fails with a unit less.
func TestFuelIsExact(t *testing.T) {
	s := box(t, nil)
	for name, guest := range payers() {
		t.Run(name, func(t *testing.T) {
			binary := guest.Bytes()
			p := opened(t, s, Module{Binary: binary})
			_, first := ask(t, p, "")
			need := first.Fuel
			if first.Path != pathMade || need <= 0 {
				t.Fatalf("the first call has the figures %+v", first)
			}
			fresh := opened(t, s, Module{Binary: binary, Isolation: IsolationFresh})
			enough := opened(t, s, Module{Binary: binary, Limits: Limits{Fuel: need}})
			scarce := opened(t, s, Module{Binary: binary, Limits: Limits{Fuel: need - 1}})
			for _, slice := range []int64{1, 2, 3, 7, 1000, need - 2, need - 1, need, need + 1, 1 << 20} {
				if slice < 1 || need/slice > 200_000 {
					continue
				}
				for _, p := range []*Plugin{p, fresh, enough} {
					p.slice.Store(slice)
					if _, figures := ask(t, p, ""); figures.Fuel != need {
						t.Errorf("slices of %d, budget %d, %s: %d units, want %d", slice, p.limits.Fuel, figures.Path, figures.Fuel, need)
					}
				}
				scarce.slice.Store(slice)
				_, err := scarce.Invoke(context.Background(), &abi.Invocation{})
				if abi.CodeOf(err) != abi.CodeSandboxFuelExhausted {
					t.Fatalf("slices of %d, budget %d of %d: got %v", slice, need-1, need, err)
				}
				details := detailsOf(t, err)
				if stack := fmt.Sprint(details["stack"]); strings.Contains(stack, refuelModule) {
					t.Errorf("the stack %s has what is the host's", stack)
				}
				delete(details, "stack")
				want := map[string]any{"limit": "fuel", "allowed": float64(need - 1), "needed": float64(need), "setting": "sandbox.fuel"}
				if !maps.Equal(details, want) {
					t.Errorf("the details are %v, want %v", details, want)
				}
			}
		})
	}
}

func TestFiguresAreWhatTheySay(t *testing.T) {
	p := opened(t, box(t, nil), Module{Binary: wasmbuild.Guest{Pages: 3}.Bytes()})
	reply, err := p.Invoke(context.Background(), &abi.Invocation{})
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]any{}
	if err := json.Unmarshal(reply.Extensions[abi.ExtensionSandbox], &members); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(members))
	if want := []string{"fuel", "isolation", "memoryPeakBytes", "path", "queueMicros", "wallMicros"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if got := figuresOf(t, reply); got.MemoryPeakBytes != 3*pageBytes || got.QueueMicros != 0 || got.WallMicros < 0 {
		t.Errorf("got %+v", got)
	}
}

// A call that finds no place tells how long it waited for one.
func TestFiguresTellTheWaiting(t *testing.T) {
	s := box(t, &Options{MaxInstances: 1})
	p := opened(t, s, Module{Binary: wasmbuild.Guest{}.Bytes()})
	if _, err := s.gate.enter(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, s.gate.leave)
	_, figures := ask(t, p, "")
	if figures.QueueMicros < 30_000 || figures.WallMicros < figures.QueueMicros {
		t.Errorf("got %+v, want some 50,000 µs in the queue", figures)
	}
	// And one whose context ends while it waits fails as any other.
	if _, err := s.gate.enter(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	defer s.gate.leave()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := p.Invoke(ctx, &abi.Invocation{}); abi.CodeOf(err) != abi.CodeToolTimeout {
		t.Errorf("got %v, want %s", err, abi.CodeToolTimeout)
	}
	if failures := s.Figures().Failures; failures != 1 {
		t.Errorf("%d failures are counted, want 1", failures)
	}
}
