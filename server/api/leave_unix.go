//go:build unix && !linux

package api

import (
	"net"
	"syscall"
)

// peerLeft looks into a connection without taking anything from it, and reports
// whether the other side has closed it. Bytes that wait to be read hide that.
func peerLeft(conn net.Conn) bool {
	left := false
	known := control(conn, func(fd uintptr) {
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch err {
		case nil:
			left = n == 0
		case syscall.EAGAIN, syscall.EINTR:
		default:
			left = true
		}
	})
	return left || !known
}
