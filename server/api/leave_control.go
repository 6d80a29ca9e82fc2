//go:build unix

package api

import (
	"errors"
	"net"
	"syscall"
)

// control hands the descriptor of a connection to look, and reports whether the
// connection is still open. One that has no descriptor is taken for open, and is
// not looked at.
func control(conn net.Conn, look func(fd uintptr)) (open bool) {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	descriptor, err := raw.SyscallConn()
	if err != nil {
		return errors.Is(err, errors.ErrUnsupported)
	}
	// Control, unlike Read, takes no notice of a read deadline that has passed.
	return descriptor.Control(look) == nil
}
