package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/servertest"
)

// answer is what came back on a raw connection.
type answer struct {
	status int
	header http.Header
	body   []byte
	closes bool // the connection after this answer
}

// sendRaw writes bytes to a new connection as they are and reads answers until
// the server closes it or says nothing for a while.
func sendRaw(t testing.TB, at string, sent ...string) []answer {
	t.Helper()
	conn := dial(t, at)
	defer conn.Close()
	go func() { // the server may answer before it has read everything
		for _, part := range sent {
			if _, err := io.WriteString(conn, part); err != nil {
				return
			}
		}
	}()
	return readAnswers(conn)
}

func readAnswers(conn net.Conn) []answer {
	var list []answer
	reader := bufio.NewReader(conn)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return list
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		list = append(list, answer{response.StatusCode, response.Header, body, response.Close})
		if err != nil {
			return list
		}
	}
}

func dial(t testing.TB, at string) net.Conn {
	t.Helper()
	where, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.DialTimeout("tcp", where.Host, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// problemFault tells what is wrong with an answer that must be a problem.
func problemFault(status int, header http.Header, body []byte) error {
	var told struct {
		Type, Title, RequestID string
		Status                 int
	}
	switch err := json.Unmarshal(body, &told); {
	case header.Get("Content-Type") != "application/problem+json":
		return fmt.Errorf("the content type is %q", header.Get("Content-Type"))
	case err != nil:
		return err
	case told.Status != status || told.Title == "" || !strings.HasPrefix(told.Type, "/problems/"):
		return fmt.Errorf("the problem does not fit the status %d", status)
	case told.RequestID == "" || told.RequestID != header.Get("X-Request-Id"):
		return fmt.Errorf("the request id is %q, in the header %q", told.RequestID, header.Get("X-Request-Id"))
	}
	return nil
}

// alive fails the test unless the next request works.
func alive(t *testing.T, w *servertest.Server) {
	t.Helper()
	status, _, body := w.Do(t, "POST", "/v1/human/tool", "application/json", `{"tool":"Tiny.Run","arguments":{"n":1}}`)
	if status != 200 || !bytes.Contains(body, []byte(`"status":"success"`)) {
		t.Fatalf("the next request: %d %s", status, body)
	}
}

func refused(t *testing.T, what string, want int, status int, header http.Header, body []byte) {
	t.Helper()
	if err := problemFault(status, header, body); status != want || err != nil {
		t.Errorf("%s: %d %.300s, want %d; %v", what, status, body, want, err)
	}
}

func TestWrongMethods(t *testing.T) {
	m := newMatrix(t, nil)
	for _, route := range m.API.Routes() {
		s := m.of(route)
		path, _, _ := strings.Cut(s.path, "?")
		allowed := methodsAt(m.API.Routes(), path)
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "BREW"} {
			if slices.Contains(allowed, method) {
				continue
			}
			status, header, body := m.ask(t, method, s, m.Secret)
			refused(t, method+" "+path, 405, status, header, body)
			told := strings.Split(header.Get("Allow"), ", ")
			slices.Sort(told)
			if !slices.Equal(told, allowed) {
				t.Errorf("%s %s: Allow is %q, want %q", method, path, told, allowed)
			}
		}
	}
	status, header, body := m.ask(t, "BREW", sample{path: "/v1/nowhere"}, m.Secret)
	refused(t, "an unknown method and path", 404, status, header, body)
	alive(t, m.Server)
}

// methodsAt lists the methods that a path has, sorted.
func methodsAt(routes []api.Route, path string) []string {
	var list []string
	for _, route := range routes {
		pattern, parts := strings.Split(route.Path, "/"), strings.Split(path, "/")
		fits := len(pattern) == len(parts)
		for i := 0; fits && i < len(pattern); i++ {
			fits = pattern[i] == parts[i] || strings.HasPrefix(pattern[i], "{") && parts[i] != ""
		}
		if fits {
			list = append(list, route.Method)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// TestBadBodies sends every route that takes JSON what is none, or none that it
// takes.
func TestBadBodies(t *testing.T) {
	m := newMatrix(t, nil)
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	for _, route := range m.API.Routes() {
		if _, ok := route.Doc.RequestTypes["application/json"]; !ok || route.Doc.RequestTypes["*/*"] != "" {
			continue
		}
		s := m.of(route)
		for _, test := range []struct {
			name, kind, body string
			status           int
			pointer          string
		}{
			{"no content type", "", s.body, 415, ""},
			{"form", "application/x-www-form-urlencoded", "a=b", 415, ""},
			{"broken content type", "application/json; charset", s.body, 415, ""},
			{"look-alike", "application/jsonp", s.body, 415, ""},
			{"empty", "application/json", "", 400, ""},
			{"space", "application/json", " \r\n", 400, ""},
			{"not JSON", "application/json", "hello", 400, ""},
			{"broken off", "application/json", `{"tool":"Tiny`, 400, ""},
			{"two documents", "application/json", `{} {}`, 400, ""},
			{"comment", "application/json", `{/* */}`, 400, ""},
			{"byte order mark", "application/json", "\ufeff{}", 400, ""},
			{"not UTF-8", "application/json", "{\"a\":\"\xff\"}", 400, "/a"},
			{"half a surrogate", "application/json", `{"a":"\ud800"}`, 400, "/a"},
			{"zero byte", "application/json", "{}\x00", 400, ""},
			{"deep", "application/json", deep, 400, ""},
			{"deep in a member", "application/json", `{"arguments":` + deep + `}`, 400, ""},
			{"never closed", "application/json", strings.Repeat(`{"a":`, 200_000), 400, ""},
			{"twice", "application/json", `{"a":1,"b":{"c/d":1,"c\/d":2}}`, 400, "/b/c~1d"},
			{"unknown member", "application/json", `{"no/such~member":1}`, 400, "/no~1such~0member"},
			{"array", "application/json", `[]`, 400, ""},
			{"null", "application/json", `null`, 400, ""},
		} {
			status, header, body := m.ask(t, route.Method, sample{path: s.path, kind: test.kind, body: test.body}, m.Secret)
			if route.OperationID == "callCommand" && slices.Contains([]string{"unknown member", "array", "null"}, test.name) {
				if status != 200 || memberOf(t, body, "error", "code") != "INVALID_ARGUMENT" { // arguments are the tool's
					t.Errorf("%s, %s: %d %s", route.Path, test.name, status, body)
				}
				continue
			}
			if test.name == "empty" && status < 300 {
				continue // the route has a body that may be missing
			}
			if len(test.body) > 64<<10 && s.path != "/v1/human/tool" && status == 413 {
				test.status = 413 // it takes no body of that size, deep or not
			}
			refused(t, route.Path+", "+test.name, test.status, status, header, body)
			if pointer := memberOf(t, body, "pointer"); test.pointer != "" && pointer != test.pointer {
				t.Errorf("%s, %s: the pointer is %q, want %q", route.Path, test.name, pointer, test.pointer)
			}
			if len(body) > 4096 {
				t.Errorf("%s, %s: the problem has %d bytes", route.Path, test.name, len(body))
			}
		}
	}
	alive(t, m.Server)
}

// head is the beginning of a raw request of an administrator.
func head(w *servertest.Server, line string, headers ...string) string {
	all := append([]string{line + " HTTP/1.1", "Host: test", "Authorization: Bearer " + w.Secret}, headers...)
	return strings.Join(all, "\r\n") + "\r\n\r\n"
}

func TestBodiesThatAreTooLarge(t *testing.T) {
	m := newMatrix(t, &servertest.Options{Change: func(o *server.Options) { o.API.MaxUploadBytes = 1 << 20 }})
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<20, strings.Repeat(" ", 1<<20))
	for _, route := range m.API.Routes() {
		if len(route.Doc.RequestTypes) == 0 {
			continue
		}
		s := m.of(route)
		kind := "Content-Type: " + s.kind
		chunks := 2
		if s.scope != route.Scope { // calls take 64 MiB
			chunks = 65
		}
		line := route.Method + " " + s.path
		for name, sent := range map[string][]string{
			"by length":  {head(m.Server, line, kind, "Content-Length: 10737418240"), chunk},
			"by chunks":  append([]string{head(m.Server, line, kind, "Transfer-Encoding: chunked")}, slices.Repeat([]string{chunk}, chunks)...),
			"overflow":   {head(m.Server, line, kind, "Content-Length: 99999999999999999999999"), "{"},
			"100 expect": {head(m.Server, line, kind, "Content-Length: 10737418240", "Expect: 100-continue"), chunk},
		} {
			answers := sendRaw(t, m.URL, sent...)
			if len(answers) == 0 {
				// A server that stops reading may reset the connection before its
				// answer was read; it must not have been silent about small ones.
				if name != "by chunks" {
					t.Errorf("%s, %s: no answer", line, name)
				}
				continue
			}
			last := answers[len(answers)-1]
			want := 413
			if name == "overflow" {
				want = 400
			}
			refused(t, line+", "+name, want, last.status, last.header, last.body)
		}
	}
	alive(t, m.Server)
}

// TestStrangersBodiesAreNotRead answers at once, whatever is still to come.
func TestStrangersBodiesAreNotRead(t *testing.T) {
	m := newMatrix(t, nil)
	for _, route := range m.API.Routes() {
		if route.Public || len(route.Doc.RequestTypes) == 0 {
			continue
		}
		s := m.of(route)
		answers := sendRaw(t, m.URL, strings.Join([]string{
			route.Method + " " + s.path + " HTTP/1.1", "Host: test", "Content-Type: " + s.kind, "Content-Length: 10737418240", "", "",
		}, "\r\n"), strings.Repeat(" ", 128<<10))
		if len(answers) != 1 {
			t.Errorf("%s: %d answers", route.Path, len(answers))
			continue
		}
		got := answers[0]
		refused(t, route.Path, 401, got.status, got.header, got.body)
		if !got.closes {
			t.Errorf("%s: the connection stays with a body that nobody read", route.Path)
		}
	}
}

// TestEncodedBodies are refused where they would be read as JSON or text.
func TestEncodedBodies(t *testing.T) {
	m := newMatrix(t, nil)
	for _, kind := range []string{"application/json", "text/plain"} {
		for coding, want := range map[string]int{"gzip": 415, "br, identity": 415, "identity": 200} {
			body := `{"tool":"Tiny.Run"}`
			if kind == "text/plain" {
				body = block("tool_name=Tiny.Run")
			}
			status, header, answer := request(t, m.URL, "POST", "/v1/human/tool", body, map[string]string{
				"Authorization": bearer(m.Secret), "Content-Type": kind, "Content-Encoding": coding,
			})
			if want == 415 {
				refused(t, coding, want, status, header, answer)
			} else if status != want {
				t.Errorf("%s: %d %s", coding, status, answer)
			}
		}
	}
}

func TestPathsThatLeadNowhere(t *testing.T) {
	w := servertest.Start(t, nil)
	for _, path := range []string{
		"/..", "/../../etc/passwd", "/v1/results/..", "/v1/results/../tools", "/v1/results/%2e%2e%2f%2e%2e%2fhealthz",
		"/v1/results/..%2f..%2f..%2fetc%2fpasswd", "/v1/resources/%2e%2e", "/v1/results/%00", "/v1/results/tr_%00", "/v1/resources/a%00b",
		"/v1/results/%252e%252e%252f", "/v1/results/%zz", "/v1/results/%", "/v1/results/%ff%fe", "/v1/tools/%0d%0aX-Evil:%20yes",
		"//healthz", "/healthz/", "/HEALTHZ", "/v1", "/", "/v1/results/", "/v1/tools/Tiny/", "/v1/results/" + strings.Repeat("a", 3000),
		"/v1/local/process", "/v1/local/plugins", "/v1/results/*", "/v1/results/:id", `/v1/results/..\..\x`, "/v1/results/a;b=c",
	} {
		answers := sendRaw(t, w.URL, head(w, "GET "+path, "Connection: close"))
		if len(answers) != 1 {
			t.Errorf("%.60s: %d answers", path, len(answers))
			continue
		}
		got := answers[0]
		refused(t, path, 404, got.status, got.header, got.body)
		if got.header.Get("X-Evil") != "" {
			t.Errorf("%q sets a header", path)
		}
	}
	alive(t, w)
}

// malformed is a request that no client library would send.
type malformed struct {
	name, sent string
	statuses   []int // of the only answer; 0 is none
}

func malformedRequests(w *servertest.Server) []malformed {
	const call = `{"tool":"Tiny.Run","arguments":{"n":1}}`
	post := func(headers ...string) string {
		return head(w, "POST /v1/human/tool", append([]string{"Content-Type: application/json"}, headers...)...)
	}
	hidden := head(w, "GET /v1/plugins", "Connection: close")
	return []malformed{
		{"two lengths", post("Content-Length: 39", "Content-Length: 1") + call + hidden, []int{400}},
		{"two lengths, the second longer", post("Content-Length: 1", "Content-Length: 39") + call + hidden, []int{400}},
		{"a list of lengths", post("Content-Length: 39, 39") + call + hidden, []int{400}},
		{"a negative length", post("Content-Length: -1") + call + hidden, []int{400}},
		{"a length with a sign", post("Content-Length: +39") + call + hidden, []int{400}},
		{"a length in hex", post("Content-Length: 0x27") + call + hidden, []int{400}},
		{"length and chunked", post("Content-Length: 4", "Transfer-Encoding: chunked") + "27\r\n" + call + "\r\n0\r\n\r\n" + hidden, []int{200, 400}},
		{"a coding that there is not", post("Transfer-Encoding: xchunked", "Content-Length: 39") + call + hidden, []int{400, 501}},
		{"chunked twice", post("Transfer-Encoding: chunked, chunked") + "27\r\n" + call + "\r\n0\r\n\r\n" + hidden, []int{400, 501}},
		{"chunks of garbage", post("Transfer-Encoding: chunked") + "zz\r\n" + call + "\r\n0\r\n\r\n" + hidden, []int{400}},
		{"a negative chunk", post("Transfer-Encoding: chunked") + "-27\r\n" + call + "\r\n0\r\n\r\n" + hidden, []int{400}},
		{"an enormous chunk", post("Transfer-Encoding: chunked") + "ffffffffffffffffffff\r\n" + call + "\r\n0\r\n\r\n" + hidden, []int{400}},
		{"a chunk too short", post("Transfer-Encoding: chunked") + "2\r\n" + call + "\r\n0\r\n\r\n" + hidden, []int{400}},
		{"a chunk broken off", post("Transfer-Encoding: chunked") + "27\r\n" + call[:10], []int{400, 408}},
		{"a body broken off", post("Content-Length: 39") + call[:10], []int{400, 408}},
		{"half a head", "POST /v1/human/tool HTTP/1.1\r\nHost: t", []int{408, 0}},
		{"half a line", "POST /v1/hu", []int{408, 0}},
		{"no line", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400}},
		{"random bytes", "\x00\xff\x80\x7f\r\n\r\n", []int{400}},
		{"no version", "GET /healthz\r\n\r\n", []int{400}},
		{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{400, 405, 404, 505}},
		{"a head too long", head(w, "GET /healthz", "X: "+strings.Repeat("x", 64<<10)), []int{431}},
		{"a URL too long", head(w, "GET /healthz?"+strings.Repeat("x", 64<<10)), []int{431, 414}},
		{"too many fields", head(w, "GET /healthz", slices.Repeat([]string{"X: y"}, 10_000)...), []int{431}},
		{"a field without a colon", head(w, "GET /healthz", "nonsense"), []int{400}},
		{"space before a colon", head(w, "GET /healthz", "Content-Length : 5") + "hello" + hidden, []int{400}},
		{"a bare CR in a field", head(w, "GET /v1/nowhere", "X-Request-Id: a\rSet-Cookie: b", "Connection: close"), []int{400}},
		{"a zero byte in a field", head(w, "GET /v1/nowhere", "X-Request-Id: a\x00b", "Connection: close"), []int{400}},
		{"a folded field", head(w, "GET /v1/nowhere", "X-Request-Id: a", " Set-Cookie: b", "Connection: close"), []int{400, 404}},
		{"an encoded CRLF in a field", head(w, "GET /v1/nowhere", "X-Request-Id: a%0d%0aSet-Cookie:b", "Connection: close"), []int{404}},
		{"a tab in the id", head(w, "GET /v1/nowhere", "X-Request-Id: a\tb", "Connection: close"), []int{404}},
		{"an id that is too long", head(w, "GET /v1/nowhere", "X-Request-Id: "+strings.Repeat("i", 129), "Connection: close"), []int{404}},
	}
}

func TestMalformedRequests(t *testing.T) {
	w := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) { o.ReadTimeout = time.Second }})
	for _, test := range malformedRequests(w) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			answers := sendRaw(t, w.URL, test.sent)
			if len(answers) == 0 && slices.Contains(test.statuses, 0) {
				return
			}
			if len(answers) != 1 || !slices.Contains(test.statuses, answers[0].status) {
				t.Fatalf("%d answers: %.600q, want one of %v", len(answers), fmt.Sprint(answers), test.statuses)
			}
			got := answers[0]
			if err := problemFault(got.status, got.header, got.body); err != nil && got.status != 200 {
				t.Errorf("%d %s: %v", got.status, got.body, err)
			}
			if got.header.Get("Set-Cookie") != "" || len(got.header.Get("X-Request-Id")) > 128 {
				t.Errorf("the headers are %v", got.header)
			}
			alive(t, w)
		})
	}
}

// TestAConnectionGoesOn sends several requests in one piece.
func TestAConnectionGoesOn(t *testing.T) {
	w := servertest.Start(t, nil)
	const call = `{"tool":"Tiny.Run","arguments":{"n":1}}`
	length := fmt.Sprint("Content-Length: ", len(call))
	kind := "Content-Type: application/json"
	answers := sendRaw(t, w.URL,
		head(w, "POST /v1/human/tool", kind, length)+call+
			head(w, "POST /v1/nowhere", kind, length)+call+ // a body that nobody takes
			head(w, "GET /v1/tools", kind, length)+call+ // nor here
			head(w, "PUT /v1/tools", kind, length)+call+
			head(w, "POST /v1/human/tool", "Content-Type: image/png", length)+call+
			head(w, "POST /v1/human/tool", kind, "Transfer-Encoding: chunked")+"27\r\n"+call+"\r\n0\r\n\r\n"+
			head(w, "GET /healthz", "Connection: close"))
	var statuses []int
	for _, got := range answers {
		statuses = append(statuses, got.status)
	}
	if want := []int{200, 404, 200, 405, 415, 200, 200}; !slices.Equal(statuses, want) {
		t.Errorf("got %v, want %v", statuses, want)
	}
}
