package kv

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// defaultMinFreeBytes leaves room for what Badger writes on its own: tables
	// flushed from memory, compactions, a rewritten value log.
	defaultMinFreeBytes = 256 << 20
	// A reading of the free space serves for so long and so much written.
	spaceReadingAge   = 100 * time.Millisecond
	spaceReadingBytes = 16 << 20
)

// space keeps a floor of free disk space. Badger writes through maps of sparse
// files, where a full disk is no error but a SIGBUS that ends the process, and
// ends it again at the next opening; so writing has to stop earlier.
type space struct {
	dir   string
	floor int64 // negative: no floor
	free  func(dir string) (int64, error)

	mu      sync.Mutex
	at      time.Time // of the reading; zero: none yet
	left    int64     // free at the reading, minus what was reserved since
	written int64     // reserved since the reading
}

func newSpace(dir string, opts *Options) *space {
	s := &space{dir: dir, floor: opts.MinFreeBytes, free: opts.FreeBytes}
	if s.floor == 0 {
		s.floor = defaultMinFreeBytes
	}
	if s.free == nil {
		s.free = freeBytes
	}
	return s
}

// reserve returns ErrNoSpace if writing size bytes would leave less than the
// floor. Opening, and batches that only delete, may go down to half of it, so
// that room can be made again.
func (s *space) reserve(size int64, frees bool) error {
	floor := s.floor
	if frees {
		floor /= 2
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(size, floor); err != nil {
		return err
	}
	s.left -= size
	s.written += size
	return nil
}

// room returns ErrNoSpace if a batch of the largest size could be refused.
func (s *space) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.check(MaxBatchBytes, s.floor)
}

// fresh reads the free space now, and returns ErrNoSpace below half of the floor.
func (s *space) fresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = time.Time{}
	if err := s.check(0, s.floor/2); errors.Is(err, ErrNoSpace) {
		return err
	}
	return nil // a disk that cannot be asked is treated as before
}

// check returns ErrNoSpace if size bytes more would leave less than floor. The
// caller has the lock.
func (s *space) check(size, floor int64) error {
	if s.floor < 0 {
		return nil
	}
	now := time.Now()
	if s.at.IsZero() || now.Sub(s.at) >= spaceReadingAge || s.written+size > spaceReadingBytes {
		free, err := s.free(s.dir)
		if err != nil {
			return fmt.Errorf("read the free space of %s: %w", s.dir, err)
		}
		s.at, s.left, s.written = now, free, 0
	}
	if s.left-size < floor {
		return fmt.Errorf("%w: %s has %d MiB left, the floor is %d MiB",
			ErrNoSpace, s.dir, s.left>>20, floor>>20)
	}
	return nil
}
