package kv

import "sync"

// gate lets calls in until it is shut, and shutting it waits for those inside. A
// call made from within another one during the shutting is refused, not blocked,
// so that it cannot deadlock as a read lock in a read lock would.
type gate struct {
	mu     sync.Mutex
	shut   bool
	inside sync.WaitGroup
}

// enter returns ErrClosed, or nil, and then leave must follow.
func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut {
		return ErrClosed
	}
	g.inside.Add(1)
	return nil
}

func (g *gate) leave() { g.inside.Done() }

// close shuts the gate, waits until nobody is inside, and reports whether this
// call was the first to shut it.
func (g *gate) close() (first bool) {
	g.mu.Lock()
	first = !g.shut
	g.shut = true
	g.mu.Unlock()
	g.inside.Wait()
	return first
}
