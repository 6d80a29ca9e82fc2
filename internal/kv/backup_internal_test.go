package kv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// TestBackupOutlastsGarbageCollection deletes everything, compacts and rewrites
// the value log in the middle of a backup, which still has all of its moment.
func TestBackupOutlastsGarbageCollection(t *testing.T) {
	db, err := OpenBadger(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const count = 40
	key := func(i int) []byte { return fmt.Appendf(nil, "value/%03d", i) }
	for i := range count {
		var b Batch
		b.Set(key(i), bytes.Repeat([]byte{byte(i)}, 1<<20))
		if err := db.Apply(&b); err != nil {
			t.Fatal(err)
		}
	}
	collected := false
	var out bytes.Buffer
	err = Backup(t.Context(), db, writerFunc(func(p []byte) (int, error) {
		if !collected && out.Len() > 4<<20 {
			collected = true
			var b Batch
			for i := range count {
				b.Delete(key(i))
			}
			if err := errors.Join(db.Apply(&b), db.(*badgerDB).compact()); err != nil {
				return 0, err
			}
			_ = db.(*badgerDB).db.RunValueLogGC(0.01) // nothing to gain is an error of it
		}
		return out.Write(p)
	}))
	if err != nil {
		t.Fatal(err)
	}
	done, err := Restore(t.Context(), filepath.Join(t.TempDir(), "store"), &out, nil)
	if err != nil || done.Entries != count || !collected {
		t.Errorf("Restore = %+v, %v (collected %v); want %d entries", done, err, collected, count)
	}
}

type writerFunc func(p []byte) (int, error)

func (w writerFunc) Write(p []byte) (int, error) { return w(p) }

// FuzzBackupReader: whatever the bytes are, reading ends in a whole backup or in
// an error, and what it takes as whole is what a backup of it gives.
func FuzzBackupReader(f *testing.F) {
	db := NewMemory()
	for _, key := range []string{"a", "b", strings.Repeat("k", 200)} {
		var b Batch
		b.Set([]byte(key), []byte(strings.Repeat(key, 2)))
		if err := db.Apply(&b); err != nil {
			f.Fatal(err)
		}
	}
	var whole, empty bytes.Buffer
	if err := errors.Join(Backup(context.Background(), db, &whole), Backup(context.Background(), NewMemory(), &empty)); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add(empty.Bytes())
	f.Add(whole.Bytes()[:30])
	f.Add([]byte("vcphost-backup 1 store 1\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add([]byte("vcphost-backup 01 store 1\n\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := newBackupReader(bytes.NewReader(raw))
		copied := NewMemory()
		defer copied.Close()
		if err == nil {
			err = refill(t.Context(), copied, r)
		}
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v is no error for people", err)
			}
			return
		}
		var again bytes.Buffer
		if _, err := backup(t.Context(), copied, r.header, &again); err != nil || !bytes.Equal(again.Bytes(), raw) {
			t.Errorf("%q was taken and is %q again, %v", raw, again.Bytes(), err)
		}
	})
}
