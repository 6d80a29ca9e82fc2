package limit

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"vcphost/server/identity"
	"vcphost/server/problem"
)

// Limiter lets requests in within its bounds. It is safe for concurrent use.
type Limiter struct {
	opts Options

	mu       sync.Mutex
	keys     map[string]*key
	turns    []*key // the keys with waiting requests, the next one first
	inFlight int    // never above opts.InFlight
	waiting  int    // above zero only while inFlight is at its bound
	sweep    sweep
	counts   counts
}

// key is what is known of a key that is here or was lately.
type key struct {
	id      string
	bucket  *rate.Limiter // nil without a bound of the rate
	running int
	queue   []*ticket
}

// ticket is a request that waits. in is closed when it is let in.
type ticket struct {
	key *key
	in  chan struct{}
	let bool // guarded by the limiter's mu
}

// New makes a limiter.
func New(opts Options) *Limiter {
	return &Limiter{opts: opts.complete(), keys: map[string]*key{}, sweep: sweep{at: leastSweep, last: time.Now()}}
}

// Admit lets a request of a key in, at once or after waiting for its turn. The
// caller calls release when the request is over; calling it again does nothing.
// The error is a *problem.Problem: 429 where the key's own bounds are met, 503
// where the server's are or where ctx ends first. Callers without an identity
// share one key.
func (l *Limiter) Admit(ctx context.Context, who *identity.Identity) (release func(), err error) {
	id := ""
	if who != nil {
		id = who.KeyID
	}
	k, waits, err := l.enter(id)
	if err != nil {
		return nil, err
	}
	if waits != nil {
		if err := l.wait(ctx, waits); err != nil {
			return nil, err
		}
	}
	var once sync.Once
	return func() { once.Do(func() { l.leave(k) }) }, nil
}

// enter takes a place if there is one, else a ticket for one.
func (l *Limiter) enter(id string) (*key, *ticket, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	k := l.key(id, now)
	if err := l.within(k, now); err != nil {
		return nil, nil, err
	}
	if l.inFlight < l.opts.InFlight {
		l.start(k)
		return k, nil, nil
	}
	if len(k.queue) >= l.opts.QueuePerKey || l.waiting >= l.opts.Queue {
		l.counts.full++
		return nil, nil, problem.Unavailable(l.retry(), "the server is full, and so is the queue for it")
	}
	t := &ticket{key: k, in: make(chan struct{})}
	k.queue = append(k.queue, t)
	l.waiting++
	if len(k.queue) == 1 {
		l.turns = append(l.turns, k)
	}
	return k, t, nil
}

// within checks the bounds that are a key's own. The number at a time comes
// first: a request beyond it costs the key nothing of its rate.
func (l *Limiter) within(k *key, now time.Time) error {
	if k.running+len(k.queue) >= l.opts.PerKey {
		l.counts.concurrency++
		return problem.TooManyRequests(time.Second, "the key has %d requests under way, and no more are taken at a time", l.opts.PerKey)
	}
	if k.bucket != nil && !k.bucket.AllowN(now, 1) {
		l.counts.rate++
		missing := (1 - k.bucket.TokensAt(now)) / l.opts.Rate
		return problem.TooManyRequests(time.Duration(missing*float64(time.Second)), "the key is over its %g requests a second", l.opts.Rate)
	}
	return nil
}

// wait waits for the turn of a ticket.
func (l *Limiter) wait(ctx context.Context, t *ticket) error {
	timer := time.NewTimer(l.opts.MaxWait)
	defer timer.Stop()
	select {
	case <-t.in:
		return nil
	case <-timer.C:
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.let {
			return nil
		}
		l.withdraw(t)
		l.counts.late++
		return problem.Unavailable(l.retry(), "the server is full, and no place became free in %v", l.opts.MaxWait)
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.let {
			l.end(t.key)
		} else {
			l.withdraw(t)
		}
		l.counts.gone++
		return problem.Unavailable(l.retry(), "the request ended before its turn came")
	}
}

// withdraw takes a ticket that was not let in out of its queue.
func (l *Limiter) withdraw(t *ticket) {
	t.key.queue = without(t.key.queue, t)
	l.waiting--
	if len(t.key.queue) == 0 {
		l.turns = without(l.turns, t.key)
	}
}

func without[T comparable](list []T, gone T) []T {
	for i, element := range list {
		if element == gone {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}

func (l *Limiter) leave(k *key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(k)
}

func (l *Limiter) start(k *key) {
	k.running++
	l.inFlight++
	l.counts.admitted++
	l.counts.most = max(l.counts.most, l.inFlight)
}

// end gives a place back, and with it lets in who is next.
func (l *Limiter) end(k *key) {
	k.running--
	l.inFlight--
	for l.inFlight < l.opts.InFlight && len(l.turns) > 0 {
		next := l.turns[0]
		l.turns = l.turns[1:]
		t := next.queue[0]
		next.queue = next.queue[1:]
		l.waiting--
		l.start(next)
		t.let = true
		close(t.in)
		if len(next.queue) > 0 {
			l.turns = append(l.turns, next)
		}
	}
}

// longestRetry bounds what Retry-After says.
const longestRetry = 30 * time.Second

// retry is when a caller should come again: later, the more requests wait.
func (l *Limiter) retry() time.Duration {
	rounds := l.waiting / l.opts.InFlight
	return min(time.Second+time.Duration(rounds)*time.Second, longestRetry)
}
