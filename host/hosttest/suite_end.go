package hosttest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"vcphost/abi"
)

// tooLong bounds how long after its end a call may take to answer. It is wide,
// since a loaded machine must not fail the suite; a call that does not end at
// all is what it is for.
const tooLong = 15 * time.Second

// events gathers what a call reports.
type events struct {
	first chan struct{} // closed at the first event

	mu   sync.Mutex
	list []abi.Progress
}

func newEvents() *events { return &events{first: make(chan struct{})} }

func (e *events) report(event abi.Progress) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.list = append(e.list, event); len(e.list) == 1 {
		close(e.first)
	}
}

func (e *events) all() []abi.Progress {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]abi.Progress(nil), e.list...)
}

func (s *suite) testProgress(t *testing.T) {
	for _, steps := range []int{0, 1, 2, 500} {
		t.Run(fmt.Sprint(steps), func(t *testing.T) {
			seen := newEvents()
			call := s.call(t, "Progress", map[string]any{"steps": steps})
			call.Context.Progress = seen.report
			mustSucceed(t, s.Execute(context.Background(), t, call))
			checkSteps(t, seen.all(), steps)
		})
	}
}

// checkSteps: events may be left out, but they come in their order, and the
// last one always comes.
func checkSteps(t *testing.T, list []abi.Progress, steps int) {
	t.Helper()
	last := 0
	for _, event := range list {
		var step, of int
		if _, err := fmt.Sscanf(event.Message, "%d of %d", &step, &of); err != nil || of != steps || step <= last || event.Stage != "step" {
			t.Fatalf("got event %+v after step %d of %d", event, last, steps)
		}
		if want := float64(step) / float64(steps); event.Progress == nil || *event.Progress != want {
			t.Errorf("event %d has progress %v, want %v", step, event.Progress, want)
		}
		last = step
	}
	if last != steps {
		t.Errorf("the last event is %d, want %d", last, steps)
	}
}

func (s *suite) testCancel(t *testing.T) {
	for _, command := range []string{"Wait", "Spin"} {
		t.Run(command, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			seen := newEvents()
			call := s.call(t, command, nil)
			call.Context.Progress = seen.report
			done := make(chan *abi.Result, 1)
			go func() { done <- s.Execute(ctx, t, call) }()
			<-seen.first // the plugin runs
			cancel()
			mustFail(t, within(t, done), abi.StatusCancelled, abi.CodeToolCancelled)
			s.checkSawCancellation(t, command, seen.all())
			s.works(t)
		})
	}
	t.Run("before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		mustFail(t, s.Execute(ctx, t, s.call(t, "Spin", nil)), abi.StatusCancelled, abi.CodeToolCancelled)
	})
}

func (s *suite) checkSawCancellation(t *testing.T, command string, list []abi.Progress) {
	t.Helper()
	if command != "Wait" || s.harness.EndsPlugins {
		return
	}
	if last := list[len(list)-1]; last.Stage != "cancelled" {
		t.Errorf("the plugin did not see that it was cancelled; its last event is %+v", last)
	}
}

func within(t *testing.T, done <-chan *abi.Result) *abi.Result {
	t.Helper()
	select {
	case result := <-done:
		return result
	case <-time.After(tooLong):
		t.Fatalf("the call did not end within %v of its context", tooLong)
		return nil
	}
}

func (s *suite) testDeadline(t *testing.T) {
	for _, test := range []struct {
		command   string
		arguments map[string]any
	}{
		{"Wait", nil},
		{"Spin", nil},
		{"Sleep", map[string]any{"ms": time.Hour.Milliseconds()}},
	} {
		t.Run(test.command, func(t *testing.T) {
			call := s.call(t, test.command, test.arguments)
			call.Options.TimeoutMs = 200
			began := time.Now()
			result := s.Execute(context.Background(), t, call)
			mustFail(t, result, abi.StatusTimeout, abi.CodeToolTimeout)
			if took := time.Since(began); took < 200*time.Millisecond || took > tooLong {
				t.Errorf("the call took %v, want 200 ms and little more", took)
			}
			if got, want := result.Execution.TimeoutMs, int64(200); got != want {
				t.Errorf("got timeoutMs %d, want %d", got, want)
			}
			s.works(t)
		})
	}
	mustSucceed(t, s.run(t, "Sleep", map[string]any{"ms": 5}))
}
