package api

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp"
)

// sending is the body of an answer on its way to the client, after its handler
// returned: the place that the request has within the bounds goes with it, each
// piece has the stall time, and the server's end ends it. Call end once.
type sending struct {
	conn     *fasthttp.RequestCtx // it takes its deadlines back itself, with what it buffers flushed
	lifetime context.Context      // of the server
	stall    time.Duration
	release  func()
	unhook   func() bool
	stopped  chan struct{} // closed when the server's end has reached the connection
}

func (r *Request) startSending() *sending {
	s := &sending{
		conn: r.fiber.Context(), lifetime: r.api.opts.Lifetime, stall: r.api.opts.TransferStall,
		release: r.detach(), stopped: make(chan struct{}),
	}
	s.unhook = context.AfterFunc(s.lifetime, func() {
		defer close(s.stopped)
		_ = s.conn.SetWriteDeadline(time.Unix(1, 0)) // ends a write that waits for the client
	})
	return s
}

// extend gives the client the stall time from now; the error says that the
// server has stopped.
func (s *sending) extend() error {
	// A connection that takes no deadline any more fails when it is written to.
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.stall))
	// In this order: the server's end either finds this deadline or is found here.
	if s.lifetime.Err() != nil {
		return errors.New("the server has stopped")
	}
	return nil
}

// end lets go of the connection and of the request's place.
func (s *sending) end() {
	if !s.unhook() {
		<-s.stopped // else it could reach the connection's next request
	}
	s.release()
}
