package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vcphost/abi"
	"vcphost/host/registry"
)

func testBreakers(failures int) (*breakers, *registry.Plugin) {
	return newBreakers(BreakerOptions{Failures: failures, Pause: 10 * time.Second}, slog.New(slog.DiscardHandler)), &registry.Plugin{Name: "Test"}
}

// drive makes one call that ends at once for each letter: f fails, w works,
// u says nothing. A call that is refused is a dot in what comes back.
func drive(b *breakers, plugin *registry.Plugin, calls string) string {
	told := ""
	for _, c := range calls {
		pass, err := b.enter(plugin)
		if err != nil {
			told += "."
			continue
		}
		told += string(c)
		pass.leave(map[rune]outcome{'f': failed, 'w': worked, 'u': unknown}[c])
	}
	return told
}

func TestBreakerStates(t *testing.T) {
	for _, test := range []struct {
		name, before, after string // calls before and after the pause
		wantBefore          string
		wantAfter           string
		want                BreakerState
	}{
		{"failures in a row open it", "fffww", "", "fff..", "", BreakerHalfOpen},
		{"a success between them does not", "ffwffwff", "", "ffwffwff", "", BreakerClosed},
		{"a time-out between them changes nothing", "fufuf" + "f", "", "fufuf.", "", BreakerHalfOpen},
		{"time-outs never open it", "uuuuuuuu", "", "uuuuuuuu", "", BreakerClosed},
		{"one success closes it again", "fff", "wffw", "fff", "wffw", BreakerClosed},
		{"one failure opens it again", "fff", "fww", "fff", "f..", BreakerOpen},
		{"a probe that says nothing leaves the next to try", "fff", "uuwf", "fff", "uuwf", BreakerClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, plugin := testBreakers(3)
				if got := drive(b, plugin, test.before); got != test.wantBefore {
					t.Errorf("before the pause %s, want %s", got, test.wantBefore)
				}
				time.Sleep(10 * time.Second)
				if got := drive(b, plugin, test.after); got != test.wantAfter {
					t.Errorf("after the pause %s, want %s", got, test.wantAfter)
				}
				if got := b.byName["Test"].state(time.Now()); got != test.want {
					t.Errorf("the breaker is %s, want %s", got, test.want)
				}
			})
		})
	}
}

func TestBreakerLetsOneCallTryAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, plugin := testBreakers(1)
		drive(b, plugin, "f")
		time.Sleep(4 * time.Second)
		wantRetry(t, b, plugin, 6000)
		time.Sleep(6 * time.Second)
		probe, err := b.enter(plugin)
		if err != nil {
			t.Fatal(err)
		}
		wantRetry(t, b, plugin, 1000)
		probe.leave(worked)
		if got := drive(b, plugin, "w"); got != "w" {
			t.Errorf("got %s after a probe that worked", got)
		}
	})
}

func wantRetry(t *testing.T, b *breakers, plugin *registry.Plugin, ms int) {
	t.Helper()
	_, err := b.enter(plugin)
	var told *abi.Error
	if !errors.As(err, &told) || told.Code != abi.CodeDependencyUnavailable || !told.Retryable {
		t.Fatalf("got %v, want a retryable %s", err, abi.CodeDependencyUnavailable)
	}
	if want := fmt.Sprintf(`{"reason":"circuit_open","retryAfterMs":%d}`, ms); string(told.Details) != want {
		t.Errorf("got details %s, want %s", told.Details, want)
	}
}

// What began before the breaker changed its state has no say afterwards.
func TestBreakerIgnoresWhatBeganBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, plugin := testBreakers(1)
		early, err := b.enter(plugin)
		if err != nil {
			t.Fatal(err)
		}
		drive(b, plugin, "f")
		early.leave(worked)
		if got := drive(b, plugin, "w"); got != "." {
			t.Error("a call from before closed the breaker")
		}
		time.Sleep(10 * time.Second)
		drive(b, plugin, "w")
		early.leave(failed)
		if got := drive(b, plugin, "w"); got != "w" {
			t.Error("a call from before opened the breaker")
		}
	})
}

func TestBreakerOfAPluginLoadedAnewIsClosed(t *testing.T) {
	b, plugin := testBreakers(1)
	drive(b, plugin, "f")
	if got := drive(b, &registry.Plugin{Name: "Test"}, "w"); got != "w" {
		t.Error("the breaker of the plugin before is still open")
	}
}

func TestBreakerCanBeSwitchedOff(t *testing.T) {
	b, plugin := testBreakers(-1)
	if got := drive(b, plugin, "ffffffffff"); got != "ffffffffff" {
		t.Errorf("got %s", got)
	}
}

func TestOutcomeOf(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name string
		ctx  context.Context
		err  error
		want outcome
	}{
		{"an answer", t.Context(), nil, worked},
		{"an answer that comes too late", over, nil, unknown},
		{"a failure once the caller has gone", over, abi.NewError(abi.CodeTransportFailure, "x"), unknown},
		{"the transport's failure", t.Context(), abi.NewError(abi.CodeTransportFailure, "x"), failed},
		{"a wrapped one", t.Context(), fmt.Errorf("x: %w", abi.NewError(abi.CodeTransportFailure, "x")), failed},
		{"a node that is away", t.Context(), abi.NewError(abi.CodeDistributedNodeOffline, "x"), failed},
		{"the host's own", t.Context(), abi.NewError(abi.CodeInternalError, "x"), failed},
		{"any other Go error", t.Context(), errors.New("x"), failed},
		{"a deadline of the transport's own", t.Context(), context.DeadlineExceeded, unknown},
		{"a time-out", t.Context(), abi.NewError(abi.CodeToolTimeout, "x"), unknown},
		{"a trap", t.Context(), abi.NewError(abi.CodeSandboxTrap, "x"), worked},
		{"a limit", t.Context(), abi.NewError(abi.CodeResourceTooLarge, "x"), worked},
		{"nonsense", t.Context(), abi.NewError(abi.CodeInvalidToolResult, "x"), worked},
		{"the plugin's own", t.Context(), abi.NewError("TEST.X", "x"), worked},
		{"what the plugin depends on", t.Context(), abi.NewError(abi.CodeDependencyUnavailable, "x"), worked},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := outcomeOf(test.ctx, test.err); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// Many callers at once never leave a half-open breaker without a way on.
func TestBreakerHammer(t *testing.T) {
	b := newBreakers(BreakerOptions{Failures: 2, Pause: 100 * time.Microsecond}, slog.New(slog.DiscardHandler))
	plugin := &registry.Plugin{Name: "Test"}
	host := &Host{breakers: b}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 2000 {
				if pass, err := b.enter(plugin); err == nil {
					pass.leave(outcome(rand.IntN(3)))
				}
				if i%100 == 0 {
					host.ResetBreaker("Test")
				}
				host.Breaker("Test")
			}
		})
	}
	wg.Wait()
	time.Sleep(time.Millisecond)
	if got := drive(b, plugin, "w"); got != "w" {
		t.Errorf("the breaker is stuck: %+v", host.Breaker("Test"))
	}
}
