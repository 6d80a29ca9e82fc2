package sandbox

import (
	"slices"
	"sync/atomic"
	"time"

	"vcphost/sandbox/hostfunc"
)

const (
	// pieceBytes is the most that one host function takes from the guest at a
	// time, or gives it, when it may wait: its bytes are copied, since the guest's
	// memory may be another call's before it is done.
	pieceBytes = 1 << 20
	// waitGrace is how long a host function may still take once the call is over.
	waitGrace = 5 * time.Millisecond
)

// The ends of a host function that runs beside its guest.
const (
	stillRuns int32 = iota
	finished
	abandoned
)

// waitInPieces runs a host function that may have to wait, and one that appends
// what it is given as often as that takes; the results then add up.
func (g *guest) waitInPieces(f hostFunction, call guestCall, spans [][]byte) {
	if !f.waits.pieces || len(spans[0]) <= pieceBytes {
		g.waitFor(f, call, spans)
		return
	}
	arguments, total := slices.Clone(call.stack), int32(0)
	for piece := range slices.Chunk(spans[0], pieceBytes) {
		copy(call.stack, arguments)
		g.waitFor(f, call, [][]byte{piece})
		if call.i32(0) < 0 {
			return
		}
		total += call.i32(0)
	}
	call.returnI32(total)
}

// waitFor runs a host function that may have to wait beside the guest, so that
// the call is answered when it is over even if the function never returns. What
// it leaves open then, it closes when it does return.
func (g *guest) waitFor(f hostFunction, call guestCall, spans [][]byte) {
	w := waiting{f: f, call: call.Call, stack: slices.Clone(call.stack), done: make(chan struct{})}
	for i, span := range spans {
		// One byte too many is enough to see that a bound is exceeded.
		own := make([]byte, min(len(span), pieceBytes+1))
		if i+1 != f.waits.out {
			copy(own, span)
		}
		w.spans = append(w.spans, own)
	}
	ended := false
	if g.away(func() { ended = g.await(&w) }); !ended {
		g.run.abandoned = true
		panic(errOver)
	}
	copy(call.stack, w.stack)
	if f.waits.out == 0 {
		return
	}
	from, to := w.spans[f.waits.out-1], spans[f.waits.out-1]
	if n := call.i32(0); n > 0 && int(n) <= len(from) {
		copy(to, from[:n])
	}
}

// waiting is a host function that runs beside its guest, with its own copy of
// everything that it uses.
type waiting struct {
	f     hostFunction
	call  *hostfunc.Call
	stack []uint64
	spans [][]byte
	end   atomic.Int32
	done  chan struct{}
}

func (w *waiting) run() {
	w.f.safely(guestCall{w.call, w.stack}, w.spans)
	close(w.done)
	if !w.end.CompareAndSwap(stillRuns, finished) {
		w.call.Close()
	}
}

// await runs the function and waits for its end, or until the call is over.
func (g *guest) await(w *waiting) (ended bool) {
	g.plugin.sandbox.waits.Go(w.run)
	select {
	case <-w.done:
		return true
	case <-g.run.ctx.Done():
	}
	timer := time.NewTimer(waitGrace)
	defer timer.Stop()
	select {
	case <-w.done:
		return true
	case <-timer.C:
	}
	return !w.end.CompareAndSwap(stillRuns, abandoned)
}
