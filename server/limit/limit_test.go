package limit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"vcphost/server/identity"
	"vcphost/server/limit"
	"vcphost/server/problem"
)

func key(id string) *identity.Identity { return &identity.Identity{KeyID: id} }

// unbounded leaves only the bounds that a test sets.
func unbounded(o limit.Options) limit.Options {
	if o.Rate == 0 {
		o.Rate = -1
	}
	if o.PerKey == 0 {
		o.PerKey = -1
	}
	return o
}

func admit(t *testing.T, l *limit.Limiter, id string) (release func()) {
	t.Helper()
	release, err := l.Admit(t.Context(), key(id))
	if err != nil {
		t.Fatalf("key %s is not admitted: %v", id, err)
	}
	return release
}

func wantRefused(t *testing.T, err error, status int, after time.Duration) {
	t.Helper()
	var told *problem.Problem
	if !errors.As(err, &told) || told.HTTPStatus() != status || told.RetryAfter != after {
		t.Fatalf("got %v (%+v), want status %d and Retry-After %v", err, told, status, after)
	}
}

func TestRateOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Options{Rate: 4, Burst: 3})
		for range 3 {
			admit(t, l, "a")()
		}
		_, err := l.Admit(t.Context(), key("a"))
		wantRefused(t, err, http.StatusTooManyRequests, 250*time.Millisecond)
		admit(t, l, "b")()
		time.Sleep(100 * time.Millisecond)
		_, err = l.Admit(t.Context(), key("a"))
		wantRefused(t, err, http.StatusTooManyRequests, 150*time.Millisecond)
		time.Sleep(150 * time.Millisecond)
		admit(t, l, "a")()
		if got := l.Stats(); got.RefusedRate != 2 || got.Admitted != 5 || got.InFlight != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestNumberAtATimeOfAKeyCountsThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Options{Rate: -1, PerKey: 2, InFlight: 1})
		release := admit(t, l, "a")
		second := make(chan func(), 1)
		go func() { second <- admit(t, l, "a") }()
		synctest.Wait()
		_, err := l.Admit(t.Context(), key("a"))
		wantRefused(t, err, http.StatusTooManyRequests, time.Second)
		release()
		release() // a second release gives nothing back
		(<-second)()
		if got := l.Stats(); got.InFlight != 0 || got.RefusedConcurrency != 1 || got.PeakInFlight != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestTheServersQueueIsBoundedAndTimed(t *testing.T) {
	for _, test := range []struct {
		name    string
		options limit.Options
		second  string // the key of the request that finds the queue full
	}{
		{"for each key", limit.Options{InFlight: 1, QueuePerKey: 1, MaxWait: time.Minute}, "a"},
		{"in total", limit.Options{InFlight: 1, Queue: 1, MaxWait: time.Minute}, "b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limit.New(unbounded(test.options))
				defer admit(t, l, "holder")()
				late := make(chan error, 1)
				began := time.Now()
				go func() {
					_, err := l.Admit(t.Context(), key("a"))
					late <- err
				}()
				synctest.Wait()
				_, err := l.Admit(t.Context(), key(test.second))
				wantRefused(t, err, http.StatusServiceUnavailable, 2*time.Second)
				wantRefused(t, <-late, http.StatusServiceUnavailable, time.Second)
				if waited := time.Since(began); waited != time.Minute {
					t.Errorf("waited %v, want a minute", waited)
				}
				if got := l.Stats(); got.Waiting != 0 || got.WaitingKeys != 0 || got.RefusedFull != 1 || got.RefusedLate != 1 {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}

// A key with many waiting requests does not delay the others by more than one
// of them in each round.
func TestWaitingKeysTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(unbounded(limit.Options{InFlight: 1}))
		release := admit(t, l, "holder")
		var order []string
		var wg sync.WaitGroup
		for _, id := range strings.Fields("a1 a2 a3 a4 a5 b1 b2 c1") {
			wg.Go(func() {
				release := admit(t, l, id[:1])
				order = append(order, id) // one runs at a time
				release()
			})
			synctest.Wait()
		}
		if got := l.Stats(); got.Waiting != 8 || got.WaitingKeys != 3 {
			t.Errorf("got %+v", got)
		}
		release()
		wg.Wait()
		if want := strings.Fields("a1 b1 c1 a2 b2 a3 a4 a5"); !slices.Equal(order, want) {
			t.Errorf("served in the order %v, want %v", order, want)
		}
	})
}

func TestACallerThatGoesAwayKeepsNoPlaceAndNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(unbounded(limit.Options{InFlight: 1}))
		release := admit(t, l, "holder")
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := l.Admit(ctx, key("a"))
			gone <- err
		}()
		synctest.Wait()
		next := make(chan func(), 1)
		go func() { next <- admit(t, l, "b") }()
		synctest.Wait()
		cancel()
		wantRefused(t, <-gone, http.StatusServiceUnavailable, 2*time.Second)
		release()
		(<-next)()
		if got := l.Stats(); got.InFlight != 0 || got.Waiting != 0 || got.WaitingKeys != 0 || got.Gone != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestIdleKeysAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Options{Rate: 1, Burst: 2})
		busy := admit(t, l, "busy")
		for i := range 1000 {
			admit(t, l, fmt.Sprint("key ", i))()
			time.Sleep(10 * time.Millisecond)
		}
		if got := l.Stats().Keys; got > 500 {
			t.Errorf("%d keys are remembered, and a bucket is full again after 100 of them", got)
		}
		time.Sleep(2 * time.Minute)
		admit(t, l, "another")()
		if got := l.Stats().Keys; got != 2 {
			t.Errorf("%d keys are remembered after a pause, want the busy one and the new one", got)
		}
		busy()
	})
}

func TestForgettingGivesNoRateAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Options{Rate: 0.001, Burst: 1})
		admit(t, l, "a")()
		for i := range 300 { // each one may sweep
			admit(t, l, fmt.Sprint("key ", i))()
			time.Sleep(time.Second)
		}
		if _, err := l.Admit(t.Context(), key("a")); err == nil {
			t.Error("the bucket of a key was empty, and it was forgotten")
		}
	})
}

func TestNobodyIsOneKey(t *testing.T) {
	l := limit.New(limit.Options{PerKey: 1})
	release, err := l.Admit(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Admit(t.Context(), nil)
	wantRefused(t, err, http.StatusTooManyRequests, time.Second)
	release()
}

// Whatever callers do, no more run than may, of one key and of all, and at the
// end every place is free.
func TestHammer(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { hammer(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func hammer(t *testing.T, random *rand.Rand) {
	inFlight, perKey := 1+random.IntN(5), 1+random.IntN(6)
	l := limit.New(limit.Options{
		Rate: -1, InFlight: inFlight, PerKey: perKey, Queue: 1 + random.IntN(20), QueuePerKey: 1 + random.IntN(5), MaxWait: 3 * time.Millisecond,
	})
	var running atomic.Int64
	var ofKey [5]atomic.Int64
	var wg sync.WaitGroup
	for worker := range 24 {
		choices := rand.New(rand.NewPCG(uint64(worker), random.Uint64()))
		wg.Go(func() {
			for range 150 {
				id := choices.IntN(len(ofKey))
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(choices.IntN(2000))*time.Microsecond)
				if release, err := l.Admit(ctx, key(fmt.Sprint(id))); err == nil {
					if n := running.Add(1); n > int64(inFlight) {
						t.Errorf("%d requests run, and %d may", n, inFlight)
					}
					if n := ofKey[id].Add(1); n > int64(perKey) {
						t.Errorf("%d requests of a key run, and %d may", n, perKey)
					}
					time.Sleep(time.Duration(choices.IntN(200)) * time.Microsecond)
					ofKey[id].Add(-1)
					running.Add(-1)
					release()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	got := l.Stats()
	if got.InFlight != 0 || got.Waiting != 0 || got.WaitingKeys != 0 || got.PeakInFlight > inFlight {
		t.Errorf("got %+v", got)
	}
	if sum := got.Admitted + got.RefusedConcurrency + got.RefusedFull + got.RefusedLate + got.Gone; sum < 24*150 {
		t.Errorf("%d requests are accounted for, of %d", sum, 24*150)
	}
	for range inFlight { // every place can be taken again
		admit(t, l, fmt.Sprint("new ", random.Uint64()))
	}
}

func BenchmarkAdmit(b *testing.B) {
	l := limit.New(limit.Options{Rate: -1, PerKey: -1})
	who := key("a")
	b.ReportAllocs()
	for b.Loop() {
		release, err := l.Admit(b.Context(), who)
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}
