package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/servertest"
)

// parkedNow counts the connections of this process's servers that are parked.
func parkedNow() int {
	stacks := make([]byte, 4<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "server.(*parked).wait(")
}

// forgetConnections closes those of the client that tests share.
func forgetConnections(t *testing.T) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	waitParked(t, 0)
}

func waitParked(t *testing.T, want int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); parkedNow() != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are parked, want %d", parkedNow(), want)
		}
	}
}

// again sends a request on a connection and reads its answer.
func again(t *testing.T, conn io.Writer, reader *bufio.Reader, send string) {
	t.Helper()
	if _, err := io.WriteString(conn, send); err != nil {
		t.Fatal(err)
	}
	for range strings.Count(send, "HTTP/1.1") {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != 200 || response.Close {
			t.Fatalf("got %d, close %v: %s %v", response.StatusCode, response.Close, body, err)
		}
	}
}

// onlyPlace is a connection with an answer at a server that has place for one.
func onlyPlace(t *testing.T, s *servertest.Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		conn := connect(t, s)
		reader := newReader(t, conn)
		_, _ = io.WriteString(conn, health) // a server without a place does not read it
		if response, err := http.ReadResponse(reader, nil); err == nil && response.StatusCode == 200 {
			if _, err := io.Copy(io.Discard, response.Body); err != nil {
				t.Fatal(err)
			}
			return conn, reader
		}
	}
	t.Fatal("there is no place")
	return nil, nil
}

const health = "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"

// TestAParkedConnectionGoesOn lets a connection wait until it is parked, again
// and again, and then asks in each way that the first bytes of a request come.
func TestAParkedConnectionGoesOn(t *testing.T) {
	s := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) { o.MaxConnections = 1 }})
	conn, reader := onlyPlace(t, s)
	body := `{"tool":"Tiny.Run","arguments":{"n":1}}`
	call := fmt.Sprintf("POST /v1/human/tool HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", s.Secret, len(body), body)
	for _, send := range []string{call, health, health + call + health} {
		waitParked(t, 1)
		again(t, conn, reader, send)
	}
	waitParked(t, 1)
	if _, err := io.WriteString(conn, health[:1]); err != nil {
		t.Fatal(err)
	}
	waitParked(t, 0)
	again(t, conn, reader, health[1:])
	// It has kept the one place there is all along, and gives it back with its end.
	waitParked(t, 1)
	refused := connect(t, s)
	if response, err := http.ReadResponse(newReader(t, refused), nil); err != nil || response.StatusCode != 503 {
		t.Fatalf("a connection too many: %v, %v", response, err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	waitParked(t, 0)
	next := connect(t, s)
	again(t, next, newReader(t, next), health)
}

func TestAParkedConnectionIsClosedWhenItIsIdleTooLong(t *testing.T) {
	s := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) { o.IdleTimeout = 2 * time.Second }})
	forgetConnections(t)
	conn := connect(t, s)
	reader := newReader(t, conn)
	again(t, conn, reader, health)
	began := time.Now()
	waitParked(t, 1)
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took < 1500*time.Millisecond {
		t.Errorf("closed after %v", took)
	}
}

func TestAServerEndsWithParkedConnections(t *testing.T) {
	var options server.Options
	servertest.Start(t, &servertest.Options{Change: func(o *server.Options) { options = *o }})
	forgetConnections(t)
	s := server.New(options)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reader := newReader(t, conn)
	again(t, conn, reader, health)
	waitParked(t, 1)
	began := time.Now()
	if err := errors.Join(s.Close(t.Context()), <-done); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a parked connection held the server for %v", took)
	}
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("the connection is left with %v", err)
	}
	if now := parkedNow(); now != 0 {
		t.Errorf("%d connections are parked still", now)
	}
}

// A parked connection of a trusted listener is trusted when it goes on.
func TestAParkedConnectionIsTrustedAgain(t *testing.T) {
	_, pipe := startTrusted(t, wasmbuild.Guest{})
	forgetConnections(t)
	conn, err := pipe.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reader := newReader(t, conn)
	const send = "GET /v1/plugins HTTP/1.1\r\nHost: test\r\n\r\n"
	again(t, conn, reader, send)
	waitParked(t, 1)
	again(t, conn, reader, send)
}
