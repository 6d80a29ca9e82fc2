package sandbox

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// waitingFor waits until so many turns wait.
func waitingFor(t *testing.T, turns *turns, n int) {
	t.Helper()
	eventually(t, "turns wait", func() bool {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		return len(turns.waiting) == n
	})
}

func TestTurnsGoRoundInOrder(t *testing.T) {
	turns := &turns{free: 1}
	ctx := context.Background()
	var mine turn
	for range 2 {
		if turns.next(ctx, &mine) {
			t.Fatal("a guest that is alone waits")
		}
	}
	order := make(chan int, 8)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			var other turn
			for range 2 {
				if !turns.next(ctx, &other) {
					t.Errorf("guest %d has a turn that is not its own", i)
				}
				order <- i
			}
			turns.leave(&other)
		})
		waitingFor(t, turns, i+1)
	}
	if !turns.next(ctx, &mine) { // goes behind the four, each of which then goes behind it
		t.Error("a guest that had a slice does not go behind those that wait")
	}
	for want := range 4 {
		if got := <-order; got != want {
			t.Errorf("guest %d has its turn where %d waited longer", got, want)
		}
	}
	turns.leave(&mine)
	turns.leave(&mine) // of one that holds none
	all.Wait()
	if turns.free != 1 || len(turns.waiting) != 0 {
		t.Errorf("%d turns are free and %d wait, want 1 and 0", turns.free, len(turns.waiting))
	}
}

func TestTheEndOfACallEndsItsWaiting(t *testing.T) {
	turns := &turns{free: 1}
	var mine, other turn
	turns.next(context.Background(), &mine)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	if !turns.next(ctx, &other) || other.held {
		t.Error("a turn was given that another holds")
	}
	turns.leave(&other)
	turns.leave(&mine)
	if turns.free != 1 || len(turns.waiting) != 0 {
		t.Errorf("%d turns are free and %d wait, want 1 and 0", turns.free, len(turns.waiting))
	}
}

func TestThereAreAsManyTurnsAsProcessorsButOne(t *testing.T) {
	if got, want := newTurns().free, max(runtime.GOMAXPROCS(0)-1, 1); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

// Thousands of guests whose calls end at any moment, also while they are given a
// turn: never more run than there are turns, and no turn is lost.
func TestNoTurnIsLost(t *testing.T) {
	const places = 3
	turns := &turns{free: places}
	var running, most atomic.Int32
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range hammerRounds() / 32 {
				ctx, cancel := context.WithCancel(context.Background())
				go func() {
					for range rand.IntN(50) {
						runtime.Gosched()
					}
					cancel()
				}()
				var mine turn
				for range 1 + rand.IntN(4) {
					turns.next(ctx, &mine)
					if mine.held {
						if n := running.Add(1); n > places {
							most.Store(n)
						}
						runtime.Gosched()
						running.Add(-1)
					}
				}
				turns.leave(&mine)
				cancel()
			}
		})
	}
	all.Wait()
	if turns.free != places || len(turns.waiting) != 0 || most.Load() > 0 {
		t.Errorf("%d turns are free and %d wait, want %d and 0; %d ran at a time", turns.free, len(turns.waiting), places, most.Load())
	}
}

func hammerRounds() int {
	if stress() {
		return 400_000
	}
	return 20_000
}
