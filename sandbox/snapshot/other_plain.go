//go:build !unix

package snapshot

// space is the memory of one mapping, from Go's heap.
type space struct{ pages []byte }

func newPages(size int) ([]byte, error) { return make([]byte, size), nil }

// residentOf is what can be resident of a mapping just restored.
func residentOf(_, size int) int { return size }

func (s *space) zero(start int) error {
	clear(s.pages[start:])
	return nil
}

func (s *space) free() error {
	s.pages = nil
	return nil
}
