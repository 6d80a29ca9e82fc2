package server

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"vcphost/server/pace"
)

// pieceBytes is how much of an answer a client must take within the write
// time-out.
const pieceBytes = 64 << 10

// conn is a connection with a place.
type conn struct {
	net.Conn
	of   *listener
	held atomic.Bool // somebody else has set a write deadline
	left atomic.Bool // the place was given back
	late atomic.Bool // the client may still send what nobody will read

	idle      atomic.Bool // it waits for its next request
	idleUntil time.Time   // when it has waited too long; only while it is idle
	parking   atomic.Bool // Close is to park it
	hasFirst  bool
	first     [1]byte // what it got while it was parked
}

// Read reads. To the server, a connection that has been idle for a while ends
// here, and is parked when it closes it.
func (c *conn) Read(p []byte) (int, error) {
	if c.hasFirst && len(p) > 0 {
		c.hasFirst = false
		return copy(p, c.first[:]), nil
	}
	n, err := c.Conn.Read(p)
	if err != nil && n == 0 && c.idle.Load() && errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(c.idleUntil) {
		c.parking.Store(true)
		return 0, io.EOF
	}
	return n, err
}

// SetReadDeadline ends an idle connection's wait earlier, when it is to be parked.
func (c *conn) SetReadDeadline(deadline time.Time) error {
	if c.idle.Load() && !deadline.IsZero() {
		c.idleUntil = deadline
		if park := time.Now().Add(parkAfter); park.Before(deadline) {
			deadline = park
		}
	}
	return c.Conn.SetReadDeadline(deadline)
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

// Close ends the connection and gives its place back, or parks it. A client that
// is still sending what nobody will read is given a moment to take the answer.
func (c *conn) Close() error {
	if c.left.Swap(true) {
		return net.ErrClosed
	}
	if c.parking.Load() && c.of.parked.park(&conn{Conn: c.Conn, of: c.of}, c.idleUntil) {
		return nil
	}
	defer func() { <-c.of.places }()
	if (c.late.Load() || unread(c.Conn)) && c.of.partings.begin(c.Conn, nil) {
		return nil
	}
	return c.Conn.Close()
}
