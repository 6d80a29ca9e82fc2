package sandbox

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// turns let guests that run for longer than a slice take turns: at most
// GOMAXPROCS-1 of them, and at least one, run at a time, so that there is always
// a processor for calls that are short and for the host. Who has had a slice goes
// behind those that wait.
type turns struct {
	mu      sync.Mutex
	free    int
	waiting []*turn
}

// turn is the place of one guest. Only its guest uses it, but for given, which
// is the lock's.
type turn struct {
	held  bool
	given chan struct{} // holds one value once the turn was passed on to it
}

func newTurns() *turns {
	return &turns{free: max(runtime.GOMAXPROCS(0)-1, 1)}
}

// next gives the guest its next slice, and reports whether it had to wait for
// it. When ctx ends, it has no turn and goes on all the same.
func (t *turns) next(ctx context.Context, mine *turn) (waited bool) {
	t.mu.Lock()
	switch {
	case mine.held && len(t.waiting) == 0:
		t.mu.Unlock()
		return false
	case mine.held:
		t.pass()
		mine.held = false
	case t.free > 0 && len(t.waiting) == 0:
		t.free--
		mine.held = true
		t.mu.Unlock()
		return false
	}
	if mine.given == nil {
		mine.given = make(chan struct{}, 1)
	}
	t.waiting = append(t.waiting, mine)
	t.mu.Unlock()
	select {
	case <-mine.given:
		mine.held = true
	case <-ctx.Done():
		t.withdraw(mine)
	}
	return true
}

// pass gives a turn to the first that waits, or frees it.
func (t *turns) pass() {
	if len(t.waiting) == 0 {
		t.free++
		return
	}
	first := t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	first.given <- struct{}{}
}

// withdraw takes back the wish for a turn, or the turn if it came meanwhile.
func (t *turns) withdraw(mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, mine); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return
	}
	<-mine.given
	t.pass()
}

// leave gives the turn up, if the guest has one.
func (t *turns) leave(mine *turn) {
	if !mine.held {
		return
	}
	mine.held = false
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass()
}
