package identity

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vcphost/internal/kv"
	"vcphost/internal/kv/kvtest"
)

// faultyDB is a DB whose writes fail on demand.
type faultyDB struct {
	kv.DB
	applyFails, syncFails atomic.Bool
	reads                 atomic.Int64
}

var errDisk = errors.New("the disk is gone")

func (f *faultyDB) Apply(b *kv.Batch) error {
	if f.applyFails.Load() {
		return errDisk
	}
	return f.DB.Apply(b)
}

func (f *faultyDB) Sync() error {
	if f.syncFails.Load() {
		return errDisk
	}
	return f.DB.Sync()
}

func (f *faultyDB) Get(key []byte) ([]byte, error) {
	f.reads.Add(1)
	return f.DB.Get(key)
}

func (f *faultyDB) View(key []byte, read func([]byte) error) error {
	f.reads.Add(1)
	return f.DB.View(key, read)
}

func (f *faultyDB) Scan(prefix []byte, visit func(key, value []byte) bool) error {
	f.reads.Add(1)
	return f.DB.Scan(prefix, visit)
}

func TestAddOnAFailingDisk(t *testing.T) {
	db := &faultyDB{DB: kv.NewMemory()}
	s := open(t, db, nil)
	db.syncFails.Store(true)
	if secret, made, err := s.Bootstrap(t.Context()); !errors.Is(err, errDisk) || made || secret != "" {
		t.Errorf("Bootstrap = %q, %v, %v", secret, made, err)
	}
	if got := kvtest.Keys(t, db.DB, ""); len(got) != 0 {
		t.Errorf("a key that nobody has is in the store: %v", got)
	}
	db.syncFails.Store(false)
	db.applyFails.Store(true)
	if _, secret, err := s.Add(t.Context(), reader("one")); !errors.Is(err, errDisk) || secret != "" {
		t.Errorf("Add = %q, %v", secret, err)
	}
	db.applyFails.Store(false)
	if _, made, err := s.Bootstrap(t.Context()); err != nil || !made {
		t.Errorf("Bootstrap on the mended disk = %v, %v", made, err)
	}
}

func TestRevokeOnAFailingDisk(t *testing.T) {
	db := &faultyDB{DB: kv.NewMemory()}
	s := open(t, db, nil)
	key, secret := add(t, s, reader("one"))
	db.applyFails.Store(true)
	if err := s.Revoke(t.Context(), key.ID); !errors.Is(err, errDisk) {
		t.Errorf("Revoke = %v, want the disk's error", err)
	}
	if got := check(s, secret); got != ErrRevoked.Error() {
		t.Errorf("the key is answered with %s", got)
	}
	db.applyFails.Store(false)
	if err := s.Revoke(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	if got := check(open(t, db, nil), secret); got != ErrRevoked.Error() {
		t.Errorf("after reopening it is answered with %s", got)
	}
}

func TestAuthenticateReadsNoDiskAndAllocatesNothing(t *testing.T) {
	db := &faultyDB{DB: kv.NewMemory()}
	s := open(t, db, nil)
	_, secret := add(t, s, reader("one"))
	before := db.reads.Load()
	allocated := testing.AllocsPerRun(1000, func() {
		if _, err := s.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	})
	if got := db.reads.Load() - before; got != 0 {
		t.Errorf("%d reads of the store", got)
	}
	if allocated > 0 {
		t.Errorf("%v allocations", allocated)
	}
}

func TestFlushWritesOnlyWhatChanged(t *testing.T) {
	now := start
	db := &faultyDB{DB: kv.NewMemory()}
	s := open(t, db, &Options{Now: func() time.Time { return now }})
	_, secret := add(t, s, reader("one"))
	check(s, secret)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	db.applyFails.Store(true)
	now = start.Add(time.Second)
	check(s, secret)
	check(s, secret+"x")
	snapshot := s.snapshot.Load()
	db.applyFails.Store(false)
	if err := s.Flush(t.Context()); err != nil || s.snapshot.Load() != snapshot {
		t.Errorf("a use in the same minute was written: %v", err)
	}
	now = start.Add(time.Minute)
	check(s, secret)
	db.applyFails.Store(true)
	if err := s.Flush(t.Context()); !errors.Is(err, errDisk) {
		t.Errorf("Flush = %v, want the disk's error", err)
	}
	db.applyFails.Store(false)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, _ := open(t, db, nil).List(t.Context())
	if !list[0].LastUsedAt.Equal(now.Truncate(time.Minute)) {
		t.Errorf("last used at %v", list[0].LastUsedAt)
	}
}

func TestFullStore(t *testing.T) {
	now := start
	s := open(t, kv.NewMemory(), &Options{Now: func() time.Time { return now }})
	first, _ := add(t, s, reader("first"))
	second, gone := add(t, s, reader("second"))
	// Filling it through Add would clone the snapshot ten thousand times.
	full := s.snapshot.Load().with()
	for i := range MaxKeys - len(full.entries) {
		full.entries[fmt.Sprint(i)] = newEntry(Key{ID: fmt.Sprintf("key_%d", i), CreatedAt: start}, digest{})
	}
	s.snapshot.Store(full)
	if _, _, err := s.Add(t.Context(), reader("one more")); !errors.Is(err, ErrTooMany) {
		t.Errorf("Add to a full store = %v, want ErrTooMany", err)
	}
	if err := s.Revoke(t.Context(), second.ID); err != nil {
		t.Fatal(err)
	}
	_, secret := add(t, s, reader("one more"))
	if got := check(s, secret) + ", " + check(s, gone); got != "one more, unknown key" {
		t.Errorf("the new and the removed key: %s", got)
	}
	if s.snapshot.Load().byID(first.ID) == nil || len(s.snapshot.Load().entries) != MaxKeys {
		t.Error("a key in use made room")
	}
}

// TestHammer checks keys while others are made, revoked, listed and flushed. A
// key must be accepted between the end of Add and the beginning of Revoke, and
// refused after the end of Revoke.
func TestHammer(t *testing.T) {
	const workers, rounds = 8, 60
	s := open(t, kv.NewMemory(), nil)
	_, steady := add(t, s, reader("steady"))
	stop := make(chan struct{})
	var background, group sync.WaitGroup
	for range 2 {
		background.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := check(s, steady); got != "steady" {
					t.Errorf("the steady key: %s", got)
				}
				if _, err := s.List(t.Context()); err != nil {
					t.Error(err)
				}
				if err := s.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for w := range workers {
		group.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("%d-%d", w, i)
				key, secret, err := s.Add(t.Context(), reader(name))
				if err != nil {
					t.Error(err)
					return
				}
				if got := check(s, secret); got != name {
					t.Errorf("a new key: %s", got)
				}
				if err := s.Revoke(t.Context(), key.ID); err != nil {
					t.Error(err)
				}
				if got := check(s, secret); got != ErrRevoked.Error() {
					t.Errorf("a revoked key: %s", got)
				}
			}
		})
	}
	group.Wait()
	close(stop)
	background.Wait()
	if list, _ := s.List(t.Context()); len(list) != workers*rounds+1 {
		t.Errorf("%d keys, want %d", len(list), workers*rounds+1)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	s := open(b, kv.NewMemory(), nil)
	_, secret := add(b, s, reader("one"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Authenticate(b.Context(), secret); err != nil {
			b.Fatal(err)
		}
	}
}
