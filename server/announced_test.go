package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"vcphost/server"
	"vcphost/server/servertest"
)

// announce sends the head of a request and some of its body, and reads the
// answer. The server waits ten minutes for a body here, so that one which waits
// fails the test.
func announce(t *testing.T, s *servertest.Server, sent string) *http.Response {
	t.Helper()
	conn := connect(t, s)
	if _, err := io.WriteString(conn, sent); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.80q is not answered: %v", sent, err)
	}
	return answer
}

func patient(o *server.Options) {
	o.ReadTimeout = 10 * time.Minute
	o.API.MaxUploadBytes = 128 << 10
}

// TestABodyThatIsTooLongIsRefusedAsItIsAnnounced: the answer does not wait for
// the body, however little of it came.
func TestABodyThatIsTooLongIsRefusedAsItIsAnnounced(t *testing.T) {
	m := newMatrix(t, &servertest.Options{Change: patient})
	for _, route := range m.API.Routes() {
		if len(route.Doc.RequestTypes) == 0 {
			continue
		}
		if route.MaxBody <= 0 {
			t.Errorf("%s %s takes a body and declares no limit of it", route.Method, route.Path)
		}
		s := m.of(route)
		line := route.Method + " " + s.path
		for _, came := range []int{0, 1, 9 << 10, 60 << 10} {
			for _, more := range []string{"X: y", "Expect: 100-continue"} {
				name := fmt.Sprintf("%s, %d bytes came, %s", line, came, more)
				answer := announce(t, m.Server, head(m.Server, line, "Content-Type: "+s.kind, fmt.Sprint("Content-Length: ", route.MaxBody+1), more)+strings.Repeat(" ", came))
				body, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				refused(t, name, 413, answer.StatusCode, answer.Header, body)
				if !answer.Close {
					t.Errorf("%s: the connection goes on", name)
				}
			}
		}
		stranger := *m.Server
		stranger.Secret = "x"
		if answer := announce(t, &stranger, head(&stranger, line, "Content-Type: "+s.kind, fmt.Sprint("Content-Length: ", route.MaxBody+1))); answer.StatusCode != 401 {
			t.Errorf("%s: a stranger gets %d", line, answer.StatusCode)
		}
	}
	alive(t, m.Server)
}

// TestWhatTakesNoBodyDoesNotWaitForALongOne, and what is not there neither.
func TestWhatTakesNoBodyDoesNotWaitForALongOne(t *testing.T) {
	m := newMatrix(t, &servertest.Options{Change: patient})
	for line, want := range map[string]int{
		"GET /v1/tools": 200, "GET /healthz": 200, "GET http://elsewhere/healthz": 200, "POST /v1/nowhere": 404, "PUT /v1/tools": 405,
		"POST /v1/plugins/Tiny/reset": 200, "DELETE /v1/keys/absent": 404,
	} {
		answer := announce(t, m.Server, head(m.Server, line, "Content-Length: 10737418240")+"x")
		if answer.StatusCode != want || !answer.Close {
			t.Errorf("%s: %d, close %v; want %d and closed", line, answer.StatusCode, answer.Close, want)
		}
	}
	alive(t, m.Server)
}

// TestABodyAtTheLimitIsTaken, also where a form has more than its file.
func TestABodyAtTheLimitIsTaken(t *testing.T) {
	s := servertest.Start(t, &servertest.Options{Change: patient})
	const limit = 128 << 10
	form := func(file int) string {
		return "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\n" + strings.Repeat("x", file) + "\r\n--b--\r\n"
	}
	const formType = "multipart/form-data; boundary=b"
	for _, test := range []struct {
		name, kind, body string
		want             int
	}{
		{"bytes at the limit", "text/plain", strings.Repeat("x", limit), 201},
		{"a form with a file at the limit", formType, form(limit), 201},
		{"a form with a file above it", formType, form(limit + 1), 413},
	} {
		if status, _, body := s.Do(t, "POST", "/v1/resources", test.kind, test.body); status != test.want {
			t.Errorf("%s: %d %s", test.name, status, body)
		}
	}
}

// TestTheMarkOfABodyTakenAwayIsNotAClients: who sends the header by which the
// server knows such a body makes it refuse that very request at most.
func TestTheMarkOfABodyTakenAwayIsNotAClients(t *testing.T) {
	s := servertest.Start(t, &servertest.Options{Change: patient})
	answer := announce(t, s, head(s, "GET /v1/tools", "Body Taken Away: 1 2", "Connection: close"))
	if answer.StatusCode != 400 && answer.StatusCode != 200 {
		t.Errorf("got %d", answer.StatusCode)
	}
	alive(t, s)
}
