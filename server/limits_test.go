package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/identity"
	"vcphost/server/limit"
	"vcphost/server/servertest"
)

func address(s *servertest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

func connect(t *testing.T, s *servertest.Server) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", address(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

func TestLimitsOfTheHead(t *testing.T) {
	s := servertest.Start(t, nil)
	for _, test := range []struct {
		name, send string
		status     int
	}{
		{"a URL at the limit", "GET /" + strings.Repeat("a", 4<<10-1) + " HTTP/1.1\r\nHost: test\r\n\r\n", 404},
		{"a URL above it", "GET /" + strings.Repeat("a", 4<<10) + " HTTP/1.1\r\nHost: test\r\n\r\n", 414},
		{"a header line above the limit", "GET /healthz HTTP/1.1\r\nHost: test\r\nA: " + strings.Repeat("a", 6<<10) + "\r\n\r\n", 431},
		{"header lines above the limit", "GET /healthz HTTP/1.1\r\nHost: test\r\n" + strings.Repeat("A: b\r\n", 1500) + "\r\n", 431},
		{"a URL above every limit", "GET /" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: test\r\n\r\n", 431},
	} {
		t.Run(test.name, func(t *testing.T) {
			statuses, bodies, closed := converse(t, s, test.send)
			if len(statuses) != 1 || statuses[0] != test.status || !strings.Contains(bodies[0], "/problems/") {
				t.Fatalf("answered %v with %s, want %d", statuses, bodies, test.status)
			}
			if closed != (test.status != 404) {
				t.Errorf("the connection is closed: %v", closed)
			}
		})
	}
	if status, _, _ := s.Do(t, "GET", "/healthz", "", ""); status != 200 {
		t.Errorf("the next request gets %d", status)
	}
}

// trickle sends a byte at a time, as long as the server takes them.
func trickle(conn net.Conn, what string, every time.Duration) {
	for i := range len(what) {
		if _, err := io.WriteString(conn, what[i:i+1]); err != nil {
			return
		}
		time.Sleep(every)
	}
}

// A request that comes a byte at a time is ended by the time-out of the whole,
// whatever part of it comes slowly.
func TestSlowRequestsAreEnded(t *testing.T) {
	const limit = 400 * time.Millisecond
	s := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) {
		o.ReadTimeout, o.IdleTimeout = limit, limit
	}})
	call := "POST /v1/tools/Tiny/Run HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer " + s.Secret + "\r\nContent-Type: application/json\r\n"
	slow := strings.Repeat("x", 10_000)
	for _, test := range []struct {
		name, at, slowly string
		told             int // 0: the connection is closed without a word
	}{
		{"nothing comes", "", "", 0},
		{"a slow request line", "GET /", slow, 408},
		{"a slow header", "GET /healthz HTTP/1.1\r\nHost: test\r\nA: ", slow, 408},
		{"a slow body", call + "Content-Length: 10000\r\n\r\n{", slow, 408},
		{"a body that never comes", call + "Content-Length: 10000\r\n\r\n", "", 408},
		{"a slow chunk", call + "Transfer-Encoding: chunked\r\n\r\n2710\r\n{", slow, 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := connect(t, s)
			began := time.Now()
			if _, err := io.WriteString(conn, test.at); err != nil {
				t.Fatal(err)
			}
			go trickle(conn, test.slowly, 20*time.Millisecond)
			if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if test.told == 0 && errors.Is(err, io.ErrUnexpectedEOF) {
				return
			}
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			body, err := io.ReadAll(response.Body)
			if response.StatusCode != test.told || !response.Close || !strings.Contains(string(body), "/problems/") {
				t.Errorf("got %d, close %v: %s %v", response.StatusCode, response.Close, body, err)
			}
			if took := time.Since(began); took < limit || took > limit+3*time.Second {
				t.Errorf("ended after %v", took)
			}
		})
	}
}

func TestAnIdleConnectionIsClosed(t *testing.T) {
	s := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) { o.IdleTimeout = 200 * time.Millisecond }})
	conn := connect(t, s)
	reader := newReader(t, conn)
	for range 2 { // used again within the time
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(response.Body); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	began := time.Now()
	if _, err := reader.ReadByte(); err != io.EOF {
		t.Errorf("got %v, want the end of the connection", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A client that reads nothing holds its connection, and its place, only for the
// time of a piece.
func TestAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	payload := []byte(`{"status":"success","data":"` + strings.Repeat("x", 900<<10) + `"}`)
	released := make(chan struct{}, 64)
	s := servertest.Start(t, &servertest.Options{
		Guest: wasmbuild.Guest{Payload: payload, Pages: 32, AllocResult: 1 << 20}, // behind the payload
		Change: func(o *server.Options) {
			o.WriteTimeout = 300 * time.Millisecond
			o.MaxConnections = 1
		},
	})
	http.DefaultClient.CloseIdleConnections()
	conn := dialWhenFree(t, s)
	if err := conn.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	request := fmt.Sprintf("POST /v1/tools/Tiny/Run HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", s.Secret)
	go func() {
		for range 64 { // more than the buffers of the system hold
			if _, err := io.WriteString(conn, request); err != nil {
				break
			}
		}
		released <- struct{}{}
	}()
	<-released
	began := time.Now()
	dialWhenFree(t, s).Close()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the place was free after %v", took)
	}
}

// dialWhenFree opens a connection that is served, once there is a place.
func dialWhenFree(t *testing.T, s *servertest.Server) *net.TCPConn {
	t.Helper()
	for range 100 {
		conn := connect(t, s)
		if status, _ := healthz(t, conn); status == 200 {
			return conn
		}
		conn.Close()
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("no place became free")
	return nil
}

func healthz(t *testing.T, conn net.Conn) (int, http.Header) {
	t.Helper()
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
		return 0, nil
	}
	response, err := http.ReadResponse(newReader(t, conn), nil)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return 0, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(response.Body); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header
}

func TestConnectionsAreBounded(t *testing.T) {
	s := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) { o.MaxConnections = 3 }})
	http.DefaultClient.CloseIdleConnections()
	var served []*net.TCPConn
	for range 3 {
		served = append(served, dialWhenFree(t, s))
	}
	status, header := healthz(t, connect(t, s))
	if status != 503 || header.Get("Retry-After") == "" || header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a connection too many gets %d %v", status, header)
	}
	for _, conn := range served {
		if status, _ := healthz(t, conn); status != 200 {
			t.Errorf("a connection with a place gets %d", status)
		}
	}
	served[0].Close()
	dialWhenFree(t, s)
}

// Many connections at once are served or told, and none is forgotten.
func TestAFloodOfConnections(t *testing.T) {
	s := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) { o.MaxConnections = 500 }})
	conns := make([]net.Conn, 0, 700)
	for range 700 {
		conn, err := net.Dial("tcp", address(s))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	served := 0
	for _, conn := range conns {
		if status, _ := healthz(t, conn); status == 200 {
			served++
		}
	}
	if served < 490 || served > 500 {
		t.Errorf("%d of 700 connections are served, want about 500", served)
	}
	for _, conn := range conns {
		conn.Close()
	}
	dialWhenFree(t, s)
}

// An answer that refuses a body arrives, though the client is still sending it.
func TestARefusalArrivesWhileTheBodyComes(t *testing.T) {
	s := servertest.Start(t, nil)
	for range 5 {
		conn := connect(t, s)
		head := "POST /v1/tools/Tiny/Run HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n"
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(conn, head+strings.Repeat("x", 4_000_000))
			sent <- err
		}()
		if err := <-sent; err != nil { // sends all before it reads
			t.Fatal(err)
		}
		response, err := http.ReadResponse(newReader(t, conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != 401 || !response.Close {
			t.Errorf("got %d, close %v", response.StatusCode, response.Close)
		}
	}
}

// The bounds of a key and of the server reach the caller as 429 and 503, and a
// call that ended gives its place back, however it ended.
func TestAdmissionOverHTTP(t *testing.T) {
	bounds := limit.New(limit.Options{Rate: -1, PerKey: 2, InFlight: 3, MaxWait: 200 * time.Millisecond})
	guests := startStoppableWith(t, deaf(), func(o *server.Options) { o.API.Admission = bounds })
	callers := []*stoppable{guests.asCaller(t, "acme", "ada"), guests.asCaller(t, "acme", "bob"), guests.asCaller(t, "acme", "eve")}
	var conns []net.Conn
	hold := func(caller *stoppable, accept string) {
		conns = append(conns, caller.dial(t, caller.raw("/v1/human/tool", "application/json", accept, `{"tool":"Tiny.Run","arguments":{}}`)))
		guests.begun(t)
	}
	hold(callers[0], "*/*")
	hold(callers[0], "text/event-stream")
	refused := func(caller *stoppable, status int, kind string) {
		t.Helper()
		got, header, body := caller.Do(t, "POST", "/v1/tools/Tiny/Run", "application/json", "{}")
		if got != status || header.Get("Retry-After") == "" || !strings.Contains(string(body), kind) {
			t.Errorf("got %d %v %s, want %d", got, header, body, status)
		}
	}
	refused(callers[0], 429, "too-many-requests")
	hold(callers[1], "*/*")
	refused(callers[2], 503, "unavailable")
	if status, _, _ := guests.Do(t, "GET", "/v1/tools", "", ""); status != 200 {
		t.Errorf("a request that is not bounded gets %d", status)
	}
	for _, conn := range conns {
		conn.Close()
	}
	for range conns {
		if result := next(t, guests.results, "the end of a call"); result.Status != abi.StatusCancelled {
			t.Errorf("a call ends as %s", result.Status)
		}
	}
	for range 100 {
		if bounds.Stats().InFlight == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("places are lost: %+v", bounds.Stats())
}

func TestNothingBeginsForAClientThatLeftTheQueue(t *testing.T) {
	bounds := limit.New(limit.Options{Rate: -1, InFlight: 1})
	s := startStoppableWith(t, deaf(), func(o *server.Options) { o.API.Admission = bounds })
	send := s.raw("/v1/human/tool", "application/json", "*/*", `{"tool":"Tiny.Run","arguments":{}}`)
	holder := s.dial(t, send)
	call := s.begun(t)
	waiter := s.dial(t, send)
	for bounds.Stats().Waiting == 0 {
		time.Sleep(time.Millisecond)
	}
	waiter.Close()
	time.Sleep(200 * time.Millisecond)
	holder.Close()
	s.wantCancelled(t, call)
	for bounds.Stats().InFlight > 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case call := <-s.calls:
		t.Errorf("a call of %s began for a client that had left", call.Tool)
	default:
	}
}

func TestTheRateOfAKeyOverHTTP(t *testing.T) {
	s := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) {
		o.API.Admission = limit.New(limit.Options{Rate: 0.5, Burst: 2})
	}})
	other := s.As(s.Key(t, identity.KeySpec{Scopes: identity.Scopes{identity.ScopeToolsCall + "*"}}))
	for i, want := range []int{200, 200, 429} {
		status, header, body := s.Do(t, "POST", "/v1/tools/Tiny/Run", "application/json", "{}")
		if status != want {
			t.Errorf("request %d gets %d %s", i, status, body)
		}
		if status == 429 && header.Get("Retry-After") != "2" {
			t.Errorf("Retry-After is %q", header.Get("Retry-After"))
		}
	}
	if status, _, _ := other.Do(t, "POST", "/v1/tools/Tiny/Run", "application/json", "{}"); status != 200 {
		t.Errorf("another key gets %d", status)
	}
}
