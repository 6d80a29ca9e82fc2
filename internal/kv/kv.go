// Package kv is the store that everything persistent in the host lies in: an
// ordered map from byte keys to byte values with atomic batches. It owns Badger;
// no other package imports it.
//
// Promises of every DB, held by kvtest.Run:
//
//   - Apply is atomic and visible to every later read in the process; batches
//     applied concurrently are applied in some order.
//   - What Apply has returned nil for survives the death of the process. Only
//     what Sync has returned nil for survives the death of the machine.
//   - Get, View and Scan read a consistent state: Scan sees the moment at which
//     it began, whatever is applied meanwhile, also by its own visit function.
//   - A batch of more than MaxBatchBytes or MaxBatchEntries is refused whole with
//     ErrBatchTooLarge.
//   - After Close everything returns ErrClosed.
//
// [Backup] writes all of a DB as of one moment while it is in use, and [Restore]
// makes a store of that.
//
// Keys are 1 to MaxKeyBytes bytes long and do not begin with "!badger!" or
// "\x00kv/". Each owner of keys writes its schema into its own package comment; the
// first path segment of a key names its owner, for example blob/….
package kv

import (
	"bytes"
	"errors"
	"fmt"
)

// Conditions on which callers branch. Errors of this package wrap them.
var (
	// ErrNotFound says that there is no value under the key.
	ErrNotFound = errors.New("key not found")
	// ErrExists says that there is a value under a key that a batch adds.
	ErrExists = errors.New("key exists")
	// ErrLocked says that another process has the directory open.
	ErrLocked = errors.New("data directory is in use by another process")
	// ErrNoSpace says that a write or the opening was refused because the file
	// system has less free space than Options.MinFreeBytes asks for.
	ErrNoSpace = errors.New("not enough free disk space")
	// ErrReadOnly says that the directory cannot be written to: by this user, or by
	// anybody.
	ErrReadOnly = errors.New("the data directory cannot be written to")
	// ErrNewerFormat says that a store or a backup was made by a newer program.
	ErrNewerFormat = errors.New("it was made by a newer program than this one")
	// ErrBadBackup says that a backup is cut off, altered, or none.
	ErrBadBackup = errors.New("this is not a whole and unaltered backup")
	// ErrNotEmpty says that there is something where a backup is to be restored.
	ErrNotEmpty = errors.New("the directory is not empty")
	// ErrClosed says that the DB was closed.
	ErrClosed = errors.New("store is closed")
	// ErrBatchTooLarge says that a batch is over MaxBatchBytes or MaxBatchEntries.
	ErrBatchTooLarge = errors.New("batch is too large to apply atomically")
)

// Limits of one batch and one key. Whoever has more to write splits it into
// several batches and gives up atomicity between them.
const (
	// MaxBatchBytes is the sum of all keys and values of a batch.
	MaxBatchBytes = 4<<20 + 512<<10
	// MaxBatchEntries is the number of Set and Delete calls of a batch.
	MaxBatchEntries = 16 << 10
	// MaxKeyBytes is the length of a key.
	MaxKeyBytes = 4 << 10
)

// DB is an ordered store of keys and values. All methods are safe for concurrent
// use; Close waits for calls under way.
type DB interface {
	// Get returns a copy of the value, which the caller owns, or ErrNotFound.
	Get(key []byte) ([]byte, error)
	// Has reports whether there is a value, without reading it.
	Has(key []byte) (bool, error)
	// View calls read with the value without copying it; the slice is valid, and
	// not to be written to, until read returns. It returns what read returns, or
	// ErrNotFound. While read runs, writes to the store may have to wait: it must
	// be quick, must not wait for anything, and must not call the store.
	View(key []byte, read func(value []byte) error) error
	// Apply makes all changes of b visible at once, or none of them. b may be used
	// again afterwards, after Reset. An empty batch changes nothing.
	Apply(b *Batch) error
	// Scan calls visit for every key that begins with prefix, in ascending order
	// of bytes, until visit returns false. Both slices are valid, and not to be
	// written to, until visit returns. visit may call any method but Close.
	Scan(prefix []byte, visit func(key, value []byte) (more bool)) error
	// Room returns ErrNoSpace while writes are refused for want of disk space, so
	// that work whose outcome could not be stored is not begun. It is cheap.
	Room() error
	// Sync returns when everything applied before is on the disk.
	Sync() error
	// Close ends the use of the store and releases the directory. Closing twice
	// is fine.
	Close() error
}

// Batch is a list of changes to apply at once; a later change of a key overrides
// an earlier one. The zero value is empty and ready. Not safe for concurrent use.
type Batch struct {
	changes []change
	bytes   int
	sets    int
}

// change sets key to value, or deletes key.
type change struct {
	key, value []byte
	remove     bool
	add        bool // there must be nothing under key
}

// Set adds the change that key has value. The batch keeps both slices, without a
// copy, until it is applied; they must not change before that.
func (b *Batch) Set(key, value []byte) {
	b.changes = append(b.changes, change{key: key, value: value})
	b.bytes += len(key) + len(value)
	b.sets++
}

// Add is Set for a key under which there is nothing yet; otherwise Apply changes
// nothing and returns ErrExists. It costs no reading of its own, but of two
// batches that are applied at the same moment both may pass.
func (b *Batch) Add(key, value []byte) {
	b.Set(key, value)
	b.changes[len(b.changes)-1].add = true
}

// Delete adds the change that there is nothing under key; that there was nothing
// before is no error. The batch keeps the slice as Set does.
func (b *Batch) Delete(key []byte) {
	b.changes = append(b.changes, change{key: key, remove: true})
	b.bytes += len(key)
}

// Len returns the number of changes.
func (b *Batch) Len() int { return len(b.changes) }

// Bytes returns the length of all keys and values together.
func (b *Batch) Bytes() int { return b.bytes }

// Append adds the changes of other, which keeps them.
func (b *Batch) Append(other *Batch) {
	if other == nil {
		return
	}
	b.changes = append(b.changes, other.changes...)
	b.bytes += other.bytes
	b.sets += other.sets
}

// Reset empties the batch and keeps its memory for the next use.
func (b *Batch) Reset() {
	clear(b.changes)
	*b = Batch{changes: b.changes[:0]}
}

// check returns an error if b cannot be applied by any store.
func (b *Batch) check() error {
	if b.bytes > MaxBatchBytes || len(b.changes) > MaxBatchEntries {
		return fmt.Errorf("apply %d changes of %d bytes: %w (at most %d changes of %d bytes)",
			len(b.changes), b.bytes, ErrBatchTooLarge, MaxBatchEntries, MaxBatchBytes)
	}
	for _, c := range b.changes {
		if err := checkKey(c.key); err != nil {
			return fmt.Errorf("apply: %w", err)
		}
	}
	return nil
}

// Beginnings of keys that Badger and this package use themselves.
const (
	badgerPrefix = "!badger!"
	ownPrefix    = "\x00kv/"
)

func checkKey(key []byte) error {
	if len(key) == 0 || len(key) > MaxKeyBytes {
		return fmt.Errorf("a key of %d bytes is not allowed (1 to %d)", len(key), MaxKeyBytes)
	}
	for _, prefix := range [...]string{badgerPrefix, ownPrefix} {
		if bytes.HasPrefix(key, []byte(prefix)) {
			return fmt.Errorf("a key must not begin with %q", prefix)
		}
	}
	return nil
}
