package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"vcphost/abi"
	"vcphost/host/registry"
)

// BreakerOptions say when the circuit breaker of a plugin opens. The zero value
// means the defaults.
type BreakerOptions struct {
	// Failures is how many failures of the transport in a row open the breaker;
	// default 5, negative never opens it.
	Failures int
	// Pause is how long an open breaker refuses calls before it lets one try;
	// default 10 s.
	Pause time.Duration
}

const (
	defaultBreakerFailures = 5
	defaultBreakerPause    = 10 * time.Second
	// probeRetry is when to come again while somebody else's call tries.
	probeRetry = time.Second
)

// BreakerState is the state of a circuit breaker.
type BreakerState string

// The states of a circuit breaker. One that is half-open lets one call at a time
// try.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half-open"
)

// BreakerStatus is what a circuit breaker tells of itself.
type BreakerStatus struct {
	Plugin       string       `json:"plugin"`
	State        BreakerState `json:"state"`
	Failures     int          `json:"failures"`     // of the transport, in a row
	Opened       uint64       `json:"opened"`       // how often it opened since the plugin was loaded
	Refused      uint64       `json:"refused"`      // calls that it refused since then
	RetryAfterMs int64        `json:"retryAfterMs"` // until it lets a call try; 0 unless it is open
}

// Breaker tells of the circuit breaker of a plugin, by its name. A plugin that
// was never called has a closed one.
func (h *Host) Breaker(plugin string) BreakerStatus {
	h.breakers.mu.Lock()
	defer h.breakers.mu.Unlock()
	if b, ok := h.breakers.byName[plugin]; ok {
		return b.status(time.Now())
	}
	return BreakerStatus{Plugin: plugin, State: BreakerClosed}
}

// ResetBreaker closes the circuit breaker of a plugin. Calls that still run do
// not count against it.
func (h *Host) ResetBreaker(plugin string) {
	h.breakers.mu.Lock()
	defer h.breakers.mu.Unlock()
	if b, ok := h.breakers.byName[plugin]; ok {
		b.close()
	}
}

// breakers are the circuit breakers of the plugins that were called. A plugin
// that was loaded anew begins with a closed one.
//
// It is code of our own: the known libraries tell no remaining pause, or have no
// outcome that is neither success nor failure, so that a caller who cancels a
// probe would decide for everybody.
type breakers struct {
	opts   BreakerOptions
	logger *slog.Logger

	mu     sync.Mutex
	byName map[string]*breaker
}

// breaker is guarded by the mutex of its breakers. Its generation changes with
// its state, so that calls which began before have no say in what came after.
type breaker struct {
	plugin     *registry.Plugin
	failures   int
	open       bool      // also while it is half-open
	until      time.Time // when open: the end of the pause
	probing    bool      // when half-open: a call tries
	generation uint64

	opened, refused uint64
}

func newBreakers(opts BreakerOptions, logger *slog.Logger) *breakers {
	if opts.Failures == 0 {
		opts.Failures = defaultBreakerFailures
	}
	if opts.Pause <= 0 {
		opts.Pause = defaultBreakerPause
	}
	return &breakers{opts: opts, logger: logger, byName: map[string]*breaker{}}
}

// passage is the leave of one call to reach its plugin.
type passage struct {
	of         *breakers
	breaker    *breaker
	generation uint64
	probe      bool
}

// enter lets a call pass or refuses it. Whoever passes must leave.
func (b *breakers) enter(plugin *registry.Plugin) (passage, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	one, ok := b.byName[plugin.Name]
	if !ok || one.plugin != plugin {
		one = &breaker{plugin: plugin}
		b.byName[plugin.Name] = one
	}
	now := time.Now()
	switch one.state(now) {
	case BreakerOpen:
		return passage{}, one.refuse(one.until.Sub(now))
	case BreakerHalfOpen:
		if one.probing {
			return passage{}, one.refuse(probeRetry)
		}
		one.probing = true
		return passage{b, one, one.generation, true}, nil
	}
	return passage{b, one, one.generation, false}, nil
}

func (b *breaker) refuse(after time.Duration) *abi.Error {
	b.refused++
	ms := max(1, after.Milliseconds())
	return abi.NewError(abi.CodeDependencyUnavailable, "the plugin %q could not be reached lately; it may be tried again in %d ms", b.plugin.Name, ms).
		WithTarget(b.plugin.Name).WithDetails(map[string]any{"reason": "circuit_open", "retryAfterMs": ms})
}

// outcome is what a call says of the way to its plugin.
type outcome int

const (
	failed outcome = iota // the zero value: a transport that panicked said nothing
	worked
	unknown
)

// leave tells how a call went.
func (p passage) leave(how outcome) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	b := p.breaker
	if p.generation != b.generation {
		return
	}
	if p.probe {
		b.probing = false
	}
	switch {
	case how == worked && b.open:
		b.close()
		p.of.logger.Info("a plugin can be reached again", "plugin", b.plugin.Name)
	case how == worked:
		b.failures = 0
	case how == failed:
		b.failures++
		if p.probe || p.of.opts.Failures > 0 && b.failures >= p.of.opts.Failures {
			b.trip(time.Now().Add(p.of.opts.Pause))
			p.of.logger.Warn("a plugin cannot be reached, and calls of it are refused for a while",
				"plugin", b.plugin.Name, "failures", b.failures, "pauseMs", p.of.opts.Pause.Milliseconds())
		}
	}
}

func (b *breaker) trip(until time.Time) {
	b.open, b.until = true, until
	b.opened++
	b.generation++
}

func (b *breaker) close() {
	b.open, b.failures, b.probing = false, 0, false
	b.generation++
}

func (b *breaker) state(now time.Time) BreakerState {
	switch {
	case !b.open:
		return BreakerClosed
	case now.Before(b.until):
		return BreakerOpen
	}
	return BreakerHalfOpen
}

func (b *breaker) status(now time.Time) BreakerStatus {
	status := BreakerStatus{Plugin: b.plugin.Name, State: b.state(now), Failures: b.failures, Opened: b.opened, Refused: b.refused}
	if status.State == BreakerOpen {
		status.RetryAfterMs = max(1, b.until.Sub(now).Milliseconds())
	}
	return status
}

// outcomeOf tells what the end of an Invoke says of the transport. Only that the
// plugin was not reached is a failure: TRANSPORT_FAILURE,
// DISTRIBUTED_NODE_OFFLINE, INTERNAL_ERROR and errors that no transport should
// return. A plugin that fails, traps, exceeds a limit or answers nonsense was
// reached. A deadline or a cancellation tells nothing either way: how short the
// one is and when the other comes is up to the caller.
func outcomeOf(ctx context.Context, err error) outcome {
	switch code := abi.CodeOf(err); {
	case ctx.Err() != nil, code == abi.CodeToolTimeout, code == abi.CodeToolCancelled:
		return unknown
	case err == nil:
		return worked
	case code == abi.CodeTransportFailure, code == abi.CodeDistributedNodeOffline, code == abi.CodeInternalError:
		return failed
	case code != "":
		return worked
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return unknown
	}
	return failed
}
