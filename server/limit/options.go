package limit

import (
	"math"
	"runtime"
	"time"
)

// Options are the bounds of a [Limiter]; a zero field means its default. A
// negative Rate or PerKey means no such bound.
type Options struct {
	// InFlight is how many requests of all keys run at a time; default 16 for
	// each processor that Go uses, and at least 64: calls that compute share the
	// processors anyway, and those that wait for something need none.
	InFlight int
	// PerKey is how many requests of one key run or wait at a time; default 16,
	// a quarter of the smallest InFlight, so that no key fills the server.
	PerKey int
	// Rate is how many requests a second of one key are taken in the long run;
	// default 50.
	Rate float64
	// Burst is how many requests a key may make at once after a pause; default
	// twice the rate, 100.
	Burst int
	// Queue is how many requests of all keys wait; default 1024.
	Queue int
	// QueuePerKey is how many requests of one key wait; default as PerKey, which
	// then is the bound that is met first.
	QueuePerKey int
	// MaxWait is how long a request waits at most; default 10 s, after which most
	// callers have a time-out of their own.
	MaxWait time.Duration
}

const (
	inFlightPerProcessor = 16
	leastInFlight        = 64
	defaultPerKey        = 16
	defaultRate          = 50
	defaultQueue         = 1024
	defaultMaxWait       = 10 * time.Second
)

// complete puts the defaults in place of what is missing.
func (o Options) complete() Options {
	if o.InFlight <= 0 {
		o.InFlight = max(leastInFlight, inFlightPerProcessor*runtime.GOMAXPROCS(0))
	}
	switch {
	case o.PerKey < 0:
		o.PerKey = math.MaxInt
	case o.PerKey == 0:
		o.PerKey = defaultPerKey
	}
	if o.Rate == 0 {
		o.Rate = defaultRate
	}
	if o.Burst <= 0 {
		o.Burst = max(1, int(min(2*o.Rate, math.MaxInt32)))
	}
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	if o.QueuePerKey <= 0 {
		o.QueuePerKey = o.PerKey
	}
	if o.MaxWait <= 0 {
		o.MaxWait = defaultMaxWait
	}
	return o
}
