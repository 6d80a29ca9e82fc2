package sandbox

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

// queued tells how many calls wait at a gate.
func (g *gate) queued() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, queue := range g.queues {
		n += len(queue)
	}
	return n
}

// Three plugins wait at one place, the first with most of the calls: plugins
// take turns, and the calls of each come in their order.
func TestTheGateIsFairBetweenPlugins(t *testing.T) {
	g := newGate(1)
	a, b, c := &Plugin{name: "a"}, &Plugin{name: "b"}, &Plugin{name: "c"}
	ctx := context.Background()
	if waited, err := g.enter(ctx, a); waited || err != nil {
		t.Fatalf("the first call waits: %v", err)
	}
	order := make(chan string)
	for i, call := range []struct {
		plugin *Plugin
		name   string
	}{{a, "a1"}, {a, "a2"}, {a, "a3"}, {a, "a4"}, {b, "b1"}, {b, "b2"}, {c, "c1"}} {
		go func() {
			if waited, err := g.enter(ctx, call.plugin); !waited || err != nil {
				t.Errorf("%s did not wait: %v", call.name, err)
			}
			order <- call.name
		}()
		eventually(t, "the call waits", func() bool { return g.queued() == i+1 })
	}
	var got []string
	for range 7 {
		g.leave()
		got = append(got, <-order)
	}
	g.leave()
	if want := []string{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}; !slices.Equal(got, want) {
		t.Errorf("the calls come in as %v, want %v", got, want)
	}
	if g.free != 1 || len(g.plugins) != 0 || len(g.queues) != 0 {
		t.Errorf("the gate is left as %+v", g)
	}
}

func TestNoPlaceIsLost(t *testing.T) {
	const places = 3
	g := newGate(places)
	plugins := []*Plugin{{name: "a"}, {name: "b"}, {name: "c"}}
	var inside, most, refused atomic.Int32
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			for range hammerRounds() / 32 {
				ctx, cancel := context.WithCancel(context.Background())
				go func() {
					for range rand.IntN(50) {
						runtime.Gosched()
					}
					cancel()
				}()
				if _, err := g.enter(ctx, plugins[i%3]); err == nil {
					if n := inside.Add(1); n > places {
						most.Store(n)
					}
					runtime.Gosched()
					inside.Add(-1)
					g.leave()
				} else {
					refused.Add(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if g.free != places || len(g.plugins) != 0 || len(g.queues) != 0 || most.Load() > 0 {
		t.Errorf("%d places are free, want %d; %d were inside; the gate is left as %+v", g.free, places, most.Load(), g)
	}
	t.Logf("%d calls were withdrawn", refused.Load())
}

func TestNoMoreInstancesRunThanAllowed(t *testing.T) {
	const allowed = 3
	s := box(t, &Options{MaxInstances: allowed})
	guest := usesResources()
	plugins := []*Plugin{opened(t, s, Module{Name: "A", Binary: guest.Bytes()}), opened(t, s, Module{Name: "B", Binary: guest.Bytes(), Isolation: IsolationFresh})}
	var inside, most atomic.Int32
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			host := counting{&stuck{}, &inside, &most}
			if _, err := plugins[i%2].Invoke(context.Background(), &abi.Invocation{Resources: host, Reader: host}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most.Load() > allowed || most.Load() == 0 {
		t.Errorf("%d calls were inside at a time, want at most %d", most.Load(), allowed)
	}
}

// counting is a host that notes how many calls are in one of its functions.
type counting struct {
	*stuck
	inside, most *atomic.Int32
}

func (c counting) Create(ctx context.Context, draft abi.ResourceDraft) (abi.ResourceSink, error) {
	c.most.Store(max(c.most.Load(), c.inside.Add(1)))
	defer c.inside.Add(-1)
	runtime.Gosched()
	return c.stuck.Create(ctx, draft)
}

// A hostile loop beside it does not keep a short call waiting for longer than
// some slices.
func TestShortCallsPassLongOnes(t *testing.T) {
	s := box(t, nil)
	loop := opened(t, s, Module{Name: "Loop", Binary: busy()["a loop"].Bytes()})
	small := opened(t, s, Module{Name: "Small", Binary: wasmbuild.Guest{}.Bytes()})
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for range 4 {
		loops.Go(func() {
			if _, err := loop.Invoke(ctx, &abi.Invocation{}); abi.CodeOf(err) != abi.CodeToolCancelled {
				t.Errorf("got %v, want %s", err, abi.CodeToolCancelled)
			}
		})
	}
	eventually(t, "the loops run", func() bool { return s.Figures().RunningInstances == 4 })
	for range 50 {
		reply, err := small.Invoke(context.Background(), &abi.Invocation{})
		if err != nil {
			t.Fatal(err)
		}
		if queued := figuresOf(t, reply).QueueMicros; queued != 0 {
			t.Errorf("a call of one slice waited %d µs for a turn", queued)
		}
	}
	cancel()
	loops.Wait()
}
