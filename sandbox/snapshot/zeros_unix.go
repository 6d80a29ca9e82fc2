//go:build unix

package snapshot

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapZeros maps fresh pages of zeros, in place of what is at the address, or
// anywhere where it is nil.
func mapZeros(at unsafe.Pointer, length int) (unsafe.Pointer, error) {
	flags := unix.MAP_PRIVATE | unix.MAP_ANON | noReserve
	if at != nil {
		flags |= unix.MAP_FIXED
	}
	mapped, err := unix.MmapPtr(-1, 0, at, uintptr(length), unix.PROT_READ|unix.PROT_WRITE, flags)
	if err != nil {
		return nil, fmt.Errorf("map zero pages: %w", err)
	}
	return mapped, nil
}
