package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/identity"
)

const transferBytes = 256 << 20

// transfers is a server of resources over Badger on disk.
type transfers struct {
	store  *resources.Store
	at     net.Listener
	secret string
}

func newTransfers(b testing.TB) transfers {
	b.Helper()
	db, err := kv.OpenBadger(b.TempDir(), nil)
	mustTransfer(b, err)
	store, err := resources.Open(db, nil)
	mustTransfer(b, err)
	keys, err := identity.Open(db, nil)
	mustTransfer(b, err)
	secret, _, err := keys.Bootstrap(context.Background())
	mustTransfer(b, err)
	s := server.New(server.Options{API: api.Options{Resources: store, Keys: keys}})
	at, err := net.Listen("tcp", "127.0.0.1:0")
	mustTransfer(b, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(at) }()
	b.Cleanup(func() {
		s.Close(context.Background())
		<-done
		db.Close()
	})
	return transfers{store, at, secret}
}

func mustTransfer(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// repeated is size bytes of a pattern, without holding them. The number at its
// beginning makes it differ from others, so that it is not stored already.
func repeated(number, size int64) io.Reader {
	pattern := make([]byte, 1<<20)
	for i := range pattern {
		pattern[i] = byte(i*31 + i>>8)
	}
	head := strconv.FormatInt(number, 10)
	return io.LimitReader(io.MultiReader(strings.NewReader(head), &loop{pattern: pattern}), size)
}

type loop struct {
	pattern []byte
	at      int
}

// Read implements [io.Reader].
func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.pattern[l.at:])
	l.at = (l.at + n) % len(l.pattern)
	return n, nil
}

// upload sends size bytes over a connection of its own and gives the resource's
// path.
func (s transfers) upload(b testing.TB, number, size int64) string {
	b.Helper()
	conn, err := net.Dial("tcp", s.at.Addr().String())
	mustTransfer(b, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /v1/resources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", s.secret, size)
	mustTransfer(b, err)
	_, err = io.CopyBuffer(struct{ io.Writer }{conn}, repeated(number, size), make([]byte, 256<<10))
	mustTransfer(b, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	mustTransfer(b, err)
	defer response.Body.Close()
	var told struct{ ID string }
	mustTransfer(b, json.NewDecoder(response.Body).Decode(&told))
	if response.StatusCode != 201 {
		b.Fatalf("upload: got %d", response.StatusCode)
	}
	return "/v1/resources/" + told.ID
}

// drain asks for a path and throws the body away; it gives its time and length.
func drain(b testing.TB, at net.Listener, path, secret string) (time.Duration, int64) {
	b.Helper()
	conn, err := net.Dial("tcp", at.Addr().String())
	mustTransfer(b, err)
	defer conn.Close()
	began := time.Now()
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", path, secret)
	mustTransfer(b, err)
	var total int64
	buffer := make([]byte, 256<<10)
	first := true
	for {
		n, err := conn.Read(buffer)
		if first && !bytes.HasPrefix(buffer[:n], []byte("HTTP/1.1 200 ")) {
			b.Fatalf("got %.100q", buffer[:n])
		}
		first = false
		total += int64(n)
		if err == io.EOF {
			return time.Since(began), total
		}
		mustTransfer(b, err)
	}
}

// BenchmarkDownloadAgainstSendFile reads 256 MiB from the server and the same
// bytes from Fiber's SendFile in alternating rounds, and reports the median of
// the ratios of their speeds.
func BenchmarkDownloadAgainstSendFile(b *testing.B) {
	ours := newTransfers(b)
	path := ours.upload(b, 0, transferBytes)
	file := filepath.Join(b.TempDir(), "content")
	target, err := os.Create(file)
	mustTransfer(b, err)
	_, err = io.Copy(target, repeated(0, transferBytes))
	mustTransfer(b, err)
	mustTransfer(b, target.Close())
	bare := fiber.New(fiber.Config{DisableStartupMessage: true})
	bare.Get("/content", func(c *fiber.Ctx) error { return c.SendFile(file) })
	bareAt := listenTransfer(b)
	go bare.Listener(bareAt)
	defer bare.Shutdown()

	var ratios, speeds []float64
	for range max(b.N, 9) {
		reference, n := drain(b, bareAt, "/content", "")
		took, m := drain(b, ours.at, path, ours.secret)
		if n < transferBytes || m < transferBytes {
			b.Fatalf("got %d and %d bytes", n, m)
		}
		ratios = append(ratios, reference.Seconds()/took.Seconds())
		speeds = append(speeds, transferBytes/took.Seconds()/(1<<20))
	}
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(speeds), "MiB/s")
	b.ReportMetric(0, "ns/op")
}

func listenTransfer(b testing.TB) net.Listener {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	mustTransfer(b, err)
	return listener
}

// BenchmarkUploadAgainstFile stores 256 MiB through the server and copies the
// same bytes to a file while hashing them, both synced, in alternating rounds,
// and reports the median of the ratios of their times.
func BenchmarkUploadAgainstFile(b *testing.B) {
	ours := newTransfers(b)
	var ratios, speeds []float64
	for i := range max(b.N, 3) {
		began := time.Now()
		target, err := os.Create(filepath.Join(b.TempDir(), "content"))
		mustTransfer(b, err)
		sum := sha256.New()
		_, err = io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(target, sum)}, repeated(int64(i), transferBytes), make([]byte, 256<<10))
		mustTransfer(b, err)
		mustTransfer(b, target.Sync())
		mustTransfer(b, target.Close())
		reference := time.Since(began)
		mustTransfer(b, os.Remove(target.Name()))
		began = time.Now()
		ours.upload(b, int64(i), transferBytes)
		took := time.Since(began)
		ratios = append(ratios, took.Seconds()/reference.Seconds())
		speeds = append(speeds, transferBytes/took.Seconds()/(1<<20))
	}
	b.ReportMetric(median(ratios), "times")
	b.ReportMetric(median(speeds), "MiB/s")
	b.ReportMetric(0, "ns/op")
}

func TestTransfersNeedLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 512 MiB")
	}
	if raceEnabled {
		t.Skip("the race detector's own memory grows with what is touched")
	}
	s := newTransfers(t)
	warm := s.upload(t, 1, 8<<20)
	drain(t, s.at, warm, s.secret)
	var path string
	grown := growth(t, func() { path = s.upload(t, 2, transferBytes) })
	t.Logf("an upload of 256 MiB: RssAnon grew by %.1f MiB at most", grown)
	if grown > 64 {
		t.Errorf("an upload of 256 MiB: RssAnon grew by %.1f MiB, 64 are allowed", grown)
	}
	grown = growth(t, func() { drain(t, s.at, path, s.secret) })
	t.Logf("a download of 256 MiB: RssAnon grew by %.1f MiB at most", grown)
	if grown > 32 {
		t.Errorf("a download of 256 MiB: RssAnon grew by %.1f MiB, 32 are allowed", grown)
	}
}

// growth gives by how many MiB the process's RssAnon was above its beginning at
// most, looked at every few milliseconds while do runs.
func growth(t *testing.T, do func()) float64 {
	t.Helper()
	debug.FreeOSMemory() // what was used before must not hide what is needed now
	before := rssAnon(t)
	peak, done := before, make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	for {
		select {
		case <-done:
			return max(peak, rssAnon(t)) - before
		case <-time.After(5 * time.Millisecond):
			peak = max(peak, rssAnon(t))
		}
	}
}

func rssAnon(t *testing.T) float64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("this system does not tell: ", err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib / 1024
}
