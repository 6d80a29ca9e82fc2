package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"vcphost/server/servertest"
)

// What transfers may add to the anonymous memory of the process, in MiB.
const (
	uploadMemory   = 64
	downloadMemory = 32
)

func TestTransfersNeedLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 512 MiB")
	}
	if raceEnabled {
		t.Skip("the race detector's own memory grows with what is touched")
	}
	upload, download := transferGrowth(t)
	t.Logf("256 MiB: RssAnon grew by %.1f MiB at most during the upload, %.1f during the download", upload, download)
	if upload > uploadMemory {
		t.Errorf("an upload of 256 MiB: RssAnon grew by %.1f MiB, %d are allowed", upload, uploadMemory)
	}
	if download > downloadMemory {
		t.Errorf("a download of 256 MiB: RssAnon grew by %.1f MiB, %d are allowed", download, downloadMemory)
	}
}

// BenchmarkTransferMemory reports by how many MiB the process's anonymous memory
// grows at most while 256 MiB go in, and while they go out.
func BenchmarkTransferMemory(b *testing.B) {
	upload, download := transferGrowth(b)
	b.ReportMetric(upload, "upload-MiB")
	b.ReportMetric(download, "download-MiB")
	b.ReportMetric(0, "ns/op")
}

func transferGrowth(tb testing.TB) (upload, download float64) {
	tb.Helper()
	s := newTransfers(tb)
	warm := s.upload(tb, 1, 8<<20)
	drain(tb, address(s.Server), warm, s.Secret)
	var path string
	upload = growth(tb, func() { path = s.upload(tb, 2, transferBytes) })
	download = growth(tb, func() { drain(tb, address(s.Server), path, s.Secret) })
	return upload, download
}

// growth gives by how many MiB the process's RssAnon was above its beginning at
// most, looked at every few milliseconds while do runs.
func growth(tb testing.TB, do func()) float64 {
	tb.Helper()
	debug.FreeOSMemory() // what was used before must not hide what is needed now
	before := rssAnon(tb)
	peak, done := before, make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	for {
		select {
		case <-done:
			return max(peak, rssAnon(tb)) - before
		case <-time.After(5 * time.Millisecond):
			peak = max(peak, rssAnon(tb))
		}
	}
}

func rssAnon(tb testing.TB) float64 {
	tb.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Skip("this system does not tell: ", err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		tb.Fatal(err)
	}
	return kib / 1024
}

const idleConnections = 10_000

// settling is more than the server needs to notice that connections are idle.
const settling = 10 * time.Second

// BenchmarkIdleConnections reports the anonymous memory of a server with 10,000
// kept connections, right after each had an answer and when they have settled.
// Their other ends are in a process of their own.
func BenchmarkIdleConnections(b *testing.B) {
	s := servertest.Start(b, &servertest.Options{OnDisk: true})
	debug.FreeOSMemory() // what other benchmarks left
	before := rssAnon(b)
	clients := exec.Command(os.Args[0])
	clients.Env = append(os.Environ(), idleClients+"="+address(s))
	clients.Stderr = os.Stderr
	hold, err := clients.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	told, err := clients.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := clients.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(told).ReadString('\n')
	if err != nil || line != strconv.Itoa(idleConnections)+"\n" {
		b.Errorf("the clients say %q, %v", line, err)
	}
	anonymous := rssAnon(b)
	time.Sleep(settling)
	settled := rssAnon(b)
	_ = hold.Close() // they end with it
	if err := clients.Wait(); err != nil {
		b.Error(err)
	}
	b.ReportMetric(anonymous, "RssAnon-MiB")
	b.ReportMetric(settled, "settled-MiB")
	b.ReportMetric((settled-before)*1024/idleConnections, "KiB/connection")
	b.ReportMetric(0, "ns/op")
}

// idleClients names the variable that makes this test binary the clients of
// BenchmarkIdleConnections.
const idleClients = "VCPHOST_BENCH_IDLE_CLIENTS"

func TestMain(m *testing.M) {
	if at := os.Getenv(idleClients); at != "" {
		if err := keepIdle(at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// keepIdle opens the connections, has one answer on each, says how many there
// are, and keeps them until standard input ends.
func keepIdle(at string) error {
	conns := make([]net.Conn, 0, idleConnections)
	for len(conns) < idleConnections {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			return fmt.Errorf("connection %d: %w", len(conns)+1, err)
		}
		conns = append(conns, conn)
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != 200 {
			return fmt.Errorf("connection %d: status %d, %v", len(conns), answer.StatusCode, err)
		}
	}
	fmt.Println(len(conns))
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}
