package engine

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// closeInherited closes what this process was given beyond its standard streams,
// which is what the host was given by its own parent: everything that Go opens
// would have been closed by exec.
func closeInherited() {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= 2 {
			continue
		}
		flags, _, failed := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if failed == 0 && flags&syscall.FD_CLOEXEC == 0 {
			_ = syscall.Close(fd)
		}
	}
}

// dataHeld is what this process counts against its limit of data, in bytes: what
// Go's run-time and the program mapped when they started, which is no part of
// what compiling takes.
func dataHeld() (uint64, bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	_, after, found := bytes.Cut(status, []byte("\nVmData:"))
	fields := bytes.Fields(after)
	if !found || len(fields) == 0 {
		return 0, false
	}
	kib, err := strconv.ParseUint(string(fields[0]), 10, 64)
	return kib << 10, err == nil
}
