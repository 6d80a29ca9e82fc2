package kv_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"vcphost/internal/kv"
	"vcphost/internal/kv/kvtest"
)

func TestReopen(t *testing.T) {
	dir := t.TempDir()
	big := strings.Repeat("x", 1<<20)
	db := openBadger(t, dir)
	kvtest.Set(t, db, "small", "1")
	kvtest.Set(t, db, "big", big)
	kvtest.Set(t, db, "gone", "1")
	var b kv.Batch
	b.Delete([]byte("gone"))
	if err := errors.Join(db.Apply(&b), db.Close()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		db = openBadger(t, dir)
		if got := fmt.Sprint(kvtest.Keys(t, db, "")); got != "[big small]" {
			t.Errorf("after reopening the keys are %s", got)
		}
		if got, err := db.Get([]byte("big")); err != nil || string(got) != big {
			t.Errorf("after reopening the big value has %d bytes, %v", len(got), err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnyNameOfADirectory(t *testing.T) {
	for _, name := range []string{"a[b", "*", "{x", "a b", "ü\u202e", "new\nline"} {
		db := openBadger(t, filepath.Join(t.TempDir(), name))
		kvtest.Set(t, db, "a", "1")
		if err := errors.Join(db.Sync(), db.Close()); err != nil {
			t.Errorf("in %q: %v", name, err)
		}
	}
}

func TestLockedByThisProcess(t *testing.T) {
	dir := t.TempDir()
	db := openBadger(t, dir)
	if _, err := kv.OpenBadger(dir, nil); !errors.Is(err, kv.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second OpenBadger = %v, want ErrLocked with the directory", err)
	}
	kvtest.Set(t, db, "a", "still works")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openBadger(t, dir).Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.OpenBadger(path, nil); err == nil || errors.Is(err, kv.ErrLocked) {
		t.Errorf("OpenBadger of a file = %v, want an error of its own", err)
	}
}

func TestFloorOfFreeSpace(t *testing.T) {
	if _, err := kv.OpenBadger(t.TempDir(), &kv.Options{MinFreeBytes: math.MaxInt64}); !errors.Is(err, kv.ErrNoSpace) {
		t.Errorf("OpenBadger below the floor = %v, want ErrNoSpace", err)
	}
	db, err := kv.OpenBadger(t.TempDir(), &kv.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	kvtest.Set(t, db, "a", "1")
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestLoggerHearsBadger(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	db, err := kv.OpenBadger(t.TempDir(), &kv.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "badger: ") || strings.Contains(out.String(), `\n"`) {
		t.Errorf("log: %.300s", out.String())
	}
}

// The environment variable that makes the test binary write into the directory it
// names until it is killed.
const childVariable = "VCPHOST_KVTEST_CHILD"

// TestMain is the child of TestKill or TestCloseOnAFullDisk if the environment
// says so.
func TestMain(m *testing.M) {
	if mount := os.Getenv(fullVariable); mount != "" {
		if err := closeFull(mount); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(childVariable); dir != "" {
		if err := writeForever(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeForever applies pairs of values and prints the number of each pair once it
// is applied. The numbers go on where the directory ends.
func writeForever(dir string) error {
	db, err := kv.OpenBadger(dir, nil)
	if err != nil {
		return err
	}
	next := uint64(0)
	err = db.Scan([]byte("small/"), func(_, _ []byte) bool { next++; return true })
	for ; err == nil; next++ {
		key := binary.BigEndian.AppendUint64(nil, next)
		value := bytes.Repeat(key, 1<<(next%15)) // up to 128 KiB: in tables and in the value log
		var b kv.Batch
		b.Set(append([]byte("small/"), key...), key)
		b.Set(append([]byte("value/"), key...), value)
		if err = db.Apply(&b); err == nil {
			_, err = fmt.Println(next)
		}
	}
	return err
}

// TestKill kills a writing process again and again in mid-write: its lock must be
// gone with it, each batch that it reported must be there, and none by half.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("runs child processes")
	}
	dir := t.TempDir()
	applied := uint64(0)
	for round := range 5 {
		applied = killMidWrite(t, dir, time.Duration(100+100*round)*time.Millisecond)
		db := openBadger(t, dir)
		small, values := 0, 0
		err := db.Scan(nil, func(key, value []byte) bool {
			kind, number := string(key[:6]), key[6:]
			switch {
			case kind == "small/" && bytes.Equal(value, number):
				small++
			case kind == "value/" && bytes.Equal(value, bytes.Repeat(number, 1<<(binary.BigEndian.Uint64(number)%15))):
				values++
			default:
				t.Errorf("%q holds %d bytes that nobody wrote", key, len(value))
			}
			return true
		})
		if err != nil || small != values || uint64(small) < applied+1 {
			t.Errorf("round %d: %d and %d values, %v; %d batches were applied", round, small, values, err, applied+1)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d batches", applied+1)
}

// killMidWrite runs writeForever for a while after its first batch, kills it, and
// returns the last number that it reported.
func killMidWrite(t *testing.T, dir string, after time.Duration) uint64 {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last := ""
	lines := bufio.NewScanner(out)
	for first := true; lines.Scan(); first = false {
		last = lines.Text()
		if first {
			if _, err := kv.OpenBadger(dir, nil); !errors.Is(err, kv.ErrLocked) {
				t.Errorf("OpenBadger while the child runs = %v, want ErrLocked", err)
			}
			time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
	}
	_ = child.Wait()
	n, err := strconv.ParseUint(last, 10, 64)
	if err != nil {
		t.Fatalf("the child reported %q", last)
	}
	return n
}
