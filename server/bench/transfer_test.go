package bench

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"vcphost/server/servertest"
)

const transferBytes = 256 << 20

// transfers is a server over Badger on disk.
type transfers struct{ *servertest.Server }

func newTransfers(b testing.TB) transfers {
	b.Helper()
	return transfers{servertest.Start(b, &servertest.Options{OnDisk: true})}
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
	conn, err := net.Dial("tcp", address(s.Server))
	mustTransfer(b, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /v1/resources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", s.Secret, size)
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
func drain(b testing.TB, at, path, secret string) (time.Duration, int64) {
	b.Helper()
	conn, err := net.Dial("tcp", at)
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
	bareAt := listen(b)
	go bare.Listener(bareAt)
	defer bare.Shutdown()

	var ratios, speeds []float64
	for range max(b.N, 9) {
		reference, n := drain(b, bareAt.Addr().String(), "/content", "")
		took, m := drain(b, address(ours.Server), path, ours.Secret)
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
