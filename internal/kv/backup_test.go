package kv_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vcphost/internal/kv"
	"vcphost/internal/kv/kvtest"
)

// content is every key and value of a store.
func content(t testing.TB, db kv.DB) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := db.Scan(nil, func(key, value []byte) bool { all[string(key)] = string(value); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

func backUp(t testing.TB, db kv.DB) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := kv.Backup(t.Context(), db, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// fill writes values of many sizes: empty, inline, in the value log, and one as
// large as a batch takes.
func fill(t testing.TB, db kv.DB) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{1})
	for i, size := range []int{0, 1, 127, 128, 300, 70 << 10, 1 << 20, kv.MaxBatchBytes / 2, kv.MaxBatchBytes - 8, 3, 1 << 20} {
		value := make([]byte, size)
		_, _ = random.Read(value)
		kvtest.Set(t, db, fmt.Sprintf("value%03d", i), string(value))
	}
	for half := range 2 { // more entries than one batch takes
		var many kv.Batch
		for i := range kv.MaxBatchEntries/2 + 10 {
			many.Set(fmt.Appendf(nil, "many/%d/%05d", half, i), []byte("x"))
		}
		if err := db.Apply(&many); err != nil {
			t.Fatal(err)
		}
	}
	kvtest.Set(t, db, strings.Repeat("k", kv.MaxKeyBytes), "long key")
}

func TestBackupRestores(t *testing.T) {
	for _, test := range []struct {
		name string
		open func(t *testing.T) kv.DB
		fill func(t testing.TB, db kv.DB)
	}{
		{"memory", func(*testing.T) kv.DB { return kv.NewMemory() }, fill},
		{"badger", func(t *testing.T) kv.DB { return openBadger(t, t.TempDir()) }, fill},
		{"nothing", func(*testing.T) kv.DB { return kv.NewMemory() }, func(testing.TB, kv.DB) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := test.open(t)
			defer db.Close()
			test.fill(t, db)
			want, raw := content(t, db), backUp(t, db)
			if !bytes.HasPrefix(raw, []byte("vcphost-backup 1 store 1\n")) {
				t.Errorf("the backup begins with %.40q", raw)
			}
			if held, err := kv.VerifyBackup(t.Context(), bytes.NewReader(raw)); err != nil || held.Entries != uint64(len(want)) {
				t.Errorf("VerifyBackup = %+v, %v; want %d entries", held, err, len(want))
			}
			dir := filepath.Join(t.TempDir(), "data", "store")
			done, err := kv.Restore(t.Context(), dir, bytes.NewReader(raw), nil)
			if err != nil || done.Entries != uint64(len(want)) {
				t.Fatalf("Restore = %+v, %v; want %d entries", done, err, len(want))
			}
			restored := openBadger(t, dir)
			defer restored.Close()
			if got := content(t, restored); !equalContent(got, want) {
				t.Errorf("%d values were restored of %d, or they differ", len(got), len(want))
			}
			if again := backUp(t, restored); !bytes.Equal(again, raw) {
				t.Error("a backup of the restored store is another")
			}
			onlyEntry(t, filepath.Dir(dir), "store")
		})
	}
}

func equalContent(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if other, ok := b[key]; !ok || other != value {
			return false
		}
	}
	return true
}

// onlyEntry fails unless the directory has exactly the given entries.
func onlyEntry(t testing.TB, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("%s has %q, want %q", dir, got, names)
	}
}

// TestBackupIsOfOneMoment backs up while writers apply pairs: each backup has
// both of a pair, or none, and a prefix of each writer's pairs without a gap.
func TestBackupIsOfOneMoment(t *testing.T) {
	for _, test := range []struct {
		name string
		open func(t *testing.T) kv.DB
	}{
		{"memory", func(*testing.T) kv.DB { return kv.NewMemory() }},
		{"badger", func(t *testing.T) kv.DB { return openBadger(t, t.TempDir()) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := test.open(t)
			defer db.Close()
			ctx, stop := context.WithCancel(t.Context())
			var writers sync.WaitGroup
			for w := range 2 {
				writers.Go(func() { writePairs(ctx, t, db, w) })
			}
			last := 0
			for range 4 {
				raw := backUp(t, db)
				if len(raw) <= last {
					t.Errorf("a backup of %d bytes follows one of %d: nobody wrote meanwhile", len(raw), last)
				}
				last = len(raw)
				dir := filepath.Join(t.TempDir(), "store")
				if _, err := kv.Restore(ctx, dir, bytes.NewReader(raw), nil); err != nil {
					t.Fatal(err)
				}
				checkPairs(t, dir)
			}
			stop()
			writers.Wait()
			t.Logf("the last backup has %d bytes", last)
		})
	}
}

func writePairs(ctx context.Context, t *testing.T, db kv.DB, writer int) {
	for n := uint64(0); ctx.Err() == nil; n++ {
		time.Sleep(time.Millisecond)
		number := binary.BigEndian.AppendUint64(nil, n)
		var b kv.Batch
		b.Set(fmt.Appendf(nil, "a/%d/%06d", writer, n), number)
		b.Set(fmt.Appendf(nil, "z/%d/%06d", writer, n), bytes.Repeat(number, 1<<(n%14)))
		if err := db.Apply(&b); err != nil {
			t.Error(err)
			return
		}
	}
}

func checkPairs(t *testing.T, dir string) {
	t.Helper()
	db := openBadger(t, dir)
	defer db.Close()
	for w := range 2 {
		prefix := fmt.Sprintf("/%d/", w)
		first, second := kvtest.Keys(t, db, "a"+prefix), kvtest.Keys(t, db, "z"+prefix)
		if len(first) != len(second) {
			t.Errorf("writer %d: %d first and %d second halves of pairs", w, len(first), len(second))
		}
		for i, key := range first {
			if want := fmt.Sprintf("a/%d/%06d", w, i); key != want {
				t.Fatalf("writer %d: the key %q is there, want %q", w, key, want)
			}
		}
	}
}

// TestRestoreRefusesWhatIsNotWhole cuts and flips a backup everywhere.
func TestRestoreRefusesWhatIsNotWhole(t *testing.T) {
	db := kv.NewMemory()
	defer db.Close()
	kvtest.Set(t, db, "a", "1")
	kvtest.Set(t, db, "b", strings.Repeat("x", 300))
	raw := backUp(t, db)
	refuse := func(name string, bad []byte, want error) {
		t.Helper()
		parent := t.TempDir()
		dir := filepath.Join(parent, "store")
		if _, err := kv.Restore(t.Context(), dir, bytes.NewReader(bad), nil); !errors.Is(err, want) {
			t.Errorf("%s: Restore = %v, want %v", name, err, want)
		}
		if _, err := kv.VerifyBackup(t.Context(), bytes.NewReader(bad)); !errors.Is(err, want) {
			t.Errorf("%s: VerifyBackup = %v, want %v", name, err, want)
		}
		onlyEntry(t, parent)
	}
	for _, at := range []int{0, 1, 10, 24, 25, 26, 27, 28, len(raw) / 2, len(raw) - 33, len(raw) - 32, len(raw) - 1} {
		refuse(fmt.Sprintf("cut at %d", at), raw[:at], kv.ErrBadBackup)
	}
	refuse("a byte more", append(slices.Clone(raw), 0), kv.ErrBadBackup)
	refuse("two backups", append(slices.Clone(raw), raw...), kv.ErrBadBackup)
	refuse("something else", []byte(strings.Repeat("no backup ", 1000)), kv.ErrBadBackup)
	refuse("a newer form", bytes.Replace(raw, []byte("backup 1"), []byte("backup 2"), 1), kv.ErrNewerFormat)
	refuse("a newer store", bytes.Replace(raw, []byte("store 1"), []byte("store 7"), 1), kv.ErrNewerFormat)
	for _, at := range []int{3, 25, 26, 27, 28, 40, len(raw) - 40, len(raw) - 34, len(raw) - 33, len(raw) - 1} {
		for _, bit := range []byte{1, 0x80} {
			bad := slices.Clone(raw)
			bad[at] ^= bit
			refuse(fmt.Sprintf("bit %x of byte %d", bit, at), bad, kv.ErrBadBackup)
		}
	}
}

func TestRestoreKeepsWhatIsThere(t *testing.T) {
	db := kv.NewMemory()
	kvtest.Set(t, db, "a", "1")
	raw := backUp(t, db)
	dir := t.TempDir()
	kept := filepath.Join(dir, "something")
	if err := os.WriteFile(kept, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Restore(t.Context(), dir, bytes.NewReader(raw), nil); !errors.Is(err, kv.ErrNotEmpty) {
		t.Errorf("Restore over a file = %v, want ErrNotEmpty", err)
	}
	if got, err := os.ReadFile(kept); err != nil || string(got) != "mine" {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if _, err := kv.Restore(t.Context(), kept, bytes.NewReader(raw), nil); err == nil {
		t.Error("a file was taken for a directory")
	}
	inUse := t.TempDir()
	open := openBadger(t, inUse)
	defer open.Close()
	if _, err := kv.Restore(t.Context(), inUse, bytes.NewReader(raw), nil); !errors.Is(err, kv.ErrNotEmpty) {
		t.Errorf("Restore over an open store = %v, want ErrNotEmpty", err)
	}
}

// TestRestoreAfterADeadOne: what a killed restore left goes, and a running one
// is left alone.
func TestRestoreAfterADeadOne(t *testing.T) {
	db := kv.NewMemory()
	kvtest.Set(t, db, "a", "1")
	raw := backUp(t, db)
	parent := t.TempDir()
	dir := filepath.Join(parent, "store")
	running := openBadger(t, dir+".restoring")
	kvtest.Set(t, running, "b", "of another")
	if _, err := kv.Restore(t.Context(), dir, bytes.NewReader(raw), nil); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("Restore beside a running one = %v, want ErrLocked", err)
	}
	kvtest.Set(t, running, "c", "still works")
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Restore(t.Context(), dir, bytes.NewReader(raw), nil); err != nil {
		t.Fatal(err)
	}
	onlyEntry(t, parent, "store")
	restored := openBadger(t, dir)
	defer restored.Close()
	if got := kvtest.Keys(t, restored, ""); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the restored store has %q", got)
	}
}

// failing fails after some bytes, in either direction.
type failing struct {
	left int
	err  error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, f.err
	}
	return len(p), nil
}

func (f *failing) Read(p []byte) (int, error) { return 0, f.err }

func TestBackupAndRestoreEndEarly(t *testing.T) {
	db := kv.NewMemory()
	fill(t, db)
	broken := errors.New("broken pipe")
	for _, after := range []int{0, 1 << 20} {
		if err := kv.Backup(t.Context(), db, &failing{after, broken}); !errors.Is(err, broken) {
			t.Errorf("Backup to a broken writer = %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := kv.Backup(ctx, db, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("Backup of a cancelled context = %v", err)
	}
	raw := backUp(t, db)
	parent := t.TempDir()
	dir := filepath.Join(parent, "store")
	if _, err := kv.Restore(ctx, dir, bytes.NewReader(raw), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Restore of a cancelled context = %v", err)
	}
	in := io.MultiReader(bytes.NewReader(raw[:1<<20]), &failing{err: broken})
	if _, err := kv.Restore(t.Context(), dir, in, nil); !errors.Is(err, broken) || errors.Is(err, kv.ErrBadBackup) {
		t.Errorf("Restore from a broken reader = %v, want its own error", err)
	}
	full := &kv.Options{MinFreeBytes: 100, FreeBytes: func(string) (int64, error) { return 80, nil }}
	if _, err := kv.Restore(t.Context(), dir, bytes.NewReader(raw), full); !errors.Is(err, kv.ErrNoSpace) {
		t.Errorf("Restore to a full disk = %v, want ErrNoSpace", err)
	}
	onlyEntry(t, parent)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := kv.Backup(t.Context(), db, io.Discard); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("Backup of a closed store = %v", err)
	}
}
