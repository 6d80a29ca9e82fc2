package blob

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

const streamBytes = 256 << 20

// source streams the same megabyte again and again, a little changed.
type source struct {
	data []byte
	left int64
}

func newSource(size int64) *source { return &source{pattern(1<<20 + 13), size} }

func (s *source) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	at := int(s.left) % len(s.data)
	n := copy(p[:min(int64(len(p)), s.left)], s.data[at:])
	s.left -= int64(n)
	return n, nil
}

// reader hides the other methods of what is copied, so that io.Copy goes by Read.
type reader struct{ io.Reader }

// heapPeak returns the highest HeapAlloc while work runs, above the one before.
func heapPeak(t testing.TB, work func()) int64 {
	t.Helper()
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, peak := stats.HeapAlloc, uint64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				runtime.ReadMemStats(&stats)
				peak = max(peak, stats.HeapAlloc)
			}
		}
	}()
	work()
	close(stop)
	<-done
	return int64(peak) - int64(before)
}

func TestStreamNeedsLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 256 MiB")
	}
	s := New(openBadger(t))
	// The collector lets garbage grow in proportion to what is alive, and most of
	// that is Badger's memory table; held short, it shows what streaming needs.
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	grown := heapPeak(t, func() {
		w, err := s.Create("a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, reader{newSource(streamBytes)}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(nil); err != nil {
			t.Fatal(err)
		}
		r, err := s.Open("a")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if n, err := io.Copy(io.Discard, reader{r}); n != streamBytes || err != nil {
			t.Fatalf("read %d bytes, %v", n, err)
		}
	})
	t.Logf("the heap grew by %.1f MiB", float64(grown)/(1<<20))
	if grown > 32<<20 {
		t.Errorf("the heap grew by %d MiB while %d MiB went through, want at most 32", grown>>20, streamBytes>>20)
	}
}

// rssAnon returns the anonymous memory of the process in bytes, 0 where it cannot
// be told. Badger's mapped files are not in it.
func rssAnon() int64 {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// BenchmarkBlobAgainstFile writes 256 MiB as a blob and as a plain file, both
// synced at the end, and reads both back, in the same run. The ratios are time
// against time; rssAnonMiB is what the blob's part added to the process.
func BenchmarkBlobAgainstFile(b *testing.B) {
	db := openBadger(b)
	s := New(db)
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	var blobWrite, fileWrite, blobRead, fileRead time.Duration
	before, grown := rssAnon(), int64(0)
	for i := 0; b.Loop(); i++ {
		id := strconv.Itoa(i)
		start := time.Now()
		w, err := s.Create(id)
		check(err)
		_, err = io.Copy(w, reader{newSource(streamBytes)})
		check(err)
		_, err = w.Commit(nil)
		check(err)
		check(db.Sync())
		blobWrite += time.Since(start)

		start = time.Now()
		r, err := s.Open(id)
		check(err)
		_, err = io.Copy(io.Discard, reader{r})
		check(err)
		check(r.Close())
		blobRead += time.Since(start)
		grown = max(grown, rssAnon()-before)
		check(s.Delete(id, nil))

		path := filepath.Join(b.TempDir(), "plain")
		start = time.Now()
		f, err := os.Create(path)
		check(err)
		_, err = io.Copy(f, reader{newSource(streamBytes)})
		check(err)
		check(f.Sync())
		fileWrite += time.Since(start)
		start = time.Now()
		_, err = f.Seek(0, io.SeekStart)
		check(err)
		_, err = io.Copy(io.Discard, reader{f})
		check(err)
		fileRead += time.Since(start)
		check(f.Close())
		check(os.Remove(path))
	}
	b.ReportMetric(blobWrite.Seconds()/fileWrite.Seconds(), "write-ratio")
	b.ReportMetric(blobRead.Seconds()/fileRead.Seconds(), "read-ratio")
	b.ReportMetric(streamBytes/(1<<20)*float64(b.N)/blobWrite.Seconds(), "blob-MiB/s")
	b.ReportMetric(streamBytes/(1<<20)*float64(b.N)/fileWrite.Seconds(), "file-MiB/s")
	b.ReportMetric(float64(grown)/(1<<20), "rssAnonMiB")
}
