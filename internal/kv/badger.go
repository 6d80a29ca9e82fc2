package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

// Options of a store on disk. Nil means the defaults.
type Options struct {
	// Logger gets Badger's messages: errors and warnings at level warn, the rest
	// at debug. Nil discards them.
	Logger *slog.Logger
	// MinFreeBytes is the free disk space below which writes fail with ErrNoSpace;
	// below half of it opening does too, and so do batches that only delete. Zero
	// means 256 MiB, a negative value no floor.
	MinFreeBytes int64
	// FreeBytes tells how many bytes may still be written below a directory; nil
	// asks the system. It is for tests of full disks.
	FreeBytes func(dir string) (int64, error)
}

const (
	// memTableBytes bounds a transaction to 15 % of it, about 4.8 MiB, from which
	// MaxBatchBytes follows.
	memTableBytes = 32 << 20
	// valueThresholdBytes is the size from which a value lies in the value log and
	// not in the tables: every chunk of a blob, and nearly every result. In the
	// tables, results fill the memory one every 30,000 calls; then a processor is
	// busy for 200 ms with the change, and half of the calls meanwhile wait.
	valueThresholdBytes = 512
	valueLogBytes       = 256 << 20
)

// badgerDB is a DB in a directory. The lock file is ours, beside Badger's own,
// because Badger's error for a locked directory cannot be told from others.
type badgerDB struct {
	dir    string
	db     *badger.DB
	lock   *os.File
	logger *slog.Logger
	space  *space
	gate   gate

	stopGC  chan struct{}
	gcDone  sync.WaitGroup
	deletes atomic.Int64 // since the last compaction for the sake of garbage

	closeOnce sync.Once
	closeErr  error
}

// OpenBadger opens the store in dir, which it makes, readable by the user only,
// if there is none. The directory belongs to one process at a time: a second
// gets ErrLocked; the lock of a dead process is none. Below the floor of free
// space it returns ErrNoSpace, for a directory that it may not write to
// ErrReadOnly, and for one that a newer program made ErrNewerFormat. A goroutine
// collects garbage in the value log every few minutes; Close ends it.
func OpenBadger(dir string, opts *Options) (DB, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", writable(err))
	}
	space := newSpace(dir, opts)
	if err := space.reserve(0, true); err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	lock, err := acquire(dir)
	if err != nil {
		return nil, err
	}
	if err := checkFormat(dir); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	logger := opts.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	db, err := badger.Open(badgerOptions(dir, badgerLogger{logger: logger, lock: lock}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open data directory %s: %w", dir, err), lock.Close())
	}
	b := &badgerDB{dir: dir, db: db, logger: logger, lock: lock, space: space, stopGC: make(chan struct{})}
	b.gcDone.Go(b.collectGarbage)
	return b, nil
}

func badgerOptions(dir string, logger badgerLogger) badger.Options {
	o := badger.DefaultOptions(dir)
	o.Logger = logger
	o.MetricsEnabled = false
	o.DetectConflicts = false // batches are blind writes
	o.VerifyValueChecksum = true
	o.MemTableSize = memTableBytes
	o.NumMemtables = 3
	o.ValueThreshold = valueThresholdBytes
	o.ValueLogFileSize = valueLogBytes
	o.NumCompactors = 2
	o.NumGoroutines = 2
	// Without compression Badger needs no cache of blocks: tables are mapped.
	o.Compression = options.None
	o.BlockCacheSize = 0
	return o
}

// acquire takes the directory's lock; closing the file releases it.
func acquire(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "vcphost.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", writable(err))
	}
	held, err := lockFile(f)
	if err == nil {
		return f, nil
	}
	if held {
		err = ErrLocked
	}
	return nil, errors.Join(fmt.Errorf("lock data directory %s: %w", dir, err), f.Close())
}

// writable makes ErrReadOnly of the system's errors for what must not be written.
func writable(err error) error {
	if errors.Is(err, fs.ErrPermission) || readOnlyDisk(err) {
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	}
	return err
}

func (b *badgerDB) Get(key []byte) ([]byte, error) {
	var out []byte
	err := b.View(key, func(value []byte) error {
		out = append([]byte{}, value...)
		return nil
	})
	return out, err
}

func (b *badgerDB) Has(key []byte) (bool, error) {
	if err := b.gate.enter(); err != nil {
		return false, err
	}
	defer b.gate.leave()
	txn := b.db.NewTransaction(false)
	defer txn.Discard()
	_, err := get(txn, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// get finds the item of key, whose value it does not read yet.
func get(txn *badger.Txn, key []byte) (*badger.Item, error) {
	if checkKey(key) != nil {
		return nil, ErrNotFound
	}
	item, err := txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", key, err)
	}
	return item, nil
}

func (b *badgerDB) View(key []byte, read func(value []byte) error) error {
	if err := b.gate.enter(); err != nil {
		return err
	}
	defer b.gate.leave()
	txn := b.db.NewTransaction(false)
	defer txn.Discard()
	item, err := get(txn, key)
	if err != nil {
		return err
	}
	return item.Value(read)
}

func (b *badgerDB) Apply(batch *Batch) error {
	if err := b.gate.enter(); err != nil {
		return err
	}
	defer b.gate.leave()
	if err := batch.check(); err != nil {
		return err
	}
	if err := b.space.reserve(int64(batch.bytes), batch.sets == 0); err != nil {
		return fmt.Errorf("apply %d changes: %w", batch.Len(), err)
	}
	for {
		err := b.commit(batch)
		if err == nil {
			b.deletes.Add(int64(batch.Len() - batch.sets))
			return nil
		}
		if !errors.Is(err, badger.ErrBlockedWrites) {
			return fmt.Errorf("apply %d changes: %w", batch.Len(), err)
		}
		// The garbage collector compacts; no write was begun.
		time.Sleep(blockedWriteRetry)
	}
}

func (b *badgerDB) Room() error {
	if err := b.gate.enter(); err != nil {
		return err
	}
	defer b.gate.leave()
	return b.space.room()
}

func (b *badgerDB) commit(batch *Batch) error {
	txn := b.db.NewTransaction(true)
	defer txn.Discard()
	for _, c := range batch.changes {
		if err := c.to(txn); err != nil {
			return fmt.Errorf("change %q: %w", c.key, err)
		}
	}
	return txn.Commit()
}

func (c change) to(txn *badger.Txn) error {
	if c.remove {
		return txn.Delete(c.key)
	}
	if c.add {
		switch _, err := txn.Get(c.key); {
		case err == nil:
			return ErrExists
		case !errors.Is(err, badger.ErrKeyNotFound):
			return err
		}
	}
	return txn.Set(c.key, c.value)
}

func (b *badgerDB) Scan(prefix []byte, visit func(key, value []byte) (more bool)) error {
	if err := b.gate.enter(); err != nil {
		return err
	}
	defer b.gate.leave()
	txn := b.db.NewTransaction(false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix})
	defer it.Close()
	// A value is copied before it is visited: Badger holds a lock on the value log
	// while it lends one, and a visit that applies a batch could wait for a writer
	// that waits for that lock.
	var value []byte
	for it.Rewind(); it.Valid(); it.Next() {
		item := it.Item()
		if string(item.Key()) == flushKey {
			continue
		}
		var err error
		if value, err = item.ValueCopy(value[:0]); err != nil {
			return fmt.Errorf("scan %q: read %q: %w", prefix, item.Key(), err)
		}
		if !visit(item.Key(), value) {
			return nil
		}
	}
	return nil
}

// Sync adds to Badger's own what that leaves out: a memory table that is full,
// but not yet flushed, has a log of its own, which Badger does not sync.
func (b *badgerDB) Sync() error {
	if err := b.gate.enter(); err != nil {
		return err
	}
	defer b.gate.leave()
	return b.sync()
}

func (b *badgerDB) sync() error {
	if err := b.db.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", b.dir, err)
	}
	files, err := os.ReadDir(b.dir) // no Glob: the directory's own name may hold its signs
	if err != nil {
		return fmt.Errorf("sync %s: %w", b.dir, err)
	}
	for _, file := range files {
		if filepath.Ext(file.Name()) != ".mem" {
			continue
		}
		// A log that is gone has become a table, which Badger syncs.
		if err := syncFile(filepath.Join(b.dir, file.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sync %s: %w", b.dir, err)
		}
	}
	return nil
}

func (b *badgerDB) Close() error {
	b.gate.close()
	b.closeOnce.Do(func() {
		close(b.stopGC)
		b.gcDone.Wait()
		if short := b.space.fresh(); short != nil {
			b.closeErr = b.abandon(short)
			return
		}
		b.rewriteLogs(gcAtClose, nil)
		if err := errors.Join(b.db.Close(), b.lock.Close()); err != nil {
			b.closeErr = fmt.Errorf("close %s: %w", b.dir, err)
		}
	})
	return b.closeErr
}

// abandon ends the use of a store on a disk that is too full for Badger to write
// a last table, which it does when it is closed, through a map, where no space is
// a SIGBUS. All that was applied lies in logs; they are synced, and read when the
// directory is opened again. Until the process ends it keeps the directory
// locked, for Badger's goroutines live on.
func (b *badgerDB) abandon(short error) error {
	b.logger.Warn("the store is closed as it lies, and nothing is lost: the disk is too full to tidy up", "error", short)
	return b.sync()
}
