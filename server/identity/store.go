package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"vcphost/internal/ids"
	"vcphost/internal/kv"
)

// What a caller branches on. Towards a client the first three are one answer.
var (
	// ErrUnknown: no key has this secret.
	ErrUnknown = errors.New("unknown key")
	// ErrExpired: the secret is right, and its key has expired.
	ErrExpired = errors.New("the key has expired")
	// ErrRevoked: the secret is right, and its key was revoked.
	ErrRevoked = errors.New("the key was revoked")
	// ErrNotFound: there is no key of this id.
	ErrNotFound = errors.New("no such key")
	// ErrInvalid: the KeySpec is no key; the message tells why.
	ErrInvalid = errors.New("invalid key")
	// ErrTooMany: there are MaxKeys keys, and all of them are in use.
	ErrTooMany = errors.New("too many keys")
)

// Options of a store. Nil means the defaults.
type Options struct {
	// Now is the clock of expiry; nil means time.Now.
	Now func() time.Time
	// Logger is told which keys are made and revoked, by id and name; nil discards.
	Logger *slog.Logger
	// Static is a key that the store accepts besides its own; nil means none.
	Static *StaticKey
}

// Store keeps keys. It is the only writer of its rows, and safe for concurrent
// use. It has nothing to close; whoever closes the DB calls Flush before.
type Store struct {
	db     kv.DB
	now    func() time.Time
	logger *slog.Logger
	static *StaticKey
	ids    *ids.Source

	snapshot atomic.Pointer[snapshot]
	mu       sync.Mutex // held by whoever replaces snapshot, until the rows are written
}

// Open reads all keys. A row of an unknown format version or a damaged one is an
// error: to leave out a key could bring back the rights of the first start.
func Open(db kv.DB, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{db: db, now: opts.Now, logger: opts.Logger, static: opts.Static, ids: ids.NewSource(opts.Now)}
	if s.now == nil {
		s.now = time.Now
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	entries := map[string]*entry{}
	var bad error
	err := db.Scan([]byte(rowPrefix), func(key, value []byte) bool {
		var e *entry
		if e, bad = readRow(key, value); bad != nil {
			return false
		}
		entries[e.ulid()] = e
		return true
	})
	if err = errors.Join(err, bad); err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	s.snapshot.Store(&snapshot{entries})
	return s, nil
}

// Add makes a key and returns its description and its secret, which is nowhere
// else from then on. When Add returns, the key is on the disk. It fails with
// ErrInvalid or ErrTooMany; where MaxKeys is reached, the oldest revoked or
// expired key makes room.
func (s *Store) Add(ctx context.Context, spec KeySpec) (Key, string, error) {
	if err := ctx.Err(); err != nil {
		return Key{}, "", fmt.Errorf("add a key: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, secret, err := s.add(&spec)
	if err != nil {
		return Key{}, "", fmt.Errorf("add a key: %w", err)
	}
	return key, secret, nil
}

func (s *Store) add(spec *KeySpec) (Key, string, error) {
	now := s.now()
	key, err := spec.key(s.ids.New(idPrefix), now)
	if err != nil {
		return Key{}, "", err
	}
	old := s.snapshot.Load()
	crowded, err := old.makeRoom(now)
	if err != nil {
		return Key{}, "", err
	}
	secret := newSecret(key.ID)
	e := newEntry(cloneKey(&key), digestOf(secret))
	var batch kv.Batch
	if err := e.addTo(&batch); err != nil {
		return Key{}, "", err
	}
	if crowded != nil {
		batch.Delete(rowKey(crowded.key.ID))
	}
	if err := s.write(&batch); err != nil {
		return Key{}, "", errors.Join(err, s.forget(key.ID))
	}
	s.snapshot.Store(old.with(e).without(crowded))
	s.logger.Info("key added", "keyId", key.ID, "name", key.Name, "scopes", key.Scopes)
	return key, secret, nil
}

// forget removes a row that may or may not have been written, and whose secret
// nobody was told.
func (s *Store) forget(id string) error {
	var batch kv.Batch
	batch.Delete(rowKey(id))
	return s.db.Apply(&batch)
}

// write applies a batch durably: a revoked key must not come back with a power
// failure.
func (s *Store) write(batch *kv.Batch) error {
	if err := s.db.Apply(batch); err != nil {
		return fmt.Errorf("write keys: %w", err)
	}
	if err := s.db.Sync(); err != nil {
		return fmt.Errorf("write keys: %w", err)
	}
	return nil
}

// Revoke refuses a key from now on. Revoking it again changes nothing. ErrNotFound
// says that there is no such key. After any other error the key is refused until
// the program ends, but may come back with the next start: call Revoke again.
func (s *Store) Revoke(ctx context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.snapshot.Load()
	e := old.byID(id)
	if e == nil {
		// The id is not repeated: people paste secrets in its place.
		return fmt.Errorf("revoke: %w", ErrNotFound)
	}
	if e.key.RevokedAt.IsZero() {
		changed := e.clone()
		changed.key.RevokedAt = stamp(s.now())
		e = changed
		s.snapshot.Store(old.with(e))
		s.logger.Info("key revoked", "keyId", e.key.ID, "name", e.key.Name)
	}
	// It is written again also if it was revoked before, as that may have failed.
	var batch kv.Batch
	err := e.addTo(&batch)
	if err == nil {
		err = s.write(&batch)
	}
	if err != nil {
		return fmt.Errorf("revoke %s: it is refused until the program ends: %w", e.key.ID, err)
	}
	return nil
}

// List returns all keys but the static one, the oldest first. The caller owns
// them.
func (s *Store) List(ctx context.Context) ([]Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return s.snapshot.Load().list(), nil
}

// Bootstrap makes an administrator's key if there is no key at all, not even a
// revoked or a static one, and says whether it did. The secret is to be shown to
// whoever starts the program, once.
func (s *Store) Bootstrap(ctx context.Context) (secret string, made bool, err error) {
	if err := ctx.Err(); err != nil {
		return "", false, fmt.Errorf("make the first key: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.static != nil || len(s.snapshot.Load().entries) > 0 {
		return "", false, nil
	}
	_, secret, err = s.add(&KeySpec{Name: "first administrator", Scopes: Scopes{ScopeAdmin}, Actor: AdministratorActor})
	if err != nil {
		return "", false, fmt.Errorf("make the first key: %w", err)
	}
	return secret, true, nil
}
