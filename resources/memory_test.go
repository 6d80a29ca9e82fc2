package resources

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
)

// anonymousBytes is the process's own memory (RssAnon): the mapped value log
// does not count, which the system can drop at any time. Elsewhere than on Linux
// it is Go's heap.
func anonymousBytes(t *testing.T) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapInuse)
	}
	_, line, _ := bytes.Cut(status, []byte("RssAnon:"))
	line, _, _ = bytes.Cut(line, []byte("kB"))
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	if err != nil {
		t.Fatalf("read RssAnon: %v", err)
	}
	return kib << 10
}

func TestStreamingHoldsLittleInMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own memory grows with what is touched")
	}
	total := int64(256 << 20)
	if testing.Short() {
		total = 64 << 20
	}
	const most = 64 << 20
	s := newStore(t, openBadger(t, t.TempDir()), nil)
	// What the database needs once, it has after the first resource.
	if _, err := s.Import(context.Background(), alice(), abi.ResourceDraft{}, bytes.NewReader(make([]byte, 16<<20)), 0); err != nil {
		t.Fatal(err)
	}
	c := s.Begin(alice(), "p", Limits{MaxResourceBytes: total})
	sink, err := c.Create(context.Background(), abi.ResourceDraft{ID: "big"})
	if err != nil {
		t.Fatal(err)
	}
	piece := garbage(64 << 10)
	runtime.GC()
	before := anonymousBytes(t)
	peak := before
	for written := int64(0); written < total; written += int64(len(piece)) {
		if _, err := sink.Write(piece); err != nil {
			t.Fatal(err)
		}
		if written%(4<<20) == 0 {
			peak = max(peak, anonymousBytes(t))
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Publish(context.Background()); err != nil {
		t.Fatal(err)
	}
	peak = max(peak, anonymousBytes(t))
	t.Logf("%d MiB in: memory grew by %d MiB", total>>20, (peak-before)>>20)
	if peak-before > most {
		t.Errorf("memory grew by %d MiB, want at most %d", (peak-before)>>20, most>>20)
	}
}

// BenchmarkIn compares a resource from Create to Publish on Badger with a plain
// file of the same bytes and their SHA-256; both are on the disk at the end.
func BenchmarkIn(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20, 16 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			dir := b.TempDir()
			db := openBadger(b, filepath.Join(dir, "db"))
			s, err := Open(db, nil)
			if err != nil {
				b.Fatal(err)
			}
			content := garbage(size)
			var ours, plain time.Duration
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				// Other content each time, or only the first would stay stored.
				content[10], content[11], content[12] = byte(i), byte(i>>8), byte(i>>16)
				ours += timed(b, func() error { return storeResource(s, db, content) })
				path := filepath.Join(dir, fmt.Sprint(i))
				plain += timed(b, func() error { return storeFile(path, content) })
				if err := os.Remove(path); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "ns/resource")
			b.ReportMetric(float64(plain.Nanoseconds())/float64(b.N), "ns/file")
			b.ReportMetric(float64(ours)/float64(plain), "×file")
		})
	}
}

func timed(b *testing.B, do func() error) time.Duration {
	begin := time.Now()
	if err := do(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

func storeResource(s *Store, db kv.DB, content []byte) error {
	ctx := context.Background()
	c := s.Begin(alice(), "p", Limits{})
	sink, err := c.Create(ctx, abi.ResourceDraft{ID: "a"})
	if err != nil {
		return err
	}
	if _, err := io.Copy(sink, struct{ io.Reader }{bytes.NewReader(content)}); err != nil {
		return err
	}
	if err := sink.Close(); err != nil {
		return err
	}
	if err := c.Publish(ctx); err != nil {
		return err
	}
	return db.Sync()
}

func storeFile(path string, content []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(f, hash), struct{ io.Reader }{bytes.NewReader(content)}); err != nil {
		return err
	}
	_ = hash.Sum(nil)
	if err := f.Sync(); err != nil {
		return err
	}
	return f.Close()
}
