package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"

	"vcphost/internal/kv"
	"vcphost/internal/kv/kvtest"
)

// pattern is a deterministic stream without a period that a chunk could hide.
func pattern(size int) []byte {
	data := make([]byte, size)
	source := rand.NewChaCha8([32]byte{byte(size)})
	_, _ = source.Read(data)
	return data
}

func openBadger(t testing.TB) kv.DB {
	t.Helper()
	db, err := kv.OpenBadger(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// onBoth runs the test on both kinds of store.
func onBoth(t *testing.T, test func(t *testing.T, db kv.DB)) {
	t.Run("memory", func(t *testing.T) { test(t, kv.NewMemory()) })
	t.Run("badger", func(t *testing.T) { test(t, openBadger(t)) })
}

func put(t testing.TB, s *Store, id string, data []byte) {
	t.Helper()
	w, err := s.Create(id)
	if err != nil {
		t.Fatalf("Create(%q) = %v", id, err)
	}
	if n, err := w.Write(data); n != len(data) || err != nil {
		t.Fatalf("Write = %d, %v", n, err)
	}
	if size, err := w.Commit(nil); size != int64(len(data)) || err != nil {
		t.Fatalf("Commit = %d, %v; want %d", size, err, len(data))
	}
}

func TestSizes(t *testing.T) {
	sizes := []int{0, 1, 1000, ChunkBytes - 1, ChunkBytes, ChunkBytes + 1, 3 * ChunkBytes, 3*ChunkBytes + 7}
	onBoth(t, func(t *testing.T, db kv.DB) {
		s := New(db)
		for _, size := range sizes {
			id, data := fmt.Sprintf("blob_%d", size), pattern(size)
			put(t, s, id, data)
			r, err := s.Open(id)
			if err != nil {
				t.Fatalf("Open(%q) = %v", id, err)
			}
			if r.Size() != int64(size) {
				t.Errorf("Size() = %d, want %d", r.Size(), size)
			}
			if size < 2000 {
				err = iotest.TestReader(r, data)
			} else {
				err = compare(r, data)
			}
			if err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
			var out bytes.Buffer
			_, _ = r.Seek(0, io.SeekStart)
			if n, err := io.Copy(&out, r); n != int64(size) || err != nil || !bytes.Equal(out.Bytes(), data) {
				t.Errorf("copied %d of %d bytes, %v", n, size, err)
			}
			if err := errors.Join(r.Close(), r.Close()); err != nil {
				t.Error(err)
			}
			if _, err := r.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("Read after Close = %v, want fs.ErrClosed", err)
			}
		}
		if keys := kvtest.Keys(t, db, pendingPrefix); len(keys) > 0 {
			t.Errorf("markers left: %q", keys)
		}
	})
}

func compare(r io.Reader, data []byte) error {
	got, err := io.ReadAll(iotest.HalfReader(r))
	if err == nil && !bytes.Equal(got, data) {
		err = errors.New("other bytes came back")
	}
	return err
}

func TestWritesOfEverySize(t *testing.T) {
	db := kv.NewMemory()
	s := New(db)
	data := pattern(3*ChunkBytes + 12345)
	w, err := s.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for rest := data; len(rest) > 0; {
		n := min(random.IntN(300_000), len(rest))
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if _, err := w.Commit(nil); err != nil {
		t.Fatal(err)
	}
	r, err := s.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := compare(r, data); err != nil {
		t.Error(err)
	}
}

func TestWriteNext(t *testing.T) {
	onBoth(t, func(t *testing.T, db kv.DB) {
		s := New(db)
		data := pattern(3*ChunkBytes + 777)
		put(t, s, "a", data)
		r, err := s.Open("a")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for _, test := range []struct {
			name    string
			from, n int
			short   bool
		}{
			{"nothing", 5, 0, false},
			{"within a chunk", 5, 100, false},
			{"to the end of a chunk", ChunkBytes - 7, 7, false},
			{"over the ends of two", ChunkBytes - 7, ChunkBytes + 20, false},
			{"all", 0, len(data), false},
			{"more than there is", len(data) - 9, 10, true},
			{"after the end", len(data) + 9, 1, true},
		} {
			if _, err := r.Seek(int64(test.from), io.SeekStart); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			n, err := r.WriteNext(&got, int64(test.n))
			want := data[min(test.from, len(data)):min(test.from+test.n, len(data))]
			if n != int64(len(want)) || !bytes.Equal(got.Bytes(), want) || errors.Is(err, io.ErrUnexpectedEOF) != test.short || !test.short && err != nil {
				t.Errorf("%s: wrote %d bytes, %v; want %d", test.name, n, err, len(want))
			}
			if at, _ := r.Seek(0, io.SeekCurrent); at != int64(test.from)+n {
				t.Errorf("%s: the position is %d after %d bytes from %d", test.name, at, n, test.from)
			}
		}
	})
}

// lending knows whether the store lends a value at the moment.
type lending struct {
	kv.DB
	lent bool
}

func (l *lending) View(key []byte, read func(value []byte) error) error {
	l.lent = true
	defer func() { l.lent = false }()
	return l.DB.View(key, read)
}

// unlent is a writer that may take its time, so nothing may be lent meanwhile.
type unlent struct {
	t  *testing.T
	db *lending
}

func (u unlent) Write(p []byte) (int, error) {
	if u.db.lent {
		u.t.Error("a slow writer would hold the store's value log")
	}
	return len(p), nil
}

func TestNothingIsLentToAWriter(t *testing.T) {
	db := &lending{DB: kv.NewMemory()}
	s := New(db)
	put(t, s, "a", pattern(2*ChunkBytes+1))
	r, err := s.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	to := unlent{t, db}
	_, err = r.WriteNext(to, ChunkBytes+1)
	if n, rest := r.WriteTo(to); n != ChunkBytes || err != nil || rest != nil {
		t.Errorf("%d bytes, %v, %v", n, err, rest)
	}
}

func TestRandomOffsets(t *testing.T) {
	onBoth(t, func(t *testing.T, db kv.DB) {
		s := New(db)
		data := pattern(5*ChunkBytes + 777)
		put(t, s, "a", data)
		r, err := s.Open("a")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(uint64(g), 0))
				for range 50 {
					off, size := random.IntN(len(data)+10), random.IntN(2*ChunkBytes)
					got := make([]byte, size)
					n, err := r.ReadAt(got, int64(off))
					want := data[min(off, len(data)):min(off+size, len(data))]
					if !bytes.Equal(got[:n], want) || (err == nil) != (len(want) == size) || err != nil && err != io.EOF {
						t.Errorf("ReadAt(%d bytes, %d) = %d, %v; want %d bytes", size, off, n, err, len(want))
					}
				}
			})
		}
		wg.Wait()
		if _, err := r.ReadAt(make([]byte, 1), -1); err == nil {
			t.Error("ReadAt(-1) = nil, want an error")
		}
		if _, err := r.Seek(-1, io.SeekStart); err == nil {
			t.Error("Seek(-1) = nil, want an error")
		}
	})
}

func TestAbortLeavesNothing(t *testing.T) {
	for _, size := range []int{0, 5, ChunkBytes, 4*ChunkBytes + 1} {
		onBoth(t, func(t *testing.T, db kv.DB) {
			s := New(db)
			w, err := s.Create("a")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(pattern(size)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.Abort(), w.Abort()); err != nil {
				t.Fatal(err)
			}
			if keys := kvtest.Keys(t, db, ""); len(keys) > 0 {
				t.Errorf("keys left: %q", keys)
			}
			if _, err := w.Write([]byte("x")); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("Write after Abort = %v, want fs.ErrClosed", err)
			}
			if _, err := w.Commit(nil); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("Commit after Abort = %v, want fs.ErrClosed", err)
			}
			put(t, s, "a", []byte("new"))
		})
	}
}

func TestCommitIsOneMoment(t *testing.T) {
	db := kv.NewMemory()
	s := New(db)
	w, err := s.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(pattern(2*ChunkBytes + 5)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open("a"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Open before Commit = %v, want ErrNotFound", err)
	}
	if _, err := s.Create("a"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create of a pending id = %v, want fs.ErrExist", err)
	}
	var tooLarge kv.Batch
	tooLarge.Set([]byte("extra"), make([]byte, kv.MaxBatchBytes))
	if _, err := w.Commit(&tooLarge); !errors.Is(err, kv.ErrBatchTooLarge) {
		t.Errorf("Commit = %v, want ErrBatchTooLarge", err)
	}
	if has, _ := s.Has("a"); has {
		t.Error("a failed Commit made the blob visible")
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if keys := kvtest.Keys(t, db, ""); len(keys) > 0 {
		t.Errorf("keys left: %q", keys)
	}

	w, err = s.Create("b")
	if err != nil {
		t.Fatal(err)
	}
	var extra kv.Batch
	extra.Set([]byte("descriptor"), []byte("x"))
	if _, err := w.Commit(&extra); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Errorf("Abort after Commit = %v", err)
	}
	if has, err := s.Has("b"); err != nil || !has {
		t.Errorf("Has = %t, %v; want true", has, err)
	}
	if _, err := db.Get([]byte("descriptor")); err != nil {
		t.Errorf("the extra change is not there: %v", err)
	}
	if _, err := s.Create("b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create of a taken id = %v, want fs.ErrExist", err)
	}
}

func TestDelete(t *testing.T) {
	onBoth(t, func(t *testing.T, db kv.DB) {
		s := New(db)
		put(t, s, "a", pattern(2*ChunkBytes+1))
		put(t, s, "aa", []byte("neighbour"))
		r, err := s.Open("a")
		if err != nil {
			t.Fatal(err)
		}
		var b kv.Batch
		if err := s.Delete("a", &b); err != nil {
			t.Fatal(err)
		}
		if has, _ := s.Has("a"); !has {
			t.Error("the blob went before its batch was applied")
		}
		if err := db.Apply(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("Read of a deleted blob = %v, want io.ErrUnexpectedEOF", err)
		}
		for _, id := range []string{"a", "never", "", "../a", "aa", "aa"} {
			if err := s.Delete(id, nil); err != nil {
				t.Errorf("Delete(%q) = %v", id, err)
			}
		}
		if keys := kvtest.Keys(t, db, ""); len(keys) > 0 {
			t.Errorf("keys left: %q", keys)
		}
	})
}

// TestDeleteHuge gives blobs more chunks than one batch deletes; the chunks are
// empty, since it is about keys.
func TestDeleteHuge(t *testing.T) {
	const chunks = 2*maxDeletes + 3
	db := kv.NewMemory()
	s := New(db)
	for _, id := range []string{"now", "later"} {
		for from := uint32(0); from < chunks; from += maxDeletes {
			var b kv.Batch
			for i := from; i < min(from+maxDeletes, chunks); i++ {
				b.Set(chunkKey(id, i), nil)
			}
			b.Set(headKey(id), encode(head{V: formatVersion, SizeBytes: chunks * ChunkBytes, Chunks: chunks}))
			if err := db.Apply(&b); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Delete("now", nil); err != nil {
		t.Fatal(err)
	}
	var b kv.Batch
	if err := s.Delete("later", &b); err != nil {
		t.Fatal(err)
	}
	if err := db.Apply(&b); err != nil {
		t.Fatal(err)
	}
	if has, _ := s.Has("later"); has {
		t.Error("the blob is still visible")
	}
	if n, err := s.Sweep(); n != 1 || err != nil {
		t.Errorf("Sweep() = %d, %v; want 1", n, err)
	}
	if keys := kvtest.Keys(t, db, ""); len(keys) > 0 {
		t.Errorf("%d keys left", len(keys))
	}
}

func TestSweepAfterCrash(t *testing.T) {
	dir := t.TempDir()
	open := func() (kv.DB, *Store) {
		db, err := kv.OpenBadger(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return db, New(db)
	}
	db, s := open()
	put(t, s, "whole", pattern(ChunkBytes+1))
	for _, id := range []string{"half", "halfway"} {
		w, err := s.Create(id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(pattern(3*ChunkBytes + 5)); err != nil {
			t.Fatal(err)
		}
	}
	before := kvtest.Keys(t, db, "blob/whole")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	db, s = open()
	defer db.Close()
	if n, err := s.Sweep(); n != 2 || err != nil {
		t.Errorf("Sweep() = %d, %v; want 2", n, err)
	}
	if got := kvtest.Keys(t, db, ""); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("keys after Sweep = %q, want %q", got, before)
	}
	if n, err := s.Sweep(); n != 0 || err != nil {
		t.Errorf("second Sweep() = %d, %v; want 0", n, err)
	}
}

// brokenDB refuses batches from the given one on, as a full disk does.
type brokenDB struct {
	kv.DB
	good int
}

func (b *brokenDB) Apply(batch *kv.Batch) error {
	if b.good--; b.good < 0 && batch.Bytes() > 1000 {
		return kv.ErrNoSpace
	}
	return b.DB.Apply(batch)
}

func TestFailureOfTheStore(t *testing.T) {
	for good := range 3 {
		db := &brokenDB{DB: kv.NewMemory(), good: good}
		w, err := New(db).Create("a")
		if err != nil {
			t.Fatal(err)
		}
		data := pattern(2*ChunkBytes + 1)
		if _, err = w.Write(data); err == nil {
			_, err = w.Commit(nil)
		}
		if good < 2 && !errors.Is(err, kv.ErrNoSpace) {
			t.Errorf("after %d good batches: %v, want ErrNoSpace", good, err)
		}
		if err != nil {
			if _, again := w.Commit(nil); again == nil {
				t.Error("Commit after a failed write = nil, want an error")
			}
		}
		if err := w.Abort(); err != nil {
			t.Error(err)
		}
		if keys := kvtest.Keys(t, db, ""); err != nil && len(keys) > 0 {
			t.Errorf("keys left: %q", keys)
		}
	}
}

func TestBadIDsAndHeads(t *testing.T) {
	db := kv.NewMemory()
	s := New(db)
	for _, id := range []string{"", "a/b", "a\x00b", "a b", "é", string(make([]byte, 200))} {
		if _, err := s.Create(id); err == nil {
			t.Errorf("Create(%.20q) = nil, want an error", id)
		}
		if _, err := s.Open(id); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("Open(%.20q) = %v, want ErrNotFound", id, err)
		}
		if has, err := s.Has(id); has || err != nil {
			t.Errorf("Has(%.20q) = %t, %v", id, has, err)
		}
	}
	for _, raw := range []string{``, `{}`, `{"v":2,"sizeBytes":1,"chunks":1}`, `{"v":1,"sizeBytes":-1}`,
		`{"v":1,"sizeBytes":1048577,"chunks":1}`, `{"v":1,"sizeBytes":9223372036854775807,"chunks":1}`} {
		kvtest.Set(t, db, "blob/x", raw)
		if _, err := s.Open("x"); err == nil || errors.Is(err, kv.ErrNotFound) {
			t.Errorf("Open with head %q = %v, want an error of its own", raw, err)
		}
	}
	kvtest.Set(t, db, "blob/x", `{"v":1,"sizeBytes":5,"chunks":1}`)
	kvtest.Set(t, db, "blob/x/\x00\x00\x00\x00", "four")
	r, err := s.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a short chunk reads %v, want io.ErrUnexpectedEOF", err)
	}
}
