package api

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerLeft looks at a connection without taking anything from it, and reports
// whether the other side has closed it, also behind bytes that wait to be read.
func peerLeft(conn net.Conn) bool {
	left := false
	known := control(conn, func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(poll, 0)
		left = err == nil && n > 0 && poll[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
	})
	return left || !known
}
