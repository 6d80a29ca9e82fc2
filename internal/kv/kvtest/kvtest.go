// Package kvtest holds the conformance suite of kv.DB: what every store must do
// for its users to be right. Each implementation runs it from its own test.
package kvtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"vcphost/internal/kv"
)

// Run runs the suite. open returns a new, empty store for each test; the suite
// closes it.
func Run(t *testing.T, open func(t *testing.T) kv.DB) {
	tests := []struct {
		name string
		run  func(t *testing.T, db kv.DB)
	}{
		{"read what was written", testReadBack},
		{"values are copies", testCopies},
		{"batch is in order and atomic", testBatch},
		{"batch limits", testLimits},
		{"add", testAdd},
		{"bad keys", testBadKeys},
		{"scan order, prefix and stop", testScan},
		{"scan sees one moment", testScanMoment},
		{"errors of callbacks come back", testCallbackError},
		{"closed", testClosed},
		{"close waits", testCloseWaits},
		{"hammer", testHammer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := open(t)
			defer func() {
				if err := db.Close(); err != nil {
					t.Errorf("Close() = %v", err)
				}
			}()
			tt.run(t, db)
		})
	}
}

// Set applies a batch of one value and fails the test if that fails.
func Set(t testing.TB, db kv.DB, key, value string) {
	t.Helper()
	var b kv.Batch
	b.Set([]byte(key), []byte(value))
	if err := db.Apply(&b); err != nil {
		t.Fatalf("Apply(%q) = %v", key, err)
	}
}

// Keys returns all keys under the prefix.
func Keys(t testing.TB, db kv.DB, prefix string) []string {
	t.Helper()
	var keys []string
	err := db.Scan([]byte(prefix), func(key, _ []byte) bool {
		keys = append(keys, string(key))
		return true
	})
	if err != nil {
		t.Fatalf("Scan(%q) = %v", prefix, err)
	}
	return keys
}

func want(t *testing.T, db kv.DB, key, value string) {
	t.Helper()
	got, err := db.Get([]byte(key))
	if err != nil || string(got) != value {
		t.Errorf("Get(%q) = %.40q, %v; want %.40q", key, got, err, value)
	}
}

func wantNone(t *testing.T, db kv.DB, key string) {
	t.Helper()
	if got, err := db.Get([]byte(key)); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Get(%q) = %.40q, %v; want ErrNotFound", key, got, err)
	}
}

func testReadBack(t *testing.T, db kv.DB) {
	big := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<16)) // 1 MiB
	values := map[string]string{
		"a": "1", "empty": "", "\x00": "zero byte", "\xff\xff": "not text", "big": big,
		string(bytes.Repeat([]byte("k"), kv.MaxKeyBytes)): "long key",
	}
	wantNone(t, db, "a")
	for key, value := range values {
		Set(t, db, key, value)
	}
	for key, value := range values {
		want(t, db, key, value)
		if has, err := db.Has([]byte(key)); err != nil || !has {
			t.Errorf("Has(%.40q) = %t, %v; want true", key, has, err)
		}
		err := db.View([]byte(key), func(got []byte) error {
			if string(got) != value {
				t.Errorf("View(%.40q) gave %.40q, want %.40q", key, got, value)
			}
			return nil
		})
		if err != nil {
			t.Errorf("View(%.40q) = %v", key, err)
		}
	}
	wantNone(t, db, "b")
	wantNone(t, db, "")
	if has, err := db.Has([]byte("b")); err != nil || has {
		t.Errorf("Has of nothing = %t, %v; want false", has, err)
	}
	if err := db.View([]byte("b"), func([]byte) error { return nil }); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("View of nothing = %v, want ErrNotFound", err)
	}
	if err := db.Sync(); err != nil {
		t.Errorf("Sync() = %v", err)
	}
}

func testCopies(t *testing.T, db kv.DB) {
	key, value := []byte("key"), []byte("value")
	var b kv.Batch
	b.Set(key, value)
	if err := db.Apply(&b); err != nil {
		t.Fatal(err)
	}
	copy(key, "xxx")
	copy(value, "xxxxx")
	got, err := db.Get([]byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	copy(got, "yyyyy")
	want(t, db, "key", "value")
}

func testBatch(t *testing.T, db kv.DB) {
	if err := db.Apply(&kv.Batch{}); err != nil {
		t.Errorf("Apply of an empty batch = %v", err)
	}
	Set(t, db, "old", "1")
	var b kv.Batch
	b.Set([]byte("twice"), []byte("first"))
	b.Set([]byte("twice"), []byte("second"))
	b.Set([]byte("gone"), []byte("x"))
	b.Delete([]byte("gone"))
	b.Delete([]byte("back"))
	b.Set([]byte("back"), []byte("again"))
	b.Delete([]byte("old"))
	b.Delete([]byte("never there"))
	if b.Len() != 8 || b.Bytes() == 0 {
		t.Errorf("Len() = %d, Bytes() = %d", b.Len(), b.Bytes())
	}
	if err := db.Apply(&b); err != nil {
		t.Fatalf("Apply = %v", err)
	}
	if got := Keys(t, db, ""); !slices.Equal(got, []string{"back", "twice"}) {
		t.Errorf("keys = %q", got)
	}
	want(t, db, "twice", "second")
	b.Reset()
	b.Set([]byte("reused"), nil)
	if err := db.Apply(&b); err != nil || b.Len() != 1 {
		t.Errorf("Apply after Reset = %v, Len() = %d", err, b.Len())
	}
	want(t, db, "reused", "")
}

// testLimits fills batches to the limits with the sizes of values that stores
// treat differently.
func testLimits(t *testing.T, db kv.DB) {
	for _, size := range []int{0, 200, 60 << 10, 70 << 10, 1 << 20} {
		var b kv.Batch
		value := make([]byte, size)
		for i := 0; b.Len() < kv.MaxBatchEntries && b.Bytes()+size+16 <= kv.MaxBatchBytes; i++ {
			b.Set(fmt.Appendf(nil, "%07d/%08d", size, i), value)
		}
		if err := db.Apply(&b); err != nil {
			t.Errorf("Apply of %d values of %d bytes = %v", b.Len(), size, err)
		}
		if got := len(Keys(t, db, fmt.Sprintf("%07d/", size))); got != b.Len() {
			t.Errorf("%d of %d values of %d bytes are there", got, b.Len(), size)
		}
	}
	var bytes, entries kv.Batch
	bytes.Set([]byte("small"), []byte("x"))
	bytes.Set([]byte("large"), make([]byte, kv.MaxBatchBytes))
	for i := range kv.MaxBatchEntries + 1 {
		entries.Set(fmt.Appendf(nil, "entry%d", i), nil)
	}
	for _, b := range []*kv.Batch{&bytes, &entries} {
		if err := db.Apply(b); !errors.Is(err, kv.ErrBatchTooLarge) {
			t.Errorf("Apply of %d changes of %d bytes = %v, want ErrBatchTooLarge", b.Len(), b.Bytes(), err)
		}
	}
	wantNone(t, db, "small")
	wantNone(t, db, "entry0")
}

func testAdd(t *testing.T, db kv.DB) {
	var b kv.Batch
	b.Add([]byte("once"), []byte("1"))
	if err := db.Apply(&b); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	b.Set([]byte("beside"), []byte("2"))
	b.Add([]byte("once"), []byte("2"))
	if err := db.Apply(&b); !errors.Is(err, kv.ErrExists) {
		t.Errorf("adding a key again = %v, want ErrExists", err)
	}
	wantNone(t, db, "beside")
	if got, err := db.Get([]byte("once")); err != nil || string(got) != "1" {
		t.Errorf("the key has %q (%v), want 1", got, err)
	}
	b.Reset()
	b.Delete([]byte("once"))
	if err := db.Apply(&b); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	b.Add([]byte("once"), []byte("3"))
	if err := db.Apply(&b); err != nil {
		t.Errorf("adding a deleted key = %v", err)
	}
}

func testBadKeys(t *testing.T, db kv.DB) {
	for _, key := range [][]byte{
		nil, {}, make([]byte, kv.MaxKeyBytes+1), make([]byte, 1<<17), []byte("!badger!x"), []byte("\x00kv/x"),
	} {
		var b kv.Batch
		b.Set([]byte("good"), []byte("x"))
		b.Set(key, []byte("x"))
		if err := db.Apply(&b); err == nil {
			t.Errorf("Apply with a key of %d bytes = nil, want an error", len(key))
		}
		wantNone(t, db, "good")
		if _, err := db.Get(key); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("Get of a key of %d bytes = %v, want ErrNotFound", len(key), err)
		}
	}
}

func testScan(t *testing.T, db kv.DB) {
	for _, key := range []string{"p/2", "p/10", "p", "p/1", "q/1", "o", "p/\xff", "p/\x00", "p0"} {
		Set(t, db, key, "value of "+key)
	}
	tests := []struct {
		prefix string
		want   []string
	}{
		{"p/", []string{"p/\x00", "p/1", "p/10", "p/2", "p/\xff"}},
		{"", []string{"o", "p", "p/\x00", "p/1", "p/10", "p/2", "p/\xff", "p0", "q/1"}},
		{"p/\xff", []string{"p/\xff"}},
		{"z", nil},
	}
	for _, tt := range tests {
		if got := Keys(t, db, tt.prefix); !slices.Equal(got, tt.want) {
			t.Errorf("Scan(%q) = %q, want %q", tt.prefix, got, tt.want)
		}
	}
	visits := 0
	err := db.Scan([]byte("p/"), func(key, value []byte) bool {
		visits++
		if string(value) != "value of "+string(key) {
			t.Errorf("under %q lies %q", key, value)
		}
		return visits < 2
	})
	if err != nil || visits != 2 {
		t.Errorf("a scan stopped at 2 made %d visits, %v", visits, err)
	}
}

// testScanMoment changes the store from inside a scan.
func testScanMoment(t *testing.T, db kv.DB) {
	for i := range 10 {
		Set(t, db, fmt.Sprintf("k%d", i), "old")
	}
	visits := 0
	err := db.Scan([]byte("k"), func(key, value []byte) bool {
		visits++
		Set(t, db, fmt.Sprintf("k%d", 9-visits%10), "new")
		Set(t, db, fmt.Sprintf("kk%d", visits), "new")
		if string(value) != "old" {
			t.Errorf("the scan saw %q = %q, which was applied after it began", key, value)
		}
		return true
	})
	if err != nil || visits != 10 {
		t.Errorf("%d visits, %v; want 10", visits, err)
	}
}

func testCallbackError(t *testing.T, db kv.DB) {
	Set(t, db, "a", "1")
	mine := errors.New("mine")
	if err := db.View([]byte("a"), func([]byte) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("View = %v, want the error of its function", err)
	}
}

func testClosed(t *testing.T, db kv.DB) {
	Set(t, db, "a", "1")
	for range 2 {
		if err := db.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	}
	var b kv.Batch
	b.Set([]byte("a"), []byte("2"))
	_, getErr := db.Get([]byte("a"))
	_, hasErr := db.Has([]byte("a"))
	for name, err := range map[string]error{
		"Get":   getErr,
		"Has":   hasErr,
		"View":  db.View([]byte("a"), func([]byte) error { return nil }),
		"Apply": db.Apply(&b),
		"Scan":  db.Scan(nil, func(_, _ []byte) bool { return true }),
		"Sync":  db.Sync(),
	} {
		if !errors.Is(err, kv.ErrClosed) {
			t.Errorf("%s after Close = %v, want ErrClosed", name, err)
		}
	}
}

// testCloseWaits closes the store while a scan reads from it.
func testCloseWaits(t *testing.T, db kv.DB) {
	for i := range 100 {
		Set(t, db, fmt.Sprintf("k%02d", i), string(make([]byte, 1000)))
	}
	var once sync.Once
	closed := make(chan error, 1)
	sum := 0
	err := db.Scan(nil, func(key, value []byte) bool {
		once.Do(func() { go func() { closed <- db.Close() }() })
		for _, c := range value {
			sum += int(c) + 1
		}
		_, err := db.Get(key)
		return err == nil || errors.Is(err, kv.ErrClosed)
	})
	if err != nil || sum != 100*1000 {
		t.Errorf("the scan read %d bytes, %v; want all 100000", sum, err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close() = %v", err)
	}
}

// testHammer has writers keep pairs of keys equal while readers check them.
func testHammer(t *testing.T, db kv.DB) {
	const writers, rounds = 4, 200
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			left, right := fmt.Appendf(nil, "pair/%d/left", w), fmt.Appendf(nil, "pair/%d/right", w)
			for i := range rounds {
				value := binary.BigEndian.AppendUint64(bytes.Repeat([]byte{byte(w)}, i%3*40<<10), uint64(i))
				var b kv.Batch
				b.Set(left, value)
				b.Set(right, value)
				if err := db.Apply(&b); err != nil {
					t.Errorf("Apply = %v", err)
					return
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range rounds / 4 {
				pairs := make(map[string][]byte)
				err := db.Scan([]byte("pair/"), func(key, value []byte) bool {
					name := string(key[:6])
					if other, ok := pairs[name]; ok && !bytes.Equal(other, value) {
						t.Errorf("half a batch is visible under %s", name)
					}
					pairs[name] = bytes.Clone(value)
					return true
				})
				if err != nil {
					t.Errorf("Scan = %v", err)
				}
			}
		})
	}
	wg.Wait()
	for w := range writers {
		got, err := db.Get(fmt.Appendf(nil, "pair/%d/left", w))
		if err != nil || len(got) < 8 || binary.BigEndian.Uint64(got[len(got)-8:]) != rounds-1 {
			t.Errorf("the last value of writer %d is not there: %d bytes, %v", w, len(got), err)
		}
	}
}
