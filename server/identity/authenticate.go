package identity

import (
	"context"
	"fmt"

	"vcphost/internal/kv"
)

// flushBatchBytes is from which size on Flush writes a batch and begins the next.
const flushBatchBytes = 1 << 20

// Authenticate finds out whose secret it is. The identity is shared and
// read-only. The errors are ErrUnknown, ErrExpired and ErrRevoked, of which the
// last two go only to who has the secret. It keeps no part of secret, waits for
// nothing, and takes the same comparisons whether the key exists or not.
func (s *Store) Authenticate(_ context.Context, secret string) (*Identity, error) {
	given := digestOf(secret)
	var none digest
	e := s.snapshot.Load().entries[ulidOf(secret)]
	kept := &none
	if e != nil {
		kept = &e.digest
	}
	own := kept.equal(&given)
	if s.static != nil && s.static.digest.equal(&given) {
		return s.static.identity, nil
	}
	if e == nil || !own {
		return nil, ErrUnknown
	}
	now := s.now()
	if err := e.key.Usable(now); err != nil {
		return nil, err
	}
	e.touch(now)
	return e.identity, nil
}

// Flush saves when keys were last used. The owner of the data directory calls it
// from time to time and before it closes the DB; it writes only what changed, and
// not durably, as this is no loss.
func (s *Store) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.snapshot.Load()
	var changed []*entry
	var batch kv.Batch
	for _, e := range old.entries {
		used := e.lastUsed()
		if used.Equal(e.key.LastUsedAt) {
			continue
		}
		c := e.clone()
		c.key.LastUsedAt = used
		if err := c.addTo(&batch); err != nil {
			return err
		}
		changed = append(changed, c)
		if batch.Bytes() < flushBatchBytes {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("save the use of keys: %w", err)
		}
		if err := s.db.Apply(&batch); err != nil {
			return fmt.Errorf("save the use of keys: %w", err)
		}
		batch.Reset()
	}
	if err := s.db.Apply(&batch); err != nil {
		return fmt.Errorf("save the use of keys: %w", err)
	}
	if len(changed) > 0 {
		s.snapshot.Store(old.with(changed...))
	}
	return nil
}
