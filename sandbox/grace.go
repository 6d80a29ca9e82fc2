package sandbox

import (
	"context"
	"time"
)

// grace is how long a guest may go on once its call is over, so that one that
// asks whether it is cancelled can still see it and finish; nothing that it
// returns counts. A call is answered well within 50 ms of its end.
const grace = 20 * time.Millisecond

// withGrace gives a context for the engine that ends a grace after ctx does. The
// returned function ends it at once.
func withGrace(ctx context.Context) (context.Context, func()) {
	if ctx.Err() != nil {
		return ctx, func() {}
	}
	guest, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-guest.Done():
		}
	})
	return guest, func() {
		stop()
		cancel()
	}
}
