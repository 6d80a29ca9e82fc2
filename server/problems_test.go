package server_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"vcphost/server/problem"
	"vcphost/server/servertest"
)

// TestProblemsOfRequestsThatReachNoRoute sends what no handler sees: every answer
// is a whole problem all the same, under an id.
func TestProblemsOfRequestsThatReachNoRoute(t *testing.T) {
	w := servertest.Start(t, nil)
	head := func(line string, fields ...string) string {
		return line + " HTTP/1.1\r\nHost: h\r\n" + strings.Join(fields, "") + "\r\n"
	}
	for _, test := range []struct {
		name, raw string
		kind      problem.Kind
		id, allow string // "" is any id, and no Allow
	}{
		{"no such path", head("GET /nowhere", "X-Request-Id: mine\r\n"), problem.KindNotFound, "mine", ""},
		{"no such path, no id", head("GET /nowhere"), problem.KindNotFound, "", ""},
		{"another path", head("GET /v1/tools/"), problem.KindNotFound, "", ""},
		{"an id with a tab in it", head("GET /nowhere", "X-Request-Id: a\tb\r\n"), problem.KindNotFound, "", ""},
		{"no such method", head("DELETE /healthz", "X-Request-Id: mine\r\n"), problem.KindMethodNotAllowed, "mine", "GET, HEAD"},
		{"a method that nobody knows", head("BREW /v1/human/tool"), problem.KindMethodNotAllowed, "", "POST"},
		{"a URL too long", head("GET /healthz?" + strings.Repeat("a", 4_200)), problem.KindURITooLong, "", ""},
		{"a header too large", head("GET /healthz", "X: "+strings.Repeat("a", 40_000)+"\r\n"), problem.KindHeaderTooLarge, "", ""},
		{"garbage", "\x16\x03\x01\x02\x00 nonsense\r\n\r\n", problem.KindBadRequest, "", ""},
		{"a folded header", head("GET /healthz", "X: a\r\n b\r\n"), problem.KindBadRequest, "", ""},
		{"two lengths", head("POST /v1/interrupt", "Content-Length: 2\r\nContent-Length: 3\r\n") + "{}", problem.KindBadRequest, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, body := oneAnswer(t, w, test.raw)
			var told struct{ Type, Title, RequestID string }
			if err := json.Unmarshal(body, &told); err != nil || response.Header.Get("Content-Type") != problem.MediaType {
				t.Fatalf("got %d %v %q", response.StatusCode, response.Header, body)
			}
			info := problem.Lookup(test.kind)
			if response.StatusCode != info.Status || told.Type != info.Type() || told.Title != info.Title {
				t.Errorf("got %d %s, want %d %s", response.StatusCode, body, info.Status, info.Type())
			}
			id := response.Header.Get("X-Request-Id")
			if id == "" || told.RequestID != id || test.id != "" && id != test.id {
				t.Errorf("the header names request %q, the problem %q", id, told.RequestID)
			}
			if got := response.Header.Get("Allow"); got != test.allow {
				t.Errorf("Allow is %q, want %q", got, test.allow)
			}
		})
	}
}

// oneAnswer writes bytes to a server and reads the one answer.
func oneAnswer(t *testing.T, w *servertest.Server, raw string) (*http.Response, []byte) {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(w.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(connection, raw); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, body
}
