// Package pace writes to clients that may be slow but must not stand still: each
// has a time in which it must take so much, and when it did, it gets the time
// anew.
//
// However much is written in one go, what the client took is what counts. So a
// large answer goes out in few large writes, each of which wakes either side far
// less often than many small ones do.
//
// What a client took is what it made room for in the buffers of this system. The
// system may tell of that room late, when a third of a buffer of megabytes is
// free, so where it also tells what is still under way (Linux does), that is
// looked at before a client is given up.
package pace

import (
	"errors"
	"net"
	"os"
)

// smallBytes is the size up to which a write is not worth asking the system
// what is under way: the answers to most calls.
const smallBytes = 4 << 10

// Write writes p whole, unless the client takes less than piece bytes before the
// write deadline of conn passes; that is an error that wraps
// [os.ErrDeadlineExceeded]. Before each wait it calls extend, which sets the
// deadline, and whose error ends the write.
func Write(conn net.Conn, p []byte, piece int, extend func() error) (written int, err error) {
	before := 0
	if len(p) > smallBytes {
		before = underWay(conn)
	}
	for {
		if err := extend(); err != nil {
			return written, err
		}
		n, err := conn.Write(p[written:])
		written += n
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
		now := underWay(conn)
		if n+max(before-now, 0) < piece {
			return written, err
		}
		before = now
	}
}
