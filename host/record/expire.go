package record

import (
	"context"
	"fmt"
	"time"

	"vcphost/internal/kv"
)

// expireBatch is how many results one step of expiry reads and one batch removes
// at most.
const expireBatch = 256

// expiring is one row of the time index.
type expiring struct {
	key, id, blob string
}

// Expire removes the results that are older than the retention period and returns
// how many there were. The owner of the data directory calls it from time to
// time; it may run beside everything else, and stops between two steps when ctx
// ends.
func (s *Store) Expire(ctx context.Context) (int, error) {
	if s.opts.Retention < 0 {
		return 0, nil
	}
	before := s.opts.Now().Add(-s.opts.Retention)
	total := 0
	for {
		if err := ctx.Err(); err != nil {
			return total, fmt.Errorf("expire results: %w", err)
		}
		old, err := s.oldest(before)
		if err == nil {
			err = s.remove(old)
		}
		if err != nil {
			return total, fmt.Errorf("expire results: %w", err)
		}
		total += len(old)
		if len(old) < expireBatch {
			return total, nil
		}
	}
}

// oldest lists up to expireBatch results kept before a time.
func (s *Store) oldest(before time.Time) ([]expiring, error) {
	var list []expiring
	var bad error
	err := s.db.Scan([]byte(timePrefix), func(key, value []byte) bool {
		at, id, err := readTimeKey(key)
		if err != nil {
			bad = err
			return false
		}
		if !at.Before(before) {
			return false
		}
		list = append(list, expiring{key: string(key), id: id, blob: string(value)})
		return len(list) < expireBatch
	})
	if err == nil {
		err = bad
	}
	return list, err
}

// remove deletes results. A blob goes with its row in one batch of its own, as
// its chunks may be many.
func (s *Store) remove(old []expiring) error {
	var inline kv.Batch
	for _, e := range old {
		b := &inline
		if e.blob != "" {
			b = new(kv.Batch)
			if err := s.blobs.Delete(e.blob, b); err != nil {
				return err
			}
		}
		b.Delete(rowKey(e.id))
		b.Delete([]byte(e.key))
		if b == &inline {
			continue
		}
		if err := s.db.Apply(b); err != nil {
			return err
		}
	}
	return s.db.Apply(&inline)
}
