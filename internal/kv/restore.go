package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// restoringSuffix ends the name of the directory in which a restored store grows.
const restoringSuffix = ".restoring"

// Restored says what a backup held.
type Restored struct {
	Entries uint64
	Bytes   int64 // of the backup, without its digest
}

// Restore makes a store in dir, which must be empty or absent (ErrNotEmpty), of
// the backup in r. The store grows in a directory beside dir, is read again from
// end to end against the backup's digest, and only then takes dir's name: after
// an error dir is as it was. A backup that is cut off, altered, or no backup is
// ErrBadBackup, one of a newer program ErrNewerFormat, and a disk that becomes
// too full ErrNoSpace. What a killed restore left beside dir the next one removes.
func Restore(ctx context.Context, dir string, r io.Reader, opts *Options) (Restored, error) {
	dir = filepath.Clean(dir)
	if err := checkEmpty(dir); err != nil {
		return Restored{}, fmt.Errorf("restore to %s: %w", dir, err)
	}
	draft := dir + restoringSuffix
	if err := clearDraft(draft); err != nil {
		return Restored{}, fmt.Errorf("restore to %s: %w", dir, err)
	}
	done, err := restoreDraft(ctx, draft, r, opts)
	if err == nil {
		err = publish(draft, dir)
	}
	if err != nil {
		if !errors.Is(err, ErrLocked) { // then the draft is another restore's
			err = errors.Join(err, os.RemoveAll(draft))
		}
		return Restored{}, fmt.Errorf("restore to %s: %w", dir, err)
	}
	return done, nil
}

func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%w: it has %s", ErrNotEmpty, entries[0].Name())
	}
	return err
}

// clearDraft removes what a dead process left, and makes the parent directory.
func clearDraft(draft string) error {
	if err := os.MkdirAll(filepath.Dir(draft), 0o700); err != nil {
		return writable(err)
	}
	if _, err := os.Lstat(draft); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := acquire(draft)
	if err != nil {
		return err
	}
	return errors.Join(lock.Close(), os.RemoveAll(draft))
}

// restoreDraft fills a new store in the directory draft and verifies it.
func restoreDraft(ctx context.Context, draft string, r io.Reader, opts *Options) (Restored, error) {
	backup, err := newBackupReader(r)
	if err != nil {
		return Restored{}, err
	}
	db, err := OpenBadger(draft, opts)
	if err != nil {
		return Restored{}, err
	}
	err = refill(ctx, db, backup)
	if err == nil {
		err = verify(ctx, db, backup)
	}
	if err == nil {
		err = db.Sync()
	}
	return Restored{Entries: backup.count, Bytes: backup.bytes}, errors.Join(err, db.Close())
}

// refill applies the entries of a backup in batches, whose bytes lie in one piece
// of memory that serves for all of them.
func refill(ctx context.Context, db DB, from *backupReader) error {
	const full = MaxBatchBytes / 2
	// A batch that is not full, and the largest entry behind it.
	memory := make([]byte, 0, full+MaxBatchBytes)
	var b Batch
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, value, more, err := from.next(memory)
		if err != nil {
			return err
		}
		if !more {
			return db.Apply(&b)
		}
		size := len(key) + len(value)
		if b.Bytes()+size > MaxBatchBytes {
			if err := db.Apply(&b); err != nil {
				return err
			}
			b.Reset()
		}
		b.Set(key, value)
		memory = memory[:len(memory)+size]
		if b.Bytes() >= full || b.Len() >= MaxBatchEntries {
			if err := db.Apply(&b); err != nil {
				return err
			}
			b.Reset()
			memory = memory[:0]
		}
	}
}

// verify reads the whole store again: a backup of it must have the same digest.
func verify(ctx context.Context, db DB, from *backupReader) error {
	digest, err := backup(ctx, db, from.header, io.Discard)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if !bytes.Equal(digest, from.sum.Sum(nil)) {
		return errors.New("verify: the restored store is not what the backup holds")
	}
	return nil
}

// publish gives the finished store its name. Removing fails unless dir is empty,
// whatever was put there since it was checked.
func publish(draft, dir string) error {
	err := os.Remove(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		if checkEmpty(dir) != nil {
			return fmt.Errorf("%w: %w", ErrNotEmpty, err)
		}
		return err
	}
	if err := os.Rename(draft, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}
