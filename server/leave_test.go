package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/registry"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/servertest"
)

// The lines that the guests below log.
const (
	guestBegan = "began"
	guestSaw   = "saw that it is cancelled"
)

// polite asks again and again whether it is cancelled, and says so when it is.
func polite() wasmbuild.Guest { return looping(true) }

// deaf computes for ever and asks nothing.
func deaf() wasmbuild.Guest { return looping(false) }

func looping(asks bool) wasmbuild.Guest {
	const cancelled, log = 0, 1
	const beganAt, sawAt = 8192, 8448
	line := func(at int32, text string) []byte {
		return bytes.Join([][]byte{
			wasmbuild.I32Const(1), wasmbuild.I32Const(at), wasmbuild.I32Const(int32(len(text))), wasmbuild.Call(log),
		}, nil)
	}
	return wasmbuild.Guest{
		Imports: func(m *wasmbuild.Module) {
			i32 := wasmbuild.I32
			m.ImportFunction("vcp", "cancelled", wasmbuild.Signature{Results: []wasmbuild.ValueType{i32}})
			m.ImportFunction("vcp", "log", wasmbuild.Signature{Params: []wasmbuild.ValueType{i32, i32, i32}})
		},
		Body: func(m *wasmbuild.Module) [][]byte {
			m.Data(beganAt, []byte(guestBegan))
			m.Data(sawAt, []byte(guestSaw))
			if !asks {
				return [][]byte{line(beganAt, guestBegan), wasmbuild.Loop(), wasmbuild.I64Const(0)}
			}
			return [][]byte{
				line(beganAt, guestBegan),
				wasmbuild.Loop(wasmbuild.Call(cancelled), wasmbuild.If(line(sawAt, guestSaw), wasmbuild.I64Const(0), []byte{0x0f})), // return
				wasmbuild.I64Const(0),
			}
		},
	}
}

// stoppable is a server whose guests run until they are stopped, with what
// they log and the results that are kept.
type stoppable struct {
	*servertest.Server
	lines   chan string
	calls   chan *abi.Call
	results chan *abi.Result
}

func startStoppable(t *testing.T, guest wasmbuild.Guest) *stoppable {
	t.Helper()
	return startStoppableWith(t, guest, func(*server.Options) {})
}

func startStoppableWith(t *testing.T, guest wasmbuild.Guest, change func(*server.Options)) *stoppable {
	t.Helper()
	s := &stoppable{lines: make(chan string, 64), calls: make(chan *abi.Call, 64), results: make(chan *abi.Result, 64)}
	s.Server = servertest.Start(t, &servertest.Options{Guest: guest, Change: func(o *server.Options) {
		box, err := sandbox.New(t.Context(), &sandbox.Options{Logger: slog.New(lineHandler{slog.DiscardHandler, s.lines})})
		if err != nil {
			t.Fatal(err)
		}
		h, err := host.New(host.Options{
			Registry: o.API.Registry, Resources: o.API.Resources, Recorder: recorder{o.API.Results, s.results},
			Kinds: map[string]host.Kind{"wasm": {Trust: abi.TrustWASM, Open: func(ctx context.Context, p *registry.Plugin) (host.Transport, error) {
				return box.Open(ctx, sandbox.Module{Name: p.Name, Binary: guest.Bytes()})
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { h.Close(context.Background()); box.Close(context.Background()) })
		o.API.Host = executor{h, s.calls}
		change(o)
	}})
	return s
}

// lineHandler keeps what plugins log.
type lineHandler struct {
	slog.Handler
	lines chan<- string
}

// Enabled takes every line.
func (h lineHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle hands the line on.
func (h lineHandler) Handle(_ context.Context, record slog.Record) error {
	h.lines <- record.Message
	return nil
}

// WithAttrs leaves the attributes away.
func (h lineHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// recorder keeps results, and hands them on when they are kept.
type recorder struct {
	host.Recorder
	results chan<- *abi.Result
}

// Keep keeps a result.
func (r recorder) Keep(ctx context.Context, owner abi.Owner, result *abi.Result) error {
	err := r.Recorder.Keep(ctx, owner, result)
	r.results <- result
	return err
}

// executor hands on the calls that it runs.
type executor struct {
	*host.Host
	calls chan<- *abi.Call
}

// Execute runs a call.
func (e executor) Execute(ctx context.Context, call *abi.Call) *abi.Result {
	e.calls <- call
	return e.Host.Execute(ctx, call)
}

// next waits for the next element of a channel.
func next[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Second):
		t.Fatalf("waited for %s in vain", what)
		panic("unreachable")
	}
}

// begun waits until the guest of a call runs.
func (s *stoppable) begun(t *testing.T) *abi.Call {
	t.Helper()
	call := next(t, s.calls, "the call")
	for next(t, s.lines, "the guest") != guestBegan { // the guest of a call before may come to see its end late
	}
	return call
}

// wantCancelled waits for the end of a call, and holds its stored record
// against what a caller that stopped it must find there.
func (s *stoppable) wantCancelled(t *testing.T, call *abi.Call) {
	t.Helper()
	result := next(t, s.results, "the result")
	if result.Execution.InvocationID != call.Context.InvocationID {
		t.Errorf("the call %s ended, want %s", result.Execution.InvocationID, call.Context.InvocationID)
	}
	status, _, body := s.Do(t, "GET", "/v1/results/"+result.ID, "", "")
	var stored abi.Result
	if err := json.Unmarshal(body, &stored); status != 200 || err != nil {
		t.Fatalf("the stored result is %d %s", status, body)
	}
	if stored.Status != abi.StatusCancelled || stored.Error == nil || stored.Error.Code != abi.CodeToolCancelled {
		t.Errorf("the stored result says %s with %v", stored.Status, stored.Error)
	}
}

// dial opens a connection and sends bytes.
func (s *stoppable) dial(t *testing.T, send string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, send); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

// raw writes a request as it goes over the wire.
func (s *stoppable) raw(path, contentType, accept, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nAccept: %s\r\nX-Request-Id: leaver\r\nContent-Length: %d\r\n\r\n%s",
		path, s.Secret, contentType, accept, len(body), body)
}

const textCalls = "<<<[TOOL_REQUEST]>>>\ntool_name:「始」Tiny「末」,\ncommand:「始」Run「末」\n<<<[END_TOOL_REQUEST]>>>\n" +
	"<<<[TOOL_REQUEST]>>>\ntool_name:「始」Tiny「末」,\ncommand:「始」Other「末」\n<<<[END_TOOL_REQUEST]>>>"

func TestAClientThatLeavesStopsItsCall(t *testing.T) {
	second := "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"
	ways := []struct {
		name  string
		leave func(*net.TCPConn) error
	}{
		{"it closes", (*net.TCPConn).Close},
		{"it resets", func(c *net.TCPConn) error { return joinErrors(c.SetLinger(0), c.Close()) }},
		{"it closes its own direction", (*net.TCPConn).CloseWrite},
	}
	if runtime.GOOS == "linux" {
		ways = append(ways, struct {
			name  string
			leave func(*net.TCPConn) error
		}{"it sends more and closes", func(c *net.TCPConn) error {
			_, err := io.WriteString(c, second)
			return joinErrors(err, c.Close())
		}})
	}
	saw := 0
	for _, guest := range []struct {
		name  string
		guest wasmbuild.Guest
	}{{"a guest that asks", polite()}, {"a guest that does not", deaf()}} {
		t.Run(guest.name, func(t *testing.T) {
			s := startStoppable(t, guest.guest)
			requests := map[string]string{
				"a call":            s.raw("/v1/human/tool", "application/json", "*/*", `{"tool":"Tiny.Run","arguments":{}}`),
				"a command":         s.raw("/v1/tools/Tiny/Run", "application/json", "*/*", `{}`),
				"a text":            s.raw("/v1/human/tool", "text/plain", "*/*", textCalls),
				"a call with event": s.raw("/v1/human/tool", "application/json", "text/event-stream", `{"tool":"Tiny.Run","arguments":{}}`),
				"a text, events":    s.raw("/v1/human/tool", "text/plain", "text/event-stream", textCalls),
			}
			for what, send := range requests {
				for _, way := range ways {
					t.Run(what+"/"+way.name, func(t *testing.T) {
						http.DefaultClient.CloseIdleConnections()
						before := runtime.NumGoroutine()
						conn := s.dial(t, send)
						call := s.begun(t)
						if err := way.leave(conn); err != nil {
							t.Fatal(err)
						}
						s.wantCancelled(t, call)
						saw += s.settle(t, conn, before)
					})
				}
			}
		})
	}
	if saw == 0 {
		t.Error("no guest that asked saw that it is cancelled")
	}
}

func joinErrors(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// settle waits until nothing of a call is left, and counts the guests that saw
// its end. No further call of the request may have begun.
func (s *stoppable) settle(t *testing.T, conn net.Conn, before int) (saw int) {
	t.Helper()
	conn.Close()
	deadline := time.Now().Add(5 * time.Second)
	for {
		http.DefaultClient.CloseIdleConnections()
		now := runtime.NumGoroutine()
		if now <= before {
			break
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines are left, and there were %d:\n%s", now, before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
	select {
	case call := <-s.calls:
		t.Errorf("the request went on with another call, of %s", call.Tool)
	default:
	}
	select {
	case line := <-s.lines:
		if line != guestSaw {
			t.Errorf("the guest logs %q", line)
		}
		return 1
	default:
		return 0
	}
}

// A client that sends its next request early, or only stays, has not left.
func TestAClientThatSendsMoreHasNotLeft(t *testing.T) {
	s := startStoppable(t, polite())
	for _, test := range []struct{ name, accept string }{{"a call", "*/*"}, {"a call with events", "text/event-stream"}} {
		t.Run(test.name, func(t *testing.T) {
			conn := s.dial(t, s.raw("/v1/human/tool", "application/json", test.accept, `{"tool":"Tiny.Run","arguments":{}}`))
			call := s.begun(t)
			// The rest of the early request comes later, so that it does not only
			// lie in the server's own buffer.
			if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\n"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(400 * time.Millisecond)
			select {
			case result := <-s.results:
				t.Fatalf("the call ended as %s", result.Status)
			default:
			}
			status, _, body := s.Do(t, "POST", "/v1/interrupt", "application/json", `{"requestId":"leaver"}`)
			if status != 200 || !strings.Contains(string(body), call.Context.InvocationID) {
				t.Fatalf("got %d %s", status, body)
			}
			s.wantCancelled(t, call)
			if _, err := io.WriteString(conn, "Host: test\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			wantTwoAnswers(t, conn)
		})
	}
}

// newReader reads a connection for at most ten seconds.
func newReader(t *testing.T, conn net.Conn) *bufio.Reader {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(conn)
}

// wantTwoAnswers reads the answer to the call and that to the early request.
func wantTwoAnswers(t *testing.T, conn net.Conn) {
	t.Helper()
	reader := newReader(t, conn)
	for _, want := range []string{`"status":"cancelled"`, `"status":"ok"`} {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("got %d %s with %v, want %s in it", response.StatusCode, body, err, want)
		}
	}
}
