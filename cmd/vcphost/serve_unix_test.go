//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"vcphost/abi"
)

func TestTheSocketIsItsOwnersAlone(t *testing.T) {
	b := badInput{}.set(t)
	if err := os.Chmod(b.data, 0o755); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, b)
	socket := filepath.Join(b.data, socketFile)
	info, err := os.Stat(socket)
	if err != nil || info.Mode() != fs0600Socket {
		t.Fatalf("the socket: %v, %v", info, err)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /v1/keys HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !bytes.HasPrefix(answer, []byte("HTTP/1.1 200 ")) {
		t.Errorf("without a key: %s, %v", answer, err)
	}
	s.stop(t)
	for _, name := range []string{socketFile, holderFile} {
		if _, err := os.Lstat(filepath.Join(b.data, name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
}

const fs0600Socket = os.ModeSocket | 0o600

func TestAKilledServerIsInNobodysWay(t *testing.T) {
	b := badInput{}.set(t)
	s := startServer(t, b)
	if got := b.verb(t, "call", "Good"); got.status != exitOK {
		t.Fatalf("a call through the server: %s", got.stderr)
	}
	if err := s.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.wait(t)
	if _, err := os.Lstat(filepath.Join(b.data, socketFile)); err != nil {
		t.Fatalf("the dead server left no socket, so this test shows nothing: %v", err)
	}
	if got := b.verb(t, "call", "Good"); got.status != exitOK {
		t.Errorf("a call after it: %s", got.stderr)
	}
	again := startServer(t, b)
	if got := b.verb(t, "call", "Good"); got.status != exitOK || !strings.Contains(again.log.String(), "/v1/local/process") {
		t.Errorf("a call through the next server: %d %s\n%s", got.status, got.stderr, &again.log)
	}
}

func TestACallWaitsForAServerThatIsAboutToEnd(t *testing.T) {
	b := badInput{module: began(loop())}.set(t)
	s := startServer(t, b, "--drain", "300ms")
	hanging := make(chan string, 1)
	go func() { hanging <- s.hang("Bad") }()
	s.awaitRunning(t, func(n int) bool { return n > 0 })
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); socketAnswers(t.Context(), b.data); time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the socket stays")
		}
	}
	if got := b.verb(t, "call", "Good"); got.status != exitOK {
		t.Errorf("a call meanwhile: %s\n%s", got.stderr, &s.log)
	}
	s.wait(t)
	if answer := <-hanging; !strings.Contains(answer, `"cancelled"`) {
		t.Errorf("the call that ran is answered with %s", answer)
	}
}

func TestAnInterruptStopsACallOfTheServer(t *testing.T) {
	b := badInput{}.set(t)
	writeFile(t, filepath.Join(b.plugins, "child", "plugin-manifest.json"), manifest("Child"))
	writeFile(t, filepath.Join(b.plugins, "child", "module.wasm"), string(asks()))
	s := startServer(t, b)
	c := startChild(t, b, asks())
	c.signal(t, os.Interrupt)
	_, got := c.wait(t)
	got.check(t)
	if result := got.mustResult(t); result.Status != abi.StatusCancelled || got.status != exitResult {
		t.Errorf("exit status %d, %s", got.status, result.Status)
	}
	c = startChild(t, b, asks())
	c.kill(t) // a client that leaves
	s.awaitRunning(t, func(n int) bool { return n == 0 })
	if got := b.verb(t, "call", "Good"); got.status != exitOK {
		t.Errorf("the next call: %s", got.stderr)
	}
}

// hang calls a tool and gives the answer, or what became of it instead.
func (s *served) hang(tool string) string {
	request, err := http.NewRequest("POST", s.url+"/v1/human/tool", strings.NewReader(`{"tool":"`+tool+`","arguments":{}}`))
	if err != nil {
		return err.Error()
	}
	request.Header.Set("Authorization", "Bearer "+s.secret)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// awaitRunning waits until as many calls run as is wanted.
func (s *served) awaitRunning(t *testing.T, wanted func(int) bool) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(5 * time.Millisecond) {
		status, body := s.ask(t, "GET", "/v1/stats", s.secret, "")
		var stats struct{ CallsRunning int }
		if err := json.Unmarshal([]byte(body), &stats); err != nil || status != 200 {
			t.Fatalf("statistics: %d %s", status, body)
		}
		if wanted(stats.CallsRunning) {
			return
		}
	}
	t.Fatal("calls do not begin or end as they should")
}

func TestTwoSignalsEndTheServerAtOnce(t *testing.T) {
	b := badInput{module: asks()}.set(t)
	s := startServer(t, b)
	go s.hang("Bad")
	s.awaitRunning(t, func(n int) bool { return n > 0 })
	began := time.Now()
	for {
		_ = s.command.Process.Signal(syscall.SIGTERM) // it may be gone by now
		select {
		case <-s.ended:
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the server ended after %v", took)
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// load calls a tool over and over until the server takes no more, and notes the
// ids of the requests that were answered whole.
type load struct {
	mu       sync.Mutex
	answered map[string]bool
	wrong    []string
}

func (l *load) run(s *served, worker int) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for i := 0; ; i++ {
		id := fmt.Sprintf("load-%d-%d", worker, i)
		request, err := http.NewRequest("POST", s.url+"/v1/human/tool", strings.NewReader(`{"tool":"Bad","arguments":{}}`))
		if err != nil {
			return
		}
		request.Header.Set("Authorization", "Bearer "+s.secret)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Request-Id", id)
		answer, err := client.Do(request)
		if err != nil {
			return // what the server had begun by then, its log tells
		}
		if answer.StatusCode == http.StatusTooManyRequests { // an answer as well
			answer.Body.Close()
			l.mu.Lock()
			l.answered[id] = true
			l.mu.Unlock()
			continue
		}
		var result abi.Result
		err = json.NewDecoder(answer.Body).Decode(&result)
		answer.Body.Close()
		l.mu.Lock()
		if err == nil && answer.StatusCode == 200 && result.Execution.RequestID == id && result.Status != abi.StatusCancelled {
			l.answered[id] = true
		} else {
			l.wrong = append(l.wrong, fmt.Sprintf("%s: %d %v %s", id, answer.StatusCode, err, result.Status))
		}
		l.mu.Unlock()
	}
}

func TestStoppingUnderLoadCutsNoRequest(t *testing.T) {
	b := badInput{module: tree(18)}.set(t)
	s := startServer(t, b)
	l := &load{answered: map[string]bool{}}
	var workers sync.WaitGroup
	for worker := range 12 {
		workers.Go(func() { l.run(s, worker) })
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		l.mu.Lock()
		enough := len(l.answered) >= 100
		l.mu.Unlock()
		if enough || time.Since(began) > 60*time.Second {
			break
		}
	}
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	workers.Wait()
	s.wait(t)
	if status := s.command.ProcessState.ExitCode(); status != exitOK {
		t.Errorf("the server ends with status %d", status)
	}
	for _, wrong := range l.wrong {
		t.Errorf("a wrong answer: %s", wrong)
	}
	begun := 0
	for line := range strings.Lines(s.log.String()) {
		var entry struct{ Msg, RequestID string }
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "request" || !strings.HasPrefix(entry.RequestID, "load-") {
			continue
		}
		begun++
		if !l.answered[entry.RequestID] {
			t.Errorf("the server took %s, and its client got no answer", entry.RequestID)
		}
	}
	if begun < 100 {
		t.Errorf("the server tells of %d requests, so this test shows nothing", begun)
	}
}
