package api

import (
	"context"
	"errors"
	"net"
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
	return untilPeerLeaves(r.ctx, plainConn(r.fiber.Context().Conn()))
}

// untilPeerLeaves is the same for work that outlives its handler. A client that
// closes only its own direction counts as one that left: until something is
// written, nothing tells the two apart. More bytes, such as a further request,
// do not.
func untilPeerLeaves(parent context.Context, conn net.Conn) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
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
