//go:build unix

package server

import (
	"net"
	"syscall"
)

// unread reports whether bytes of the client's wait to be read.
func unread(c net.Conn) bool {
	raw, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	descriptor, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	waits := false
	err = descriptor.Control(func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		waits = err == nil && n > 0
	})
	return waits && err == nil
}
