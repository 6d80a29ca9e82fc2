package server

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"vcphost/server/problem"
)

const (
	// maxPartings bounds the connections that are parted from at a time; those
	// beyond are closed without a word.
	maxPartings = 64
	// lastWords is how long a client has to take the last answer, and
	// lastWordsBytes how much of what it still sends is read for that: the system
	// throws away an answer that is on its way when a connection is closed with
	// bytes of the client's unread.
	lastWords      = time.Second
	lastWordsBytes = 16 << 20
)

// partings are the connections that nothing is served on any more and that are
// not closed yet. Each ends by itself after lastWords.
type partings struct {
	places  chan struct{}
	working sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

func newPartings() *partings { return &partings{places: make(chan struct{}, maxPartings)} }

// begin sends a client some last words and closes its connection in a while. It
// does nothing and returns false where too many are parted from already.
func (p *partings) begin(c net.Conn, words []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	select {
	case p.places <- struct{}{}:
		p.working.Go(func() {
			defer func() { <-p.places }()
			part(c, words)
		})
		return true
	default:
		return false
	}
}

// close waits for those that were begun; none begins afterwards.
func (p *partings) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.working.Wait()
}

func part(c net.Conn, words []byte) {
	defer c.Close()
	if c.SetDeadline(time.Now().Add(lastWords)) != nil {
		return
	}
	if _, err := c.Write(words); err != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c, lastWordsBytes) // however it ends, the connection does
}

// fullAnswer is what a connection too many is told, whatever it asks.
func fullAnswer() []byte {
	told := problem.Unavailable(time.Second, "there are too many connections")
	body := told.Bytes()
	return fmt.Appendf(nil, "HTTP/1.1 %d Service Unavailable\r\nContent-Type: %s\r\nRetry-After: %d\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		told.HTTPStatus(), problem.MediaType, told.RetryAfterSeconds(), len(body), body)
}
