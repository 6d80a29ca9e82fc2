package kv

import (
	"fmt"
	"time"
)

const (
	// gcDiscardRatio is the share of a value log file that must be garbage for it
	// to be rewritten.
	gcDiscardRatio = 0.5
	// gcFullDiscardRatio is that share on a full disk: what is left of such a file
	// to write anew fits between the floor and half of it, with the memory table.
	gcFullDiscardRatio = 0.9
	gcInterval         = time.Minute
	// gcAtClose bounds how long Close rewrites files, but for the one that it is at.
	gcAtClose = time.Second
	// gcDeletes is how many deletions are worth a compaction: a GiB, if chunks; a
	// MiB, if results, but then they end by the thousand.
	gcDeletes = 1000
	// blockedWriteRetry is how soon a write is tried again that met a compaction.
	blockedWriteRetry = time.Millisecond
	// flushKey is written and dropped again to make Badger flush and compact.
	flushKey = ownPrefix + "flush"
)

// collectGarbage gives the space of deleted values back, now and then, until
// stopGC is closed.
func (b *badgerDB) collectGarbage() {
	ticker := time.NewTicker(gcInterval)
	defer ticker.Stop()
	for {
		select {
		case <-b.stopGC:
			return
		case <-ticker.C:
		}
		b.collect()
	}
}

// collect gives space back if enough was deleted to be worth it, which on a full
// disk is anything: whoever filled it with what is garbage by now, such as uploads
// that were broken off, must not have filled it for good.
func (b *badgerDB) collect() {
	deletes := b.deletes.Load()
	if deletes < gcDeletes && (deletes == 0 || b.space.room() == nil) {
		return
	}
	if b.space.reserve(memTableBytes, true) != nil {
		return
	}
	if err := b.compact(); err != nil {
		b.logger.Warn("the store could not be compacted", "directory", b.dir, "error", err)
		return
	}
	b.rewriteLogs(gcInterval, b.stopGC)
}

// compact makes Badger learn which parts of the value log are garbage. It learns
// that when tables are compacted, and a deletion reaches a table only when 32 MiB
// of memory are full: with values of a MiB, of which a table holds but the place,
// after hundreds of GiB. Dropping a prefix flushes the memory and compacts the
// youngest tables at once; meanwhile writes are refused and Apply tries again.
func (b *badgerDB) compact() error {
	deletes := b.deletes.Load()
	var batch Batch
	batch.Set([]byte(flushKey), nil)
	if err := b.commit(&batch); err != nil {
		return fmt.Errorf("mark: %w", err)
	}
	if err := b.db.DropPrefix([]byte(flushKey)); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	b.deletes.Add(-deletes)
	return nil
}

// rewriteLogs rewrites value log files until there is nothing to gain, the time is
// over, or stop, which may be nil, is closed. A rewriting needs space, which the
// floor is not meant for, but for files that hold next to nothing.
func (b *badgerDB) rewriteLogs(limit time.Duration, stop <-chan struct{}) {
	end := time.Now().Add(limit)
	for time.Now().Before(end) {
		select {
		case <-stop:
			return
		default:
		}
		ratio := gcDiscardRatio
		if b.space.reserve(valueLogBytes, false) != nil {
			if b.space.reserve(memTableBytes, true) != nil {
				return
			}
			ratio = gcFullDiscardRatio
		}
		if b.db.RunValueLogGC(ratio) != nil {
			return
		}
	}
}
