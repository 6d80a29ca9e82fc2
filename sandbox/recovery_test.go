package sandbox

import (
	"context"
	"slices"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

// fails is a guest that counts its calls, fails as its command says, and answers
// the count where it does not.
func fails() wasmbuild.Guest {
	i32 := wasmbuild.I32
	return wasmbuild.Guest{
		Locals: []wasmbuild.ValueType{i32},
		Imports: func(m *wasmbuild.Module) {
			m.ImportFunction("wasi_snapshot_preview1", "proc_exit", wasmbuild.Signature{Params: []wasmbuild.ValueType{i32}})
		},
		Body: func(m *wasmbuild.Module) [][]byte {
			deep := m.Function(wasmbuild.Signature{Params: []wasmbuild.ValueType{i32}, Results: []wasmbuild.ValueType{i32}}, nil, wasmbuild.Unreachable())
			m.SetBody(deep, wasmbuild.LocalGet(0), wasmbuild.If(wasmbuild.LocalGet(0), wasmbuild.I32Const(-1), wasmbuild.I32Add(), wasmbuild.Call(deep), wasmbuild.Return()), wasmbuild.I32Const(1))
			recurse := func(depth int32) []byte {
				return join(wasmbuild.I32Const(depth), wasmbuild.Call(deep), wasmbuild.Drop())
			}
			return [][]byte{
				count(belowSize), store8(aboveSize, 1),
				on('t', wasmbuild.Unreachable()),
				on('e', wasmbuild.I32Const(3), wasmbuild.Call(0)),
				on('l', wasmbuild.Loop()),
				on('r', recurse(-1)),
				on('d', recurse(100_000)),
				on('m', wasmbuild.I32Const(5000), wasmbuild.MemoryGrow(), wasmbuild.Drop(), wasmbuild.Unreachable()),
				answers(wide(load8(belowSize))),
			}
		},
	}
}

func TestTheNextCallIsRight(t *testing.T) {
	for _, test := range []struct {
		name, command, code string
		limits              Limits
		paths               []string // of the next call
	}{
		{"a trap", "trap", abi.CodeSandboxTrap, Limits{}, []string{pathPooled}},
		{"an exit", "exit", abi.CodeSandboxExit, Limits{}, []string{pathPooled}},
		{"no more fuel", "loop", abi.CodeSandboxFuelExhausted, Limits{Fuel: 3_000_000}, []string{pathPooled}},
		{"no more time", "loop", abi.CodeToolTimeout, Limits{}, []string{pathPooled}},
		{"no more memory", "memory", abi.CodeSandboxMemoryLimit, Limits{}, []string{pathPooled}},
		{"no more stack", "recursion", abi.CodeSandboxStackOverflow, Limits{}, []string{pathPooled}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := opened(t, box(t, nil), Module{Binary: fails().Bytes(), Limits: test.limits})
			for range 3 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				if test.code == abi.CodeToolTimeout {
					ctx, cancel = context.WithTimeout(context.Background(), 30*time.Millisecond)
				}
				_, err := p.Invoke(ctx, &abi.Invocation{Command: test.command})
				cancel()
				if abi.CodeOf(err) != test.code {
					t.Fatalf("got %v, want %s", err, test.code)
				}
				p.refills.Wait() // a call that is over is put back behind its answer
				words, figures := ask(t, p, "")
				if words[0] != 1 || !slices.Contains(test.paths, figures.Path) {
					t.Errorf("the next call is number %d of its instance, by %s; want 1 by %v", words[0], figures.Path, test.paths)
				}
			}
		})
	}
}

// A stack that has grown stays with the engine's function, so the instance is
// let go, and another is made in its place before a call asks for it.
func TestAnInstanceWithAGrownStackIsReplaced(t *testing.T) {
	s := box(t, nil)
	p := opened(t, s, Module{Binary: fails().Bytes()})
	ask(t, p, "")
	g := p.idle.take()
	plain := g.call.StackBytes() == 0
	p.discard(g)
	if plain {
		t.Skip("this engine has no stacks of its own")
	}
	before := s.Figures().Instances
	if words, _ := ask(t, p, "deep"); words[0] != 1 {
		t.Errorf("got %v, want 1", words)
	}
	eventually(t, "a new instance waits", p.idle.any)
	if started := s.Figures().Instances - before; started != 2 {
		t.Errorf("%d instances were made, want one for the call and one for the next", started)
	}
	g = p.idle.take()
	if kept := g.call.StackBytes(); kept > keptStackBytes || kept == 0 {
		t.Errorf("the instance that waits has a stack of %d bytes", kept)
	}
	p.discard(g)
}
