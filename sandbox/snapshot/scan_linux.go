package snapshot

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel interface, include/uapi/linux/fs.h. The number of the ioctl is that
// of most architectures; the others refuse it, which finds Discard.
const (
	pagemapScan = 0xC0606610

	pageIsFile    = 1 << 2
	pageIsPresent = 1 << 3
	pageIsSwapped = 1 << 4
	pageIsZero    = 1 << 5 // the shared page of zeros: read, never written to
)

// scanRequest is struct pm_scan_arg.
type scanRequest struct {
	size, flags, start, end, walkEnd          uint64
	vec, vecLen, maxPages                     uint64
	inverted, mask, anyOf, categoriesReturned uint64
}

// pageRun is struct page_region: addresses, end exclusive.
type pageRun struct{ start, end, categories uint64 }

// scanner is what one mapping needs to ask; the kernel writes into it.
type scanner struct {
	request scanRequest
	runs    [128]pageRun // an interpreter's call leaves 70 to 110
}

// rawScanUpTo is the largest memory, in bytes, whose scan is made without telling
// Go's scheduler of the system call: it is over in a microsecond or two, and at
// worst (every page mapped) in 50, while telling costs 0.1.
const rawScanUpTo = 16 << 20

var errStuck = errors.New("the scan made no progress")

// scanBack asks for the pages that are this mapping's own (not of the file, not
// the shared zero page), in memory or in swap, and puts them back. The set is
// asked for over the whole capacity: a guest can write anywhere in it.
func (m *Mapping) scanBack() (Restored, error) {
	did := Restored{Method: Scan}
	if len(m.space.pages) == 0 {
		return did, nil
	}
	compare := m.keep.compares()
	base := uint64(uintptr(unsafe.Pointer(&m.space.pages[0])))
	changed := 0
	for at, end := base, base+uint64(len(m.space.pages)); at < end; {
		found, next, err := m.scan(at, end)
		if err != nil {
			return did, err
		}
		did.Runs += len(found)
		for _, run := range found {
			changed += m.putBack(int(run.start-base), int(run.end-base), compare, &did)
		}
		if pages := did.Copied + did.Cleared; pages > m.keep.limit {
			return m.giveBack(pages)
		}
		at = next
	}
	m.resident = did.Copied + did.Cleared
	m.keep.kept(m.resident, changed, compare)
	return did, nil
}

// scan asks for the runs from start on; the answer may stop before end.
func (m *Mapping) scan(start, end uint64) ([]pageRun, uint64, error) {
	s := &m.scanner
	s.request = scanRequest{
		size: uint64(unsafe.Sizeof(s.request)), start: start, end: end,
		vec: uint64(uintptr(unsafe.Pointer(&s.runs[0]))), vecLen: uint64(len(s.runs)),
		maxPages: uint64(m.keep.limit) + 1,
		inverted: pageIsFile | pageIsZero, mask: pageIsFile | pageIsZero,
		anyOf: pageIsPresent | pageIsSwapped, categoriesReturned: pageIsFile,
	}
	fd := uintptr(m.image.material.pagemap)
	var count uintptr
	var errno unix.Errno
	if end-start <= rawScanUpTo {
		count, _, errno = unix.RawSyscall(unix.SYS_IOCTL, fd, pagemapScan, uintptr(unsafe.Pointer(&s.request)))
	} else {
		count, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, pagemapScan, uintptr(unsafe.Pointer(&s.request)))
	}
	switch {
	case errno != 0:
		return nil, 0, fmt.Errorf("scan for written pages: %w", errno)
	case s.request.walkEnd <= start || count > uintptr(len(s.runs)):
		return nil, 0, errStuck
	}
	return s.runs[:count], s.request.walkEnd, nil
}
