package kv

import "fmt"

// Usage is what a store takes of its disk and what is left there, in bytes.
type Usage struct {
	// TableBytes and ValueLogBytes are the lengths of the store's files, measured
	// about every minute. The last file of the value log is preallocated, so they
	// are more than what was stored.
	TableBytes, ValueLogBytes int64
	// FreeBytes is what may still be written to the file system.
	FreeBytes int64
	// FloorBytes is the free space that a write has to leave, or else it fails with
	// ErrNoSpace; a negative one is none.
	FloorBytes int64
}

// Short reports whether DB.Room refuses for want of space: a batch of the largest
// size would not leave the floor. A disk that its own writers filled stays just
// above the floor, and nothing is begun there.
func (u Usage) Short() bool {
	return u.FloorBytes >= 0 && u.FreeBytes-MaxBatchBytes < u.FloorBytes
}

// Measure tells the usage of a store on disk at the price of one system call.
// measured is false for a store that has no directory.
func Measure(db DB) (usage Usage, measured bool, err error) {
	b, ok := db.(*badgerDB)
	if !ok {
		return Usage{}, false, nil
	}
	if err := b.gate.enter(); err != nil {
		return Usage{}, true, err
	}
	defer b.gate.leave()
	free, err := b.space.free(b.dir)
	if err != nil {
		return Usage{}, true, fmt.Errorf("read the free space of %s: %w", b.dir, err)
	}
	tables, log := b.db.Size()
	return Usage{TableBytes: tables, ValueLogBytes: log, FreeBytes: free, FloorBytes: b.space.floor}, true, nil
}
