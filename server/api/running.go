package api

import (
	"context"
	"errors"
	"sync"

	"vcphost/abi"
	"vcphost/server/identity"
)

// errInterrupted is why the context of a call ended that its caller stopped.
var errInterrupted = errors.New("interrupted by request")

// running knows the calls that run, so that they can be stopped by id. It is
// safe for concurrent use.
type running struct {
	mu    sync.Mutex
	calls map[*runningCall]struct{}
}

type runningCall struct {
	owner                   abi.Owner
	requestID, invocationID string
	cancel                  context.CancelCauseFunc
}

func newRunning() *running { return &running{calls: map[*runningCall]struct{}{}} }

// begin registers a call; the returned function ends it. A request of several
// calls is registered itself too, without an invocation id.
func (r *running) begin(ctx context.Context, owner abi.Owner, requestID, invocationID string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	call := &runningCall{owner, requestID, invocationID, cancel}
	r.mu.Lock()
	r.calls[call] = struct{}{}
	r.mu.Unlock()
	return ctx, func() {
		r.mu.Lock()
		delete(r.calls, call)
		r.mu.Unlock()
		cancel(nil)
	}
}

// interrupt stops the calls with one of the ids that the caller may stop, and
// gives their invocation ids.
func (r *running) interrupt(who *identity.Identity, requestID, invocationID string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	stopped := []string{}
	for call := range r.calls {
		named := requestID != "" && call.requestID == requestID || invocationID != "" && call.invocationID == invocationID
		if named && who.Viewer().MayRead(call.owner) {
			call.cancel(errInterrupted)
			if call.invocationID != "" {
				stopped = append(stopped, call.invocationID)
			}
		}
	}
	return stopped
}

// count is how many calls run.
func (r *running) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for call := range r.calls {
		if call.invocationID != "" { // not the request of several calls itself
			n++
		}
	}
	return n
}
