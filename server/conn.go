package server

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"vcphost/server/pace"
)

// pieceBytes is how much of an answer a client must take within the write
// time-out.
const pieceBytes = 64 << 10

// listener hands out connections that have the limits of this package: at most
// so many at a time, and a time-out for each piece of what is written. A
// connection too many is told so and closed.
type listener struct {
	net.Listener
	places     chan struct{} // holds an element for each open connection
	writeStall time.Duration
	partings   *partings
}

// Accept waits for the next connection that has a place.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.places <- struct{}{}:
			return &conn{Conn: accepted, of: l}, nil
		default:
			if !l.partings.begin(accepted, fullAnswer()) {
				_ = accepted.Close() // nobody could do anything about its error
			}
		}
	}
}

// conn is a connection with a place.
type conn struct {
	net.Conn
	of   *listener
	held atomic.Bool // somebody else has set a write deadline
	left atomic.Bool // the place was given back
	late atomic.Bool // the client may still send what nobody will read
}

// Write gives up a client that takes less than a piece within the time-out.
func (c *conn) Write(p []byte) (int, error) { return pace.Write(c.Conn, p, pieceBytes, c.extend) }

func (c *conn) extend() error {
	if c.held.Load() {
		return nil
	}
	return c.Conn.SetWriteDeadline(time.Now().Add(c.of.writeStall))
}

// SetWriteDeadline takes the place of the time-out until it is called with zero.
func (c *conn) SetWriteDeadline(deadline time.Time) error {
	c.held.Store(!deadline.IsZero())
	return c.Conn.SetWriteDeadline(deadline)
}

// SetDeadline does so for both directions.
func (c *conn) SetDeadline(deadline time.Time) error {
	c.held.Store(!deadline.IsZero())
	return c.Conn.SetDeadline(deadline)
}

// SyscallConn gives the connection as the system has it; its error is
// errors.ErrUnsupported where there is none.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if raw, ok := c.Conn.(syscall.Conn); ok {
		return raw.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// Linger has Close give a client that may still send a moment to take the answer,
// also where nothing of that has come yet.
func (c *conn) Linger() { c.late.Store(true) }

// Close ends the connection and gives its place back. A client that is still
// sending what nobody will read is given a moment to take the answer.
func (c *conn) Close() error {
	if c.left.Swap(true) {
		return net.ErrClosed
	}
	defer func() { <-c.of.places }()
	if (c.late.Load() || unread(c.Conn)) && c.of.partings.begin(c.Conn, nil) {
		return nil
	}
	return c.Conn.Close()
}
