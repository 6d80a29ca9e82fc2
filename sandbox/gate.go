package sandbox

import (
	"context"
	"slices"
	"sync"
)

// gate bounds the calls that run side by side. Plugins whose calls wait take
// turns, and the calls of one plugin come in the order in which they were made.
type gate struct {
	mu      sync.Mutex
	free    int
	queues  map[*Plugin][]chan struct{}
	plugins []*Plugin // that have a queue, next one first
}

func newGate(places int) *gate {
	return &gate{free: places, queues: map[*Plugin][]chan struct{}{}}
}

// enter waits for a place, and fails when ctx ends before there is one.
func (g *gate) enter(ctx context.Context, p *Plugin) (waited bool, err error) {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return false, nil
	}
	place := make(chan struct{}, 1)
	if len(g.queues[p]) == 0 {
		g.plugins = append(g.plugins, p)
	}
	g.queues[p] = append(g.queues[p], place)
	g.mu.Unlock()
	select {
	case <-place:
		return true, nil
	case <-ctx.Done():
		g.withdraw(p, place)
		return true, ctx.Err()
	}
}

// leave gives the place to the plugin whose turn it is.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass()
}

func (g *gate) pass() {
	if len(g.plugins) == 0 {
		g.free++
		return
	}
	p := g.plugins[0]
	g.plugins = slices.Delete(g.plugins, 0, 1)
	first := g.queues[p][0]
	g.keep(p, g.queues[p][1:])
	first <- struct{}{}
}

// keep stores what is left of a plugin's queue; the plugin goes to the end.
func (g *gate) keep(p *Plugin, queue []chan struct{}) {
	if len(queue) == 0 {
		delete(g.queues, p)
		return
	}
	g.queues[p] = queue
	g.plugins = append(g.plugins, p)
}

// withdraw takes a call out of its queue, or passes on the place that it got
// meanwhile.
func (g *gate) withdraw(p *Plugin, place chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queues[p], place)
	if i < 0 {
		<-place
		g.pass()
		return
	}
	g.queues[p] = slices.Delete(g.queues[p], i, i+1)
	if len(g.queues[p]) == 0 {
		delete(g.queues, p)
		g.plugins = slices.DeleteFunc(g.plugins, func(other *Plugin) bool { return other == p })
	}
}
