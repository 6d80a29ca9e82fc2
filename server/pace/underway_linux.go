package pace

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// underWay is how many bytes the client's side has not acknowledged yet, 0 where
// that is not known.
func underWay(conn net.Conn) int {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	descriptor, err := raw.SyscallConn()
	if err != nil {
		return 0
	}
	bytes := 0
	err = descriptor.Control(func(fd uintptr) {
		if n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ); err == nil {
			bytes = n
		}
	})
	if err != nil {
		return 0
	}
	return bytes
}
