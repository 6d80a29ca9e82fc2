package sandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

// waiting tells how many instances of a plugin wait.
func (p *Plugin) waiting() int {
	p.idle.mu.Lock()
	defer p.idle.mu.Unlock()
	return len(p.idle.guests)
}

// dirty is a guest that writes to so many pages of the system, 4 KiB each.
func dirty(pages int32) wasmbuild.Guest {
	return wasmbuild.Guest{Pages: 64, Locals: []wasmbuild.ValueType{wasmbuild.I32}, Body: func(*wasmbuild.Module) [][]byte {
		at := join(wasmbuild.LocalGet(2), wasmbuild.I32Const(12), wasmbuild.Op(0x74)) // shifted left
		return [][]byte{repeat(pages, at, wasmbuild.I32Const(1), wasmbuild.I32Store8()), answers(wasmbuild.I64Const(1))}
	}}
}

func TestThePoolKeepsToItsBudget(t *testing.T) {
	const budget = 1 << 20
	s := box(t, &Options{PoolBytes: budget})
	var plugins []*Plugin
	for i := range 6 { // each waits with some 450 KiB
		plugins = append(plugins, opened(t, s, Module{Name: fmt.Sprint("P", i), Binary: dirty(100).Bytes()}))
	}
	for _, p := range plugins {
		ask(t, p, "")
		if used := s.pool.used.Load(); used > budget || used < 0 {
			t.Errorf("instances of %d bytes wait, and the budget is %d", used, budget)
		}
		if p.waiting() != 1 {
			t.Errorf("the instance that was just used does not wait")
		}
	}
	if plugins[0].waiting()+plugins[1].waiting()+plugins[2].waiting() != 0 {
		t.Error("the instances that were used least recently still wait")
	}
	// Who is called keeps its instance, whoever else comes.
	for _, p := range plugins[:3] {
		ask(t, plugins[5], "")
		ask(t, p, "")
		if plugins[5].waiting() != 1 {
			t.Error("the plugin that was called last but one lost its instance")
		}
	}
	if _, figures := ask(t, plugins[5], ""); figures.Path != pathPooled {
		t.Errorf("its call came by %s", figures.Path)
	}
}

func TestTheBudgetIsWhatWaits(t *testing.T) {
	s := box(t, nil)
	p := opened(t, s, Module{Name: "One", Binary: dirty(50).Bytes()})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				ask(t, p, "")
			}
		})
	}
	all.Wait()
	var want int64
	for _, g := range p.idle.guests {
		want += g.bytes()
	}
	if got := s.pool.used.Load(); got != want || want < 50*4096 {
		t.Errorf("%d bytes are counted, and %d wait", got, want)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if got := s.pool.used.Load(); got != 0 {
		t.Errorf("%d bytes are counted after the end", got)
	}
}

func TestAPoolMayKeepNothing(t *testing.T) {
	s := box(t, &Options{PoolBytes: -1})
	p := opened(t, s, Module{Binary: keepsState().Bytes()})
	for range 3 {
		if words, figures := ask(t, p, ""); figures.Path != pathMade || !slices.Equal(words, untouched()) {
			t.Errorf("got %v by %s, want %v by %s", words, figures.Path, untouched(), pathMade)
		}
	}
	if p.waiting() != 0 || s.pool.used.Load() != 0 {
		t.Errorf("%d instances of %d bytes wait", p.waiting(), s.pool.used.Load())
	}
}

func TestAnInstanceServesSoManyCalls(t *testing.T) {
	s := box(t, nil)
	p := opened(t, s, Module{Binary: wasmbuild.Guest{}.Bytes()})
	call := func() {
		if _, err := p.Invoke(context.Background(), &abi.Invocation{}); err != nil {
			t.Fatal(err)
		}
	}
	call()
	p.idle.guests[0].calls = maxCalls - 2
	before := s.Figures().Instances
	call()
	call() // the last of the instance
	call()
	if made := s.Figures().Instances - before; made != 1 {
		t.Errorf("%d instances were made, want 1", made)
	}
}

// The end of a plugin while an instance is made in the background, and with some
// that wait.
func TestTheEndOfAPluginTakesEverything(t *testing.T) {
	s := box(t, nil)
	binary := fails().Bytes()
	for range 5 {
		p, err := s.Open(context.Background(), Module{Name: "Test", Binary: binary})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := p.Invoke(context.Background(), &abi.Invocation{Command: "deep"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var ends sync.WaitGroup
		for range 3 {
			ends.Go(func() {
				if err := p.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		ends.Wait()
		p.refills.Wait()
		if p.waiting() != 0 || s.pool.used.Load() != 0 {
			t.Fatalf("%d instances wait, %d bytes are counted", p.waiting(), s.pool.used.Load())
		}
	}
	if open := s.Figures().OpenModules; open != 0 {
		t.Errorf("%d modules are open", open)
	}
}

func TestACallAfterTheEndFailsPlainly(t *testing.T) {
	for _, isolation := range []Isolation{IsolationCall, IsolationFresh} {
		t.Run(string(isolation), func(t *testing.T) {
			s := box(t, nil)
			p := opened(t, s, Module{Binary: wasmbuild.Guest{}.Bytes(), Isolation: isolation})
			ask(t, p, "")
			if err := p.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			_, err := p.Invoke(context.Background(), &abi.Invocation{})
			if abi.CodeOf(err) != abi.CodeDependencyUnavailable || !strings.Contains(err.Error(), "closed") {
				t.Errorf("got %v, want %s that says so", err, abi.CodeDependencyUnavailable)
			}
		})
	}
}

// echoes is a guest that answers the invocation that it was given.
func echoes() wasmbuild.Guest {
	return wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte {
		return [][]byte{
			wasmbuild.LocalGet(0), wasmbuild.Op(0xad), wasmbuild.I64Const(32), wasmbuild.Op(0x86), // shifted left
			wasmbuild.LocalGet(1), wasmbuild.Op(0xad), wasmbuild.Op(0x84), // or
		}
	}}
}

func TestEveryAnswerBelongsToItsInput(t *testing.T) {
	calls := 50
	if stress() {
		calls = 1000
	}
	s := box(t, nil)
	p := opened(t, s, Module{Binary: echoes().Bytes()})
	var all sync.WaitGroup
	for worker := range 64 {
		all.Go(func() {
			for i := range calls {
				id := fmt.Sprintf("inv_%d_%s", worker, strings.Repeat("x", i%37))
				reply, err := p.Invoke(context.Background(), &abi.Invocation{InvocationID: id})
				if err != nil {
					t.Errorf("%s: %v", id, err)
					return
				}
				if !strings.Contains(string(reply.Payload), `"invocationId":"`+id+`"`) {
					t.Errorf("%s got the answer %s", id, reply.Payload)
				}
			}
		})
	}
	all.Wait()
}
