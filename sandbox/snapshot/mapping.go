package snapshot

import (
	"bytes"
	"errors"
)

// Mapping is the memory of one instance. It is not safe for concurrent use;
// mappings of the same image are independent of each other.
type Mapping struct {
	image    *Image
	memory   []byte // as long as the capacity; nil once unmapped
	space    space
	resident int // written pages that are held, when last looked
	keep     keeper
	scanner  scanner
}

// Bytes is the memory, as long as the capacity. Its address never changes, and
// nothing may use it after Unmap.
func (m *Mapping) Bytes() []byte { return m.memory }

// ResidentBytes is the memory that this mapping alone costs now if nothing was
// written since the last Restore. With Copy it is all that can be resident.
func (m *Mapping) ResidentBytes() uint64 { return uint64(m.resident) * uint64(m.image.page) }

// Restore puts every byte of the memory back: the image at its start, zeros
// above it. Nothing may use the memory meanwhile. It allocates nothing. After a
// failure the content is unknown, and the mapping must be unmapped.
func (m *Mapping) Restore() (Restored, error) {
	if m.memory == nil {
		return Restored{Method: m.image.method}, nil
	}
	return m.restore()
}

func (m *Mapping) restore() (Restored, error) {
	switch {
	case m.image.method == Copy:
		return m.copyAll()
	case m.image.method == Discard && len(m.space.pages) <= copyUpTo:
		return m.copyInPlace()
	case m.image.method == Discard || m.keep.discards:
		return m.giveBack(m.resident)
	}
	did, err := m.scanBack()
	if err != nil { // the kernel's answer is no use: what needs none is left
		return m.giveBack(0)
	}
	return did, nil
}

// GiveBack is a Restore that also returns the memory which the mapping keeps to
// the system, for a pool that is over its budget. The next call pays for it in
// page faults.
func (m *Mapping) GiveBack() error {
	if m.memory == nil {
		return nil
	}
	if m.image.method == Copy {
		_, err := m.copyAll()
		return err
	}
	_, err := m.giveBack(m.resident)
	return err
}

// giveBack lets the system drop every written page.
func (m *Mapping) giveBack(written int) (Restored, error) {
	did := Restored{Method: Discard}
	if m.image.method == Scan {
		did.Discarded = written
	}
	if err := m.space.discard(); err != nil {
		return did, err
	}
	m.resident = 0
	m.keep.gaveBack(written)
	return did, nil
}

// putBack restores the pages from start to end, and counts those of them that
// differed where it is told to compare.
func (m *Mapping) putBack(start, end int, compare bool, did *Restored) (changed int) {
	stored := m.image.stored
	if start < stored {
		to := min(end, stored)
		did.Copied += (to - start) / m.image.page
		if compare {
			changed += m.compareBack(start, to)
		} else {
			copy(m.space.pages[start:to], m.image.material.view[start:to])
		}
		start = to
	}
	if start < end {
		did.Cleared += (end - start) / m.image.page
		if compare {
			changed += m.compareBack(start, end)
		} else {
			clear(m.space.pages[start:end])
		}
	}
	return changed
}

// compareBack puts back the pages that differ, and counts them. The pages are
// either all of the image or all above it.
func (m *Mapping) compareBack(start, end int) (changed int) {
	page := m.image.page
	for at := start; at < end; at += page {
		want := m.image.zeros
		if at < m.image.stored {
			want = m.image.material.view[at : at+page]
		}
		if have := m.space.pages[at : at+page]; !bytes.Equal(have, want) {
			copy(have, want)
			changed++
		}
	}
	return changed
}

// copyUpTo is the largest memory, in bytes, that Discard copies as a whole:
// 256 KiB take 7 µs, giving them back and three page faults 10 to 19.
const copyUpTo = 512 << 10

// copyInPlace restores a small memory without page faults, now or later.
func (m *Mapping) copyInPlace() (Restored, error) {
	did := Restored{Method: Copy}
	m.putBack(0, len(m.space.pages), false, &did)
	m.resident = len(m.space.pages) / m.image.page
	return did, nil
}

// copyAll is Restore by Copy. What is above the image may be large and hardly
// used, so it gets fresh pages where the system has such a thing.
func (m *Mapping) copyAll() (Restored, error) {
	stored, page := m.image.stored, m.image.page
	copy(m.space.pages[:stored], m.image.material.view)
	above := (len(m.space.pages) - stored) / page
	return Restored{Method: Copy, Copied: stored / page, Cleared: above}, m.space.zero(stored)
}

// Unmap gives the memory and its addresses back. Unmapping again does nothing.
func (m *Mapping) Unmap() error {
	if m.memory == nil {
		return nil
	}
	m.memory, m.resident = nil, 0
	return errors.Join(m.space.free(), m.image.leave())
}
