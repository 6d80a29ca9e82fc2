package snapshot

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// noReserve leaves swap unreserved for what is never written to.
	noReserve = unix.MAP_NORESERVE
	// hugeSpan is what one entry of the third-lowest page table covers with pages
	// of 4 KiB. A scan passes over an empty one in one step, and walks the 512
	// entries of one that is not.
	hugeSpan = 1 << 30
	// wideFrom is the space above the image from which that is worth addresses.
	wideFrom = 4 << 20
	// wideAddress is below where a system with 47 bits of addresses or more puts
	// mappings, and above all of one with fewer.
	wideAddress = 1 << 45
)

// space is the addresses of one mapping.
type space struct {
	pages    []byte // the memory in whole pages
	reserved unsafe.Pointer
	length   uintptr // bytes at reserved
	plain    bool    // ordinary memory, method Copy
}

// open maps size bytes, whole pages, of which the guest has capacity.
func (m *Mapping) open(capacity, size int) error {
	m.memory = []byte{}
	if size == 0 {
		return nil
	}
	image := m.image
	if err := m.space.reserve(image.stored, size, image.page); err != nil {
		return err
	}
	if err := m.space.fill(&image.material, image.stored, image.method); err != nil {
		return errors.Join(err, m.space.free())
	}
	m.memory = m.space.pages[:capacity:capacity]
	if image.method == Copy {
		m.resident = image.stored / image.page
		copy(m.memory, image.material.view)
	}
	return nil
}

// reserve finds addresses. Where much lies above the image it begins at a
// hugeSpan of its own, so that scanning what no guest ever touched costs nothing.
func (s *space) reserve(stored, size, page int) error {
	length := uint64(size)
	wide := size-stored >= wideFrom && page == 4096 && strconv.IntSize == 64
	if wide {
		length = hugeSpans(stored) + hugeSpans(size-stored) + hugeSpan
	}
	at, err := unix.MmapPtr(-1, 0, nil, uintptr(length), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|noReserve)
	if wide && (err != nil || uint64(uintptr(at)) < wideAddress) {
		if err == nil {
			_ = unix.MunmapPtr(at, uintptr(length))
		}
		wide, length = false, uint64(size)
		at, err = unix.MmapPtr(-1, 0, nil, uintptr(length), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|noReserve)
	}
	if err != nil {
		return fmt.Errorf("reserve %d bytes of addresses: %w", length, err)
	}
	s.reserved, s.length = at, uintptr(length)
	var skip uint64
	if wide {
		begin := hugeSpans(int(uintptr(at)))
		skip = begin + hugeSpans(stored) - uint64(stored) - uint64(uintptr(at))
	}
	s.pages = unsafe.Slice((*byte)(unsafe.Add(at, uintptr(skip))), size)
	return nil
}

func hugeSpans(size int) uint64 { return (uint64(size) + hugeSpan - 1) / hugeSpan * hugeSpan }

// fill maps the content. Huge pages are off: one written byte would cost 2 MiB
// of zeroing now and at each Restore (three of them 290 µs where small pages take
// 5, measured).
func (s *space) fill(material *material, stored int, method Method) error {
	s.plain = method == Copy
	if err := s.zero(0); err != nil {
		return err
	}
	if stored > 0 && !s.plain {
		_, err := unix.MmapPtr(material.source, 0, unsafe.Pointer(&s.pages[0]), uintptr(stored),
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|noReserve)
		if err != nil {
			return fmt.Errorf("map the image: %w", err)
		}
	}
	return advise(s.pages)
}

// advise keeps pages out of core dumps and free of huge pages. A kernel built
// without either has nothing to be told.
func advise(pages []byte) error {
	for _, advice := range []int{unix.MADV_DONTDUMP, unix.MADV_NOHUGEPAGE} {
		if err := unix.Madvise(pages, advice); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("advise the kernel about the memory: %w", err)
		}
	}
	return nil
}

// zero puts fresh pages of zeros in place of those from start on.
func (s *space) zero(start int) error {
	if start == len(s.pages) {
		return nil
	}
	if _, err := mapZeros(unsafe.Pointer(&s.pages[start]), len(s.pages)-start); err != nil {
		return err
	}
	if start > 0 {
		return advise(s.pages[start:])
	}
	return nil
}

// discard drops every page that was written to.
func (s *space) discard() error {
	if len(s.pages) == 0 {
		return nil
	}
	if err := unix.Madvise(s.pages, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("give pages back: %w", err)
	}
	return nil
}

func (s *space) free() error {
	if s.reserved == nil {
		return nil
	}
	at, length := s.reserved, s.length
	*s = space{}
	if err := unix.MunmapPtr(at, length); err != nil {
		return fmt.Errorf("unmap: %w", err)
	}
	return nil
}
