//go:build !linux

package snapshot

import (
	"fmt"
	"os"
)

// material is what an image is made of.
type material struct{ view []byte }

// scanner has nothing to hold.
type scanner struct{}

func newMaterial(content []byte, method Method, _ *Options) (material, error) {
	if method != Copy {
		return material{}, fmt.Errorf("%s: %w", method, errUseless)
	}
	view := make([]byte, wholePages(len(content), os.Getpagesize()))
	copy(view, content)
	return material{view: view}, nil
}

func (m *material) closeSource() error { return nil }

func (m *material) close() error {
	m.view = nil
	return nil
}

// open makes size bytes, whole pages, of which the guest has capacity.
func (m *Mapping) open(capacity, size int) (err error) {
	m.memory = []byte{}
	if size == 0 {
		return nil
	}
	if m.space.pages, err = newPages(size); err != nil {
		return err
	}
	copy(m.space.pages, m.image.material.view)
	m.memory = m.space.pages[:capacity:capacity]
	m.resident = residentOf(m.image.stored, size) / m.image.page
	return nil
}

func (m *Mapping) scanBack() (Restored, error) { return Restored{}, errUseless }

func (s *space) discard() error { return errUseless }
