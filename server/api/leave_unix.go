//go:build unix

package api

import (
	"net"
	"syscall"
)

// peerLeft looks into a connection without taking anything from it, and reports
// whether the other side has closed it.
func peerLeft(conn net.Conn) bool {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return true
	}
	left := false
	// Control, unlike Read, takes no notice of a read deadline that has passed.
	err = control.Control(func(fd uintptr) {
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
	return left || err != nil
}
