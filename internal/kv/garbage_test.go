//go:build !race

// Badger's rewriting of the value log reads the version counter of the memory
// table beside its writer, which the race detector rightly reports and which no
// caller can prevent; on 64-bit machines the read is whole. So this one test
// does not run under the detector.

package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// logFiles returns the names of the value log files in dir.
func logFiles(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.vlog"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestGarbageIsCollectedWhileWritersWrite fills some value log files, deletes most
// of it, and collects, all the while another goroutine writes.
func TestGarbageIsCollectedWhileWritersWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 800 MiB")
	}
	dir := t.TempDir()
	opened, err := OpenBadger(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	db := opened.(*badgerDB)
	key := func(i int) []byte { return binary.BigEndian.AppendUint32([]byte("v/"), uint32(i)) }
	value := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(value)
	const values = 800
	for i := range values {
		var b Batch
		b.Set(key(i), value)
		if err := db.Apply(&b); err != nil {
			t.Fatal(err)
		}
	}
	before := logFiles(t, dir)
	for i := range values {
		if i%100 != 0 {
			var b Batch
			b.Delete(key(i))
			if err := db.Apply(&b); err != nil {
				t.Fatal(err)
			}
		}
	}

	var stop atomic.Bool
	var writer sync.WaitGroup
	written := uint32(0)
	writer.Go(func() {
		for ; !stop.Load(); written++ {
			var b Batch
			b.Set(binary.BigEndian.AppendUint32([]byte("w/"), written), []byte("small"))
			if err := db.Apply(&b); err != nil {
				t.Errorf("Apply during a compaction = %v", err)
				return
			}
		}
	})
	start := time.Now()
	if err := db.compact(); err != nil {
		t.Fatal(err)
	}
	compacted := time.Since(start)
	db.rewriteLogs(time.Minute, nil)
	t.Logf("compacted in %v, rewritten in %v, %d files before, %d after", compacted, time.Since(start)-compacted, before, logFiles(t, dir))
	stop.Store(true)
	writer.Wait()
	if after := logFiles(t, dir); after > before/2 {
		t.Errorf("%d of %d value log files are left", after, before)
	}
	if _, err := db.Get([]byte(flushKey)); err == nil {
		t.Error("the mark of the compaction is left")
	}

	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenBadger(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	kept, small := 0, uint32(0)
	_ = again.Scan([]byte("v/"), func(_, got []byte) bool {
		kept++
		return bytes.Equal(got, value)
	})
	_ = again.Scan([]byte("w/"), func(_, _ []byte) bool { small++; return true })
	if kept != values/100 || small != written {
		t.Errorf("%d large and %d small values are left, want %d and %d", kept, small, values/100, written)
	}
	_ = os.RemoveAll(dir)
}

// TestAFullDiskGivesItsGarbageBack: uploads that lied about their digest filled a
// disk down to the floor, and what they had left stayed, as nothing was collected
// there, neither for a few deletions nor without room for a whole file.
func TestAFullDiskGivesItsGarbageBack(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 300 MiB")
	}
	dir := t.TempDir()
	var free atomic.Int64
	free.Store(1 << 40)
	opened, err := OpenBadger(dir, &Options{FreeBytes: func(string) (int64, error) { return free.Load(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	db := opened.(*badgerDB)
	value := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(value)
	key := func(i int) []byte { return binary.BigEndian.AppendUint32([]byte("v/"), uint32(i)) }
	var kept Batch
	kept.Set([]byte("kept"), value)
	if err := db.Apply(&kept); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		var set, drop Batch
		set.Set(key(i), value)
		drop.Delete(key(i))
		if err := errors.Join(db.Apply(&set), db.Apply(&drop)); err != nil {
			t.Fatal(err)
		}
	}
	before := logFiles(t, dir)
	free.Store(defaultMinFreeBytes - 1)
	time.Sleep(spaceReadingAge)
	db.collect()
	if after := logFiles(t, dir); after >= before {
		t.Errorf("there were %d files of the value log, and there are %d", before, after)
	}
	if got, err := db.Get([]byte("kept")); err != nil || !bytes.Equal(got, value) {
		t.Errorf("what was kept is %d bytes, %v", len(got), err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
