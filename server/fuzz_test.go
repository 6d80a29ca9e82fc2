package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"vcphost/server"
	"vcphost/server/servertest"
)

// FuzzRouter sends a whole server any request that has a head, and looks at
// what must hold for every answer.
func FuzzRouter(f *testing.F) {
	const call = `{"tool":"Tiny.Run","arguments":{"n":1},"options":{"view":"ai","maxCharacters":9}}`
	const block = "<<<[TOOL_REQUEST]>>>\ntool_name:「始」Tiny「末」,\ncommand1:「始」Run「末」,\nn1:「始」1「末」\n<<<[END_TOOL_REQUEST]>>>"
	w := servertest.Start(f, &servertest.Options{Change: func(o *server.Options) {
		o.ReadTimeout = time.Second
		o.API.MaxUploadBytes = 64 << 10
	}})
	asJSON, asText, key := "Content-Type: application/json", "Content-Type: text/plain", "Authorization: Bearer KEY"
	for _, route := range w.API.Routes() {
		f.Add(route.Method, strings.NewReplacer("{id}", "tr_1?pointer=/data&limit=2", "{", "", "}", "").Replace(route.Path), key+"\r\n"+asJSON, call)
	}
	f.Add("POST", "/v1/human/tool", key+"\r\n"+asJSON+"\r\nAccept: text/event-stream", call)
	f.Add("POST", "/v1/human/tool?view=legacy&timeoutMs=1", key+"\r\n"+asText, block)
	f.Add("POST", "/v1/human/tool", key+"\r\n"+asText, block+"\n"+block)
	f.Add("POST", "/v1/tools/Tiny/Run?view=ai&maxCharacters=1", key+"\r\n"+asJSON, `{"n":1.0,"x":{"$resource":"res_1"}}`)
	f.Add("POST", "/v1/human/tool", key+"\r\n"+asJSON+"\r\nTransfer-Encoding: chunked\r\nX-Request-Id: a", "2\r\n{}\r\n0\r\n\r\n")
	f.Add("POST", "/v1/resources", key+"\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Disposition: x; filename*=UTF-8''%ff", "--b\r\n\r\n\r\n--b--")
	f.Add("GET", "/v1/resources/res_1", key+"\r\nRange: bytes=-1,0-\r\nIf-None-Match: W/\"*\"", "")
	f.Add("BREW", "/%2e%2e/%00?%", "X: \x00\r\n y\r\nContent-Length : 1", "\xff")
	f.Fuzz(func(t *testing.T, method, path, headers, body string) {
		if strings.ContainsAny(method, " \t\r\n") || strings.ContainsAny(path, " \r\n") || len(path)+len(headers) > 8<<10 {
			t.Skip("another request than it seems")
		}
		headers = strings.ReplaceAll(headers, "KEY", w.Secret)
		raw := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: t\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n\r\n%s", method, path, len(body), headers, body)
		if strings.Contains(strings.ToLower(headers), "transfer-encoding") {
			raw = strings.Replace(raw, fmt.Sprintf("Content-Length: %d\r\n", len(body)), "", 1)
		}
		checkAnswer(t, w, method, raw)
	})
}

// checkAnswer sends a request and looks at the first answer.
func checkAnswer(t *testing.T, w *servertest.Server, method, raw string) {
	t.Helper()
	conn := dial(t, w.URL)
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetLinger(0) // so many connections would use up the ports
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	go func() { _, _ = io.WriteString(conn, raw) }()
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	if response.StatusCode == http.StatusContinue {
		return
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%d, and an answer that breaks off: %v", response.StatusCode, err)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode >= 500 && kind == "application/problem+json":
		t.Fatalf("%d %s", response.StatusCode, answer)
	case method == http.MethodHead:
	case strings.HasSuffix(kind, "json") && !json.Valid(answer):
		t.Fatalf("%d %q is not JSON", response.StatusCode, answer)
	case response.StatusCode >= 400 && kind == "application/problem+json":
		if err := problemFault(response.StatusCode, response.Header, answer); err != nil {
			t.Fatalf("%d %s: %v", response.StatusCode, answer, err)
		}
	case response.StatusCode >= 400 && response.StatusCode != 500: // 500 is a failure in the legacy view
		t.Fatalf("%d %q is no problem", response.StatusCode, answer)
	}
	if response.Header.Get("X-Request-Id") == "" {
		t.Fatalf("%d %v has no request id", response.StatusCode, response.Header)
	}
}
