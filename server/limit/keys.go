package limit

import (
	"time"

	"golang.org/x/time/rate"
)

// sweep says when keys are looked through for those that can be forgotten: when
// their number has doubled since, and now and then.
type sweep struct {
	at   int
	last time.Time
}

const (
	leastSweep = 64
	sweepEvery = time.Minute
)

// key finds a key, or makes one.
func (l *Limiter) key(id string, now time.Time) *key {
	if k, ok := l.keys[id]; ok {
		return k
	}
	if len(l.keys) >= l.sweep.at || now.Sub(l.sweep.last) >= sweepEvery {
		l.forget(now)
	}
	k := &key{id: id}
	if l.opts.Rate > 0 {
		k.bucket = rate.NewLimiter(rate.Limit(l.opts.Rate), l.opts.Burst)
	}
	l.keys[id] = k
	return k
}

// forget drops the keys whose state is that of a new one.
func (l *Limiter) forget(now time.Time) {
	for id, k := range l.keys {
		idle := k.running == 0 && len(k.queue) == 0
		if idle && (k.bucket == nil || k.bucket.TokensAt(now) >= float64(l.opts.Burst)) {
			delete(l.keys, id)
		}
	}
	l.sweep = sweep{at: max(leastSweep, 2*len(l.keys)), last: now}
}

// counts are what a limiter did since it was made.
type counts struct {
	admitted, rate, concurrency, full, late, gone uint64
	most                                          int
}

// Stats are figures of a limiter at one moment. The counters only grow.
type Stats struct {
	InFlight     int `json:"inFlight"`     // requests that run
	MaxInFlight  int `json:"maxInFlight"`  // how many of them there may be
	PeakInFlight int `json:"peakInFlight"` // how many of them there ever were
	Waiting      int `json:"waiting"`
	WaitingKeys  int `json:"waitingKeys"`
	Keys         int `json:"keys"` // that are remembered

	Admitted           uint64 `json:"admitted"`
	RefusedRate        uint64 `json:"refusedRate"`        // 429: over the rate of a key
	RefusedConcurrency uint64 `json:"refusedConcurrency"` // 429: over the number at a time of a key
	RefusedFull        uint64 `json:"refusedFull"`        // 503: server and queue are full
	RefusedLate        uint64 `json:"refusedLate"`        // 503: waited for too long
	Gone               uint64 `json:"gone"`               // ended while they waited
}

// Stats gives the figures.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{
		InFlight: l.inFlight, MaxInFlight: l.opts.InFlight, PeakInFlight: l.counts.most,
		Waiting: l.waiting, WaitingKeys: len(l.turns), Keys: len(l.keys),
		Admitted: l.counts.admitted, RefusedRate: l.counts.rate, RefusedConcurrency: l.counts.concurrency,
		RefusedFull: l.counts.full, RefusedLate: l.counts.late, Gone: l.counts.gone,
	}
}
