package kv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"vcphost/internal/kv"
)

// TestFullDisk fills a small file system with the store and then with a file of
// somebody else, to the last byte. The store refuses writes in time, reads and
// closes as before, has lost nothing, and takes writes again once there is room.
func TestFullDisk(t *testing.T) {
	mount := mountTmpfs(t, "size=224m")
	dir, ballast := filepath.Join(mount, "store"), filepath.Join(mount, "of somebody else")
	db, err := kv.OpenBadger(dir, smallFloor())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // of a failed test, before the mount goes
	// What somebody else will free must be more than the store itself is over.
	if err := os.WriteFile(ballast, make([]byte, 32<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	written, err := fillStore(db)
	if err != nil {
		t.Fatal(err)
	}
	if err := fillDisk(ballast + " 2"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(readingAge)
	if err := db.Apply(numbered(written)); !errors.Is(err, kv.ErrNoSpace) || !errors.Is(db.Room(), kv.ErrNoSpace) {
		t.Fatalf("on a full disk Apply = %v, Room = %v", err, db.Room())
	}
	var gone kv.Batch
	gone.Delete([]byte("nothing"))
	if err := db.Apply(&gone); !errors.Is(err, kv.ErrNoSpace) {
		t.Errorf("on a disk without a byte a deletion = %v", err)
	}
	checkNumbered(t, db, written)
	if err := db.Sync(); err != nil {
		t.Errorf("on a full disk Sync = %v", err)
	}
	if err := errors.Join(os.Remove(ballast), os.Remove(ballast+" 2")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(readingAge)
	for range 10 {
		if err := db.Apply(numbered(written)); err != nil || db.Room() != nil {
			t.Fatalf("with room again Apply = %v, Room = %v", err, db.Room())
		}
		written++
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = kv.OpenBadger(dir, smallFloor()); err != nil {
		t.Fatal(err)
	}
	checkNumbered(t, db, written)
	t.Logf("%d batches", written)
}

// TestCloseOnAFullDisk: a process that ends while there is not a byte left ends
// in order, and the next one finds everything.
func TestCloseOnAFullDisk(t *testing.T) {
	mount := mountTmpfs(t, "size=224m")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fullVariable+"="+mount)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("the child: %v: %.2000s", err, out)
	}
	written, err := strconv.ParseUint(string(out), 10, 64)
	if err != nil {
		t.Fatalf("the child said %.2000q", out)
	}
	dir := filepath.Join(mount, "store")
	if _, err := kv.OpenBadger(dir, smallFloor()); !errors.Is(err, kv.ErrNoSpace) {
		t.Errorf("on a full disk OpenBadger = %v", err)
	}
	if err := os.Remove(filepath.Join(mount, "ballast")); err != nil {
		t.Fatal(err)
	}
	db, err := kv.OpenBadger(dir, smallFloor())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	checkNumbered(t, db, written)
}

// The environment variable that makes the test binary fill the store, and the
// rest of the file system, in the directory that it names, and close the store.
const fullVariable = "VCPHOST_KVTEST_FULL"

func closeFull(mount string) error {
	dir := filepath.Join(mount, "store")
	db, err := kv.OpenBadger(dir, smallFloor())
	if err != nil {
		return err
	}
	written, err := fillStore(db)
	if err == nil {
		err = fillDisk(filepath.Join(mount, "ballast"))
	}
	if err := errors.Join(err, db.Close(), db.Close()); err != nil {
		return err
	}
	runtime.GC() // the lock must not go with what nobody holds any more
	if _, err := kv.OpenBadger(dir, &kv.Options{MinFreeBytes: -1}); !errors.Is(err, kv.ErrLocked) {
		return fmt.Errorf("a store that could not be tidied up was opened again by its process: %w", err)
	}
	_, err = fmt.Print(written)
	return err
}

// readingAge is longer than a reading of the free space serves.
const readingAge = 150 * time.Millisecond

func smallFloor() *kv.Options { return &kv.Options{MinFreeBytes: 128 << 20} }

// fillStore writes until the store takes no more.
func fillStore(db kv.DB) (written uint64, err error) {
	for {
		err := db.Apply(numbered(written))
		if errors.Is(err, kv.ErrNoSpace) && written >= 20 {
			return written, nil
		}
		if err != nil {
			return written, fmt.Errorf("after %d batches: %w", written, err)
		}
		written++
	}
}

// numbered is a batch of a small and a large value.
func numbered(n uint64) *kv.Batch {
	number := binary.BigEndian.AppendUint64(nil, n)
	var b kv.Batch
	b.Set(append([]byte("small/"), number...), bytes.Repeat(number, 2<<10))
	b.Set(append([]byte("large/"), number...), bytes.Repeat(number, 64<<10))
	return &b
}

func checkNumbered(t *testing.T, db kv.DB, written uint64) {
	t.Helper()
	for n := range written {
		number := binary.BigEndian.AppendUint64(nil, n)
		for prefix, size := range map[string]int{"small/": 2 << 10, "large/": 64 << 10} {
			if got, err := db.Get(append([]byte(prefix), number...)); err != nil || !bytes.Equal(got, bytes.Repeat(number, size)) {
				t.Fatalf("%s%d has %d bytes, %v", prefix, n, len(got), err)
			}
		}
	}
}

// fillDisk writes a file until nothing more fits.
func fillDisk(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	for size := 1 << 20; size > 0; size /= 16 {
		block := make([]byte, size)
		for err = nil; err == nil; {
			_, err = file.Write(block)
		}
	}
	return file.Close()
}
