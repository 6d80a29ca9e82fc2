//go:build unix && !linux

package snapshot

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noReserve is for systems that know no other way to map.
const noReserve = 0

// space is the memory of one mapping.
type space struct{ pages []byte }

func newPages(size int) ([]byte, error) {
	at, err := mapZeros(nil, size)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(at), size), nil
}

// residentOf is what can be resident of a mapping just restored.
func residentOf(stored, _ int) int { return stored }

// zero puts fresh pages of zeros in place of those from start on.
func (s *space) zero(start int) error {
	if start == len(s.pages) {
		return nil
	}
	_, err := mapZeros(unsafe.Pointer(&s.pages[start]), len(s.pages)-start)
	return err
}

func (s *space) free() error {
	if len(s.pages) == 0 {
		return nil
	}
	pages := s.pages
	s.pages = nil
	if err := unix.MunmapPtr(unsafe.Pointer(&pages[0]), uintptr(len(pages))); err != nil {
		return fmt.Errorf("unmap: %w", err)
	}
	return nil
}
