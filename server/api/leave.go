package api

import (
	"context"
	"errors"
	"sync"
	"time"
)

// leaveInterval is how often a connection is looked into while a call runs.
const leaveInterval = 100 * time.Millisecond

// errClientLeft is why the context of a call ended whose client closed the
// connection.
var errClientLeft = errors.New("the client left")

// untilClientLeaves gives a context that ends when the client closes the
// connection. The returned function ends the watch and waits for it.
func (r *Request) untilClientLeaves() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	conn := plainConn(r.fiber.Context().Conn())
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(leaveInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if peerLeft(conn) {
					cancel(errClientLeft)
					return
				}
			}
		}
	})
	return ctx, func() {
		cancel(nil)
		wg.Wait()
	}
}
