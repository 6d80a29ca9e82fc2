package server

import (
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// parkAfter is how long a connection that had an answer waits for its next
// request with all that serving it takes: a stack, a buffer for the head of a
// request, a context, together some 16 KiB. From then on it is parked.
const parkAfter = time.Second

// When so many connections were parked, and for a while no more, what they had in
// memory goes back to the system. The runtime would keep most of it.
const (
	crowd      = 1000
	afterCrowd = 3 * parkAfter // their goroutines end within 2 * workerIdle
	workerIdle = parkAfter
)

// parked are the connections of a listener that wait for their next request with
// next to nothing in memory. To the server below they have ended; with the first
// byte of a request they come to it as new ones, and keep their place all along.
type parked struct {
	woken chan *conn // those that have got a byte
	over  chan struct{}

	mu      sync.Mutex
	waiting map[*conn]struct{}
	closed  bool
	since   int            // how many were parked since memory was given back
	running sync.WaitGroup // one for each that waits or was woken and is not taken yet
}

func newParked() *parked {
	return &parked{woken: make(chan *conn), over: make(chan struct{}), waiting: map[*conn]struct{}{}}
}

// park takes over a connection until its client sends something or the time is
// over. It returns false when the listener is closed.
func (p *parked) park(c *conn, until time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || c.Conn.SetReadDeadline(until) != nil {
		return false
	}
	p.waiting[c] = struct{}{}
	p.running.Go(func() { p.wait(c) })
	if p.since++; p.since == crowd {
		p.running.Go(p.giveBack)
	}
	return true
}

// giveBack waits until the crowd has settled. What it does costs a garbage
// collection.
func (p *parked) giveBack() {
	for last := 0; ; {
		select {
		case <-time.After(afterCrowd):
		case <-p.over:
			return
		}
		p.mu.Lock()
		settled := p.since == last
		if last = p.since; settled {
			p.since = 0
		}
		p.mu.Unlock()
		if settled {
			debug.FreeOSMemory()
			return
		}
	}
}

// wait is all that a parked connection has of a stack, so it is kept shallow.
func (p *parked) wait(c *conn) {
	n, _ := c.Conn.Read(c.first[:]) // an error comes again, or ends the connection here
	p.mu.Lock()
	delete(p.waiting, c)
	p.mu.Unlock()
	if n == 0 {
		_ = c.Close()
		return
	}
	c.hasFirst = true
	select {
	case p.woken <- c:
	case <-p.over:
		_ = c.Close()
	}
}

// close ends those that are parked; none is parked afterwards.
func (p *parked) close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.over)
	}
	for c := range p.waiting {
		_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // wait ends it
	}
	p.mu.Unlock()
	p.running.Wait()
}

// connectionState marks the connections that wait for their next request.
func connectionState(at net.Conn, state fasthttp.ConnState) {
	if wrapper, ok := at.(interface{ NetConn() net.Conn }); ok {
		at = wrapper.NetConn()
	}
	if c, ok := at.(*conn); ok {
		c.idle.Store(state == fasthttp.StateIdle)
	}
}
