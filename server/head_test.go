package server_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/servertest"
)

// TestHEADAnswersLikeGET: the same status and headers, also of what is refused,
// no body, and the connection goes on.
func TestHEADAnswersLikeGET(t *testing.T) {
	m := newMatrix(t, &servertest.Options{Change: func(o *server.Options) {
		allParts(o)
		o.API.Metrics = somewhatMetrics{}
	}})
	stranger := m.As("")
	gets := 0
	for _, route := range m.API.Routes() {
		if route.Method != "GET" {
			continue
		}
		gets++
		path := m.of(route).path
		for _, w := range []*servertest.Server{m.Server, stranger} {
			status, header, body := w.Do(t, "GET", path, "", "")
			conn := connect(t, w)
			if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a body would stand where the second answer begins
				if _, err := io.WriteString(conn, "HEAD "+path+" HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer "+w.Secret+"\r\nAccept-Encoding: gzip\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
			}
			reader := bufio.NewReader(conn)
			for range 2 {
				got, err := http.ReadResponse(reader, &http.Request{Method: "HEAD"})
				if err != nil {
					t.Fatalf("HEAD %s: %v", path, err)
				}
				if got.StatusCode != status {
					t.Errorf("HEAD %s: %d, and GET %d", path, got.StatusCode, status)
				}
				if a, b := names(got.Header), names(header); !slices.Equal(a, b) {
					t.Errorf("HEAD %s: headers %v, and GET %v", path, a, b)
				}
				if volatile := bytes.Contains(body, []byte("uptimeSeconds")) || status >= 400; !volatile && header.Get("Content-Encoding") == "" && got.Header.Get("Content-Length") != header.Get("Content-Length") {
					t.Errorf("HEAD %s: Content-Length %s, and GET %s", path, got.Header.Get("Content-Length"), header.Get("Content-Length"))
				}
			}
		}
	}
	if gets < 14 {
		t.Errorf("only %d routes were asked", gets)
	}
}

// names lists the headers that do not depend on the client's own.
func names(header http.Header) []string {
	var list []string
	for name := range header {
		if !slices.Contains([]string{"Content-Length", "Content-Encoding", "Transfer-Encoding"}, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// somewhatMetrics writes the same each time.
type somewhatMetrics struct{ noMetrics }

// Write implements the API's metrics.
func (somewhatMetrics) Write(w io.Writer, _ string) (string, error) {
	_, err := io.WriteString(w, strings.Repeat("x 1\n", 10))
	return "text/plain", err
}

// Calls implements the API's metrics.
func (somewhatMetrics) Calls() []api.CallCount { return nil }
