package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/server/problem"
)

// fake answers on a pipe with a handler.
func fake(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	pipe := NewPipe()
	server := &http.Server{Handler: handle}
	done := make(chan error, 1)
	go func() { done <- server.Serve(pipe) }()
	c := New(pipe.Dial)
	t.Cleanup(func() {
		c.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return c
}

func TestWhatTheServerRefusesIsAProblem(t *testing.T) {
	for _, test := range []struct {
		name   string
		status int
		body   string
		want   string // of a *problem.Problem, or of another error
		known  bool
	}{
		{"a problem", 429, `{"type":"/problems/too-many-requests","title":"Too many requests","status":429,"detail":"slow down"}`, "Too many requests: slow down", true},
		{"no JSON", 502, "<html>", "status 502", false},
		{"another JSON", 500, `{"error":"x"}`, "status 500", false},
		{"a redirect", 302, "", "status 302", false},
		{"an answer that is no JSON", 200, "<html>", "read the server's answer", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := fake(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "3")
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			_, err := c.Keys(t.Context())
			var told *problem.Problem
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.As(err, &told) != test.known {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if test.known && (told.Status != test.status || told.RetryAfter != 3*time.Second) {
				t.Errorf("got %+v", told)
			}
		})
	}
}

func TestNoIDBecomesAnotherPath(t *testing.T) {
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("asked for %s", r.URL)
	})
	for _, id := range []string{"", "..", "../keys", "%2e%2e%2fkeys", "a/b", "a?b", "a#b", "a\x00b", "a b", "ä"} {
		_, result := c.Result(t.Context(), id)
		_, text := c.ResultText(t.Context(), id, 0)
		_, resource := c.Resource(t.Context(), id)
		for _, err := range []error{result, text, resource, c.RevokeKey(t.Context(), id)} {
			var told *problem.Problem
			if !errors.As(err, &told) || told.Status != 404 {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
}

func TestEventsOfACall(t *testing.T) {
	const result = `{"protocol":{"name":"vcp.tool-result","version":"1.0"},"id":"tr_1","status":"success","data":{"a":` + "\n1}}"
	for _, test := range []struct {
		name, stream, fails string
		stages              []string
		text                string
	}{
		{"whole", ": hello\n\nevent: progress\ndata: {\"stage\":\"a\"}\n\nevent: news\ndata: ?\n\nevent: view\ndata: {\"text\":\"T\"}\n\nevent: result\n" + data(result), "", []string{"a"}, "T"},
		{"with carriage returns", "event: progress\r\ndata:{\"stage\":\"b\"}\r\n\r\nevent: result\r\n" + data(result), "", []string{"b"}, ""},
		{"an event without data", "event: progress\n\nevent: result\n" + data(result), "", nil, ""},
		{"cut off", "event: progress\ndata: {\"stage\":\"a\"}\n\nevent: result\ndata: {", "the server ended before the call did", []string{"a"}, ""},
		{"empty", "", "the server ended before the call did", nil, ""},
		{"a result that is none", "event: result\ndata: {\n\n", `read the call's event "result"`, nil, ""},
		{"progress that is none", "event: progress\ndata: [\n\n", `read the call's event "progress"`, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := fake(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, test.stream) })
			var stages []string
			answer, err := c.Call(t.Context(), Call{Tool: "T", RequestID: "req_1", Progress: func(event abi.Progress) {
				stages = append(stages, event.Stage)
			}})
			if fmt.Sprint(stages) != fmt.Sprint(test.stages) {
				t.Errorf("progress %v, want %v", stages, test.stages)
			}
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("got %v, want %q", err, test.fails)
				}
				return
			}
			if err != nil || string(answer.Raw) != result || answer.Result.ID != "tr_1" || answer.Text != test.text {
				t.Errorf("got %+v, %v", answer, err)
			}
		})
	}
}

// data writes a text as the data of an event.
func data(text string) string { return "data: " + strings.ReplaceAll(text, "\n", "\ndata: ") + "\n\n" }

func TestACallThatIsToStopIsAskedForUntilItDoes(t *testing.T) {
	asked, stopped := 0, make(chan struct{})
	c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/interrupt" {
			if asked++; asked < 3 {
				_, _ = io.WriteString(w, `{"interrupted":[]}`)
				return
			}
			close(stopped)
			_, _ = io.WriteString(w, `{"interrupted":["ti_1"]}`)
			return
		}
		<-stopped
		_, _ = io.WriteString(w, "event: result\n"+data(`{"id":"tr_1","status":"cancelled"}`))
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer, err := c.Call(ctx, Call{Tool: "T", RequestID: "req_1"})
	if err != nil || answer.Result.Status != abi.StatusCancelled || asked != 3 {
		t.Errorf("got %+v, %v after %d requests", answer, err, asked)
	}
}

func TestPipe(t *testing.T) {
	pipe := NewPipe()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := pipe.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}()
	ours, err := pipe.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirs := <-accepted
	go func() { _, _ = io.WriteString(ours, "x") }()
	if one := make([]byte, 1); true {
		if _, err := io.ReadFull(theirs, one); err != nil || one[0] != 'x' {
			t.Errorf("read %q, %v", one, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := pipe.Dial(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial with an ended context = %v", err)
	}
	_, _ = pipe.Close(), pipe.Close()
	if _, err := pipe.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close = %v", err)
	}
	if _, err := pipe.Dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Dial after Close = %v", err)
	}
	pipe.Drain(ended) // a connection is open
	_, _ = theirs.Close(), theirs.Close()
	pipe.Drain(t.Context())
}

// Whatever a server sends, an event is read or refused, and never more than one
// at a time.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"", "event: a\ndata: b\n\n", "data\n\n", ":\n\ndata: 1\ndata:  2\r\n\r\n", "event:\x00\ndata:\xff\n\n", "data: a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		r := &eventReader{in: bufio.NewReaderSize(strings.NewReader(stream), 16)}
		read := 0
		for {
			name, body, err := r.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatalf("got %v", err)
				}
				return
			}
			if read += len(name) + len(body); read > len(stream) {
				t.Fatalf("read %d bytes of %d", read, len(stream))
			}
		}
	})
}
