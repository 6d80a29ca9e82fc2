//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/registry"
)

// limitCases are the settings that bound what callers use.
func limitCases() map[string]func(*testing.T, *settingCase) {
	return map[string]func(*testing.T, *settingCase){
		"limits.maxInFlight": func(t *testing.T, c *settingCase) {
			c.given["drain"] = "0s"
			s := c.serve(t, "1")
			go s.hang("Bad")
			s.awaitRunning(t, func(n int) bool { return n == 1 })
			go s.hang("Good")
			s.awaitStats(t, `"inFlight":1,"maxInFlight":1,"peakInFlight":1,"waiting":1`)
		},
		"limits.perKeyConcurrency": func(t *testing.T, c *settingCase) {
			c.given["drain"] = "0s"
			s := c.serve(t, "1")
			go s.hang("Bad")
			s.awaitRunning(t, func(n int) bool { return n == 1 })
			s.want(t, 429, "POST", "/v1/human/tool", `{"tool":"Good","arguments":{}}`)
		},
		"limits.perKeyRate": func(t *testing.T, c *settingCase) {
			s := c.serve(t, "1")
			statuses := map[int]int{}
			for began := time.Now(); statuses[429] == 0 && time.Since(began) < 30*time.Second; {
				status, _ := s.ask(t, "POST", "/v1/human/tool", s.secret, `{"tool":"Good","arguments":{}}`)
				statuses[status]++
			}
			if statuses[200] == 0 || statuses[429] == 0 || statuses[200] > 40 {
				t.Errorf("calls are answered %v", statuses)
			}
		},
		"limits.maxUploadBytes": func(t *testing.T, c *settingCase) {
			s := c.serve(t, "1000")
			s.want(t, 201, "POST", "/v1/resources", strings.Repeat("x", 1000))
			s.want(t, 413, "POST", "/v1/resources", strings.Repeat("x", 1001))
		},
		"limits.maxConnections": func(t *testing.T, c *settingCase) {
			s := c.serve(t, "2")
			for i, want := range []int{200, 200, 503} {
				if got := s.dial(t, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").status(t); got != want {
					t.Errorf("connection %d gets %d, want %d", i+1, got, want)
				}
			}
		},
		"limits.maxHeaderBytes": func(t *testing.T, c *settingCase) {
			s := c.serve(t, "1KiB")
			for bytes, want := range map[int]int{100: 200, 1500: 431} {
				head := "GET /healthz HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", bytes) + "\r\n\r\n"
				if got := s.dial(t, head).status(t); got != want {
					t.Errorf("a header of %d bytes gets %d, want %d", bytes, got, want)
				}
			}
		},
		"limits.breakerFailures": func(t *testing.T, c *settingCase) {
			c.withAway(t)
			s := c.serve(t, "2")
			for _, want := range []string{"TRANSPORT_FAILURE", "TRANSPORT_FAILURE", "circuit_open"} {
				wantIn(t, s.call(t, "Away"), want)
			}
			wantIn(t, s.want(t, 200, "GET", "/v1/stats", ""), `{"plugin":"Away","state":"open"`)
			key := s.secret
			s.stop(t)
			s = c.serve(t, "0")
			s.secret = key
			for range 12 {
				wantIn(t, s.call(t, "Away"), "TRANSPORT_FAILURE")
			}
		},
		"limits.breakerPause": func(t *testing.T, c *settingCase) {
			c.withAway(t)
			c.given["limits.breakerFailures"] = "1"
			s := c.serve(t, "30m")
			s.call(t, "Away")
			var result abi.Result
			var details struct{ RetryAfterMs int64 }
			answer := s.call(t, "Away")
			if err := json.Unmarshal([]byte(answer), &result); err != nil || result.Error == nil {
				t.Fatalf("%v in %s", err, answer)
			}
			if err := json.Unmarshal(result.Error.Details, &details); err != nil || details.RetryAfterMs < 20*60_000 || details.RetryAfterMs > 30*60_000 {
				t.Errorf("%v in %s", err, answer)
			}
		},
	}
}

// timeCases are the settings of how long something may take. The bounds are
// wide: what is looked for is another time than that of the default.
func timeCases() map[string]func(*testing.T, *settingCase) {
	return map[string]func(*testing.T, *settingCase){
		"drain": func(t *testing.T, c *settingCase) {
			s := c.serve(t, "1s")
			answer := make(chan string, 1)
			go func() { answer <- s.hang("Bad") }()
			s.awaitRunning(t, func(n int) bool { return n == 1 })
			began := time.Now()
			s.stop(t)
			wantTook(t, time.Since(began), time.Second, 15*time.Second)
			wantIn(t, <-answer, `"status":"cancelled"`)
		},
		"limits.readTimeout": func(t *testing.T, c *settingCase) {
			s := c.serve(t, "1s")
			began := time.Now()
			if got := s.dial(t, "GET /healthz HTTP/1.1\r\nHost").status(t); got != 408 {
				t.Errorf("half a request gets %d", got)
			}
			wantTook(t, time.Since(began), time.Second, 20*time.Second)
		},
		"limits.idleTimeout": func(t *testing.T, c *settingCase) {
			s := c.serve(t, "1s")
			conn := s.dial(t, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
			if got := conn.status(t); got != 200 {
				t.Errorf("got %d", got)
			}
			began := time.Now()
			if _, err := conn.reader.ReadByte(); err != io.EOF {
				t.Errorf("an idle connection ends with %v", err)
			}
			wantTook(t, time.Since(began), time.Second/2, 30*time.Second)
		},
	}
}

// spoken is a connection on which something was sent.
type spoken struct{ reader *bufio.Reader }

// dial connects and sends. The connection ends with the test.
func (s *inProcess) dial(t *testing.T, send string) spoken {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(50 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, send); err != nil {
		t.Fatal(err)
	}
	return spoken{bufio.NewReader(conn)}
}

// status reads one answer.
func (s spoken) status(t *testing.T) int {
	t.Helper()
	answer, err := http.ReadResponse(s.reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}

// awaitStats waits until the statistics hold a text.
func (s *inProcess) awaitStats(t *testing.T, wanted string) {
	t.Helper()
	last := ""
	for began := time.Now(); time.Since(began) < 8*time.Second; time.Sleep(5 * time.Millisecond) { // longer, nobody waits in the queue
		if last = s.want(t, 200, "GET", "/v1/stats", ""); strings.Contains(last, wanted) {
			return
		}
	}
	t.Errorf("the statistics never have %s: %s", wanted, last)
}

// away is a transport that reaches nothing.
type away struct{}

// Invoke says so.
func (away) Invoke(context.Context, *abi.Invocation) (*abi.Reply, error) {
	return nil, abi.NewError(abi.CodeTransportFailure, "the plugin is away")
}

// Close has nothing to end.
func (away) Close(context.Context) error { return nil }

// withAway adds a plugin Away that cannot be reached.
func (c *settingCase) withAway(t *testing.T) {
	t.Helper()
	writeFile(t, filepath.Join(c.bench.plugins, "away", "plugin-manifest.json"), manifest("Away",
		`"type": "wasm", "module": "module.wasm", "abi": "vcp"`, `"type": "native", "command": "away"`, `"protocol": "wasm"`, `"protocol": "stdio"`))
	c.kinds = map[string]host.Kind{"native": {Trust: abi.TrustProcess, Open: func(context.Context, *registry.Plugin) (host.Transport, error) {
		return away{}, nil
	}}}
}
