package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"vcphost/server/servertest"
)

// converse sends bytes and reads every answer that comes until the server closes
// the connection.
func converse(t *testing.T, s *servertest.Server, send string) (statuses []int, bodies []string, closed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, send); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	for {
		if err := conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return statuses, bodies, err == io.EOF || err == io.ErrUnexpectedEOF
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatalf("the answer breaks off: %v", err)
		}
		statuses, bodies = append(statuses, response.StatusCode), append(bodies, string(body))
	}
}

// A message that two programs may read differently is refused, and the
// connection is closed, so that nothing of it is taken for a further request.
func TestNoRequestIsSmuggledInAnother(t *testing.T) {
	s := servertest.Start(t, nil)
	const next = "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"
	head := func(lines ...string) string {
		return "POST /v1/tools/Tiny/Run HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer " + s.Secret +
			"\r\nContent-Type: application/json\r\n" + strings.Join(lines, "")
	}
	const chunked = "Transfer-Encoding: chunked\r\n\r\n"
	for _, test := range []struct {
		name, send string
	}{
		{"two lengths that differ", head("Content-Length: 2\r\nContent-Length: 9\r\n\r\n{}") + next},
		{"two lengths alike", head("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}") + next},
		{"a list of lengths", head("Content-Length: 2, 2\r\n\r\n{}") + next},
		{"a signed length", head("Content-Length: +2\r\n\r\n{}") + next},
		{"a negative length", head("Content-Length: -2\r\n\r\n{}") + next},
		{"a hexadecimal length", head("Content-Length: 0x2\r\n\r\n{}") + next},
		{"a length that no number holds", head("Content-Length: 99999999999999999999\r\n\r\n{}") + next},
		{"a length and a coding", head("Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n") + next},
		{"a coding and a length", head("Transfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n2\r\n{}\r\n0\r\n\r\n") + next},
		{"the coding identity", head("Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}") + next},
		{"an unknown coding", head("Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}") + next},
		{"two codings", head("Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n") + next},
		{"the coding twice", head("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n") + next},
		{"a coding behind a control character", head("Transfer-Encoding: \x0bchunked\r\nContent-Length: 2\r\n\r\n{}") + next},
		{"a name with a space", head("Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n{}") + next},
		{"a coding in HTTP/1.0", "POST /healthz HTTP/1.0\r\nHost: test\r\nConnection: keep-alive\r\n" + chunked + "0\r\n\r\n" + next},
		{"lines of bare LF", strings.ReplaceAll(next, "\r\n", "\n") + next},
		{"one line of bare LF", "GET /healthz HTTP/1.1\r\nHost: test\r\nX-A: a\nX-B: b\r\n\r\n" + next},
		{"a bare CR", "GET /healthz HTTP/1.1\r\nHost: test\r\nX-A: a\rX-B: b\r\n\r\n" + next},
		{"a folded line", "GET /healthz HTTP/1.1\r\nHost: test\r\nX-A: a\r\n b\r\n\r\n" + next},
		{"a folded length", head("X-A: a\r\n Content-Length: 2\r\n\r\n{}") + next},
		{"a zero byte", "GET /healthz HTTP/1.1\r\nHost: test\r\nX-A: a\x00b\r\n\r\n" + next},
		{"a line without a colon", "GET /healthz HTTP/1.1\r\nHost: test\r\nfoo\r\n\r\n" + next},
		{"a line without a name", "GET /healthz HTTP/1.1\r\nHost: test\r\n: a\r\n\r\n" + next},
		{"no host", "GET /healthz HTTP/1.1\r\n\r\n" + next},
		{"two hosts", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + next},
		{"two keys", head("Authorization: Bearer other\r\nContent-Length: 2\r\n\r\n{}") + next},
		{"a space in the URL", "GET /health z HTTP/1.1\r\nHost: test\r\n\r\n" + next},
		{"a control character in the URL", "GET /healthz\x01 HTTP/1.1\r\nHost: test\r\n\r\n" + next},
		{"tabs", "GET\t/healthz\tHTTP/1.1\r\nHost: test\r\n\r\n" + next},
		{"HTTP/0.9", "GET /healthz\r\n\r\n" + next},
		{"HTTP/2.0", "GET /healthz HTTP/2.0\r\nHost: test\r\n\r\n" + next},
		{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + next},
		{"a chunk of no number", head(chunked, "zz\r\n{}\r\n0\r\n\r\n") + next},
		{"a chunk of 0x", head(chunked, "0x2\r\n{}\r\n0\r\n\r\n") + next},
		{"a negative chunk", head(chunked, "-2\r\n{}\r\n0\r\n\r\n") + next},
		{"a chunk that no number holds", head(chunked, "10000000000000002\r\n{}\r\n0\r\n\r\n") + next},
		{"a chunk longer than it says", head(chunked, "2\r\n{}XX0\r\n\r\n") + next},
		{"chunks in lines of bare LF", head(chunked, "2\n{}\n0\n\n") + next},
		{"a chunk extension with a bare LF", head(chunked, "2;\n{}\r\n0\r\n\r\n") + next},
	} {
		t.Run(test.name, func(t *testing.T) {
			statuses, bodies, closed := converse(t, s, test.send)
			if len(statuses) != 1 || statuses[0] != 400 || !closed {
				t.Fatalf("answered %v, closed %v: %s", statuses, closed, bodies)
			}
			if !strings.Contains(bodies[0], `"type":"/problems/`) || strings.Contains(bodies[0], s.Secret) || strings.Contains(bodies[0], "Bearer") {
				t.Errorf("got %s", bodies[0])
			}
		})
	}
}

func TestPlainRequestsAreStillTaken(t *testing.T) {
	s := servertest.Start(t, nil)
	const next = "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"
	head := "POST /v1/tools/Tiny/Run HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer " + s.Secret + "\r\nContent-Type: application/json\r\n"
	for _, test := range []struct{ name, send string }{
		{"two in one packet", next + next},
		{"an empty line ahead", "\r\n" + next + next},
		{"a length", head + "Content-Length: 2\r\n\r\n{}" + next},
		{"chunks", head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n" + next},
		{"a chunk extension", head + "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n" + next},
		{"a trailer", head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-A: b\r\n\r\n" + next},
		{"many header lines", "GET /healthz HTTP/1.1\r\nHost: test\r\n" + strings.Repeat("A: b\r\n", 800) + "\r\n" + next},
		{"a name that only looks like a length", "GET /healthz HTTP/1.1\r\nHost: test\r\nContent_Length: 9\r\nX-Content-Length: 9\r\n\r\n" + next},
	} {
		t.Run(test.name, func(t *testing.T) {
			statuses, bodies, closed := converse(t, s, test.send)
			if len(statuses) != 2 || statuses[0] != 200 || statuses[1] != 200 || closed {
				t.Errorf("answered %v, closed %v: %s", statuses, closed, bodies)
			}
		})
	}
}
