package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/server"
	"vcphost/server/identity"
	"vcphost/server/servertest"
)

// answer is what came back, its body read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func ask(t *testing.T, method, target string, header http.Header, body io.Reader) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header.Clone()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: read: %v", method, target, err)
	}
	return answer{response.StatusCode, response.Header, read}
}

// with gives headers of name and value pairs, and the key.
func with(s *servertest.Server, pairs ...string) http.Header {
	header := http.Header{"Accept-Encoding": {"identity"}}
	if s != nil && s.Secret != "" {
		header.Set("Authorization", "Bearer "+s.Secret)
	}
	for i := 0; i < len(pairs); i += 2 {
		header.Add(pairs[i], pairs[i+1])
	}
	return header
}

// put uploads a body and gives its descriptor.
func put(t *testing.T, s *servertest.Server, body []byte, pairs ...string) abi.Resource {
	t.Helper()
	got := ask(t, "POST", s.URL+"/v1/resources", with(s, pairs...), bytes.NewReader(body))
	var resource abi.Resource
	if err := json.Unmarshal(got.body, &resource); err != nil || got.status != 201 {
		t.Fatalf("upload: %d %s", got.status, got.body)
	}
	if location := got.header.Get("Location"); location != "/v1/resources/"+resource.ID {
		t.Errorf("Location: got %q", location)
	}
	return resource
}

// sample gives bytes that differ everywhere.
func sample(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// oracle serves the same bytes as a resource by the standard library.
func oracle(t *testing.T, resource abi.Resource, content []byte) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", resource.MIMEType)
		w.Header().Set("ETag", `"`+resource.SHA256+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// parts gives a multipart/byteranges body without its boundary.
func parts(t *testing.T, a answer) string {
	t.Helper()
	kind, parameters, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || kind != "multipart/byteranges" {
		return string(a.body)
	}
	var out strings.Builder
	for reader := multipart.NewReader(bytes.NewReader(a.body), parameters["boundary"]); ; {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return out.String()
		}
		if err != nil {
			t.Fatalf("multipart: %v", err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatalf("multipart: %v", err)
		}
		fmt.Fprintf(&out, "%v %x\n", part.Header, content)
	}
}

func TestDownloadsAreThoseOfTheStandardLibrary(t *testing.T) {
	s := servertest.Start(t, nil)
	for _, size := range []int{0, 1, 10, 300_000, 1<<20 + 1} {
		content := sample(size)
		resource := put(t, s, content)
		ours, theirs := s.URL+"/v1/resources/"+resource.ID, oracle(t, resource, content)
		tag := `"` + resource.SHA256 + `"`
		for _, test := range []struct {
			name, method string
			headers      []string
		}{
			{"all", "GET", nil},
			{"head", "HEAD", nil},
			{"first byte", "GET", []string{"Range", "bytes=0-0"}},
			{"closed", "GET", []string{"Range", "bytes=2-5"}},
			{"over a chunk's end", "GET", []string{"Range", "bytes=1048570-1048580"}},
			{"open", "GET", []string{"Range", "bytes=4-"}},
			{"suffix", "GET", []string{"Range", "bytes=-3"}},
			{"longer suffix than there is", "GET", []string{"Range", "bytes=-99999999"}},
			{"end after the end", "GET", []string{"Range", "bytes=0-99999999"}},
			{"after the end", "GET", []string{"Range", "bytes=2000000-"}},
			{"several", "GET", []string{"Range", "bytes=0-1,4-5,-2"}},
			{"several, large", "GET", []string{"Range", "bytes=0-199999,250000-1048570"}},
			{"several, over a chunk's end", "GET", []string{"Range", "bytes=5-5,300000-1048576"}},
			{"several, descending", "GET", []string{"Range", "bytes=8-8, 4-5, 0-0"}},
			{"several, one after the end", "GET", []string{"Range", "bytes=0-0,2000000-"}},
			{"malformed", "GET", []string{"Range", "bytes=5-2"}},
			{"no numbers", "GET", []string{"Range", "bytes=a-b"}},
			{"none match", "GET", []string{"If-None-Match", tag}},
			{"none match, weak in a list", "GET", []string{"If-None-Match", `"x", W/` + tag}},
			{"none match, any", "HEAD", []string{"If-None-Match", "*"}},
			{"none match, others", "GET", []string{"If-None-Match", `"x"`}},
			{"none match before range", "GET", []string{"If-None-Match", tag, "Range", "bytes=0-0"}},
			{"match", "GET", []string{"If-Match", tag, "Range", "bytes=0-0"}},
			{"no match", "GET", []string{"If-Match", `"x"`}},
			{"no match before none match", "GET", []string{"If-Match", `"x"`, "If-None-Match", tag}},
			{"if range", "GET", []string{"If-Range", tag, "Range", "bytes=1-2"}},
			{"if range of others", "GET", []string{"If-Range", `"x"`, "Range", "bytes=1-2"}},
			{"if range, weak", "GET", []string{"If-Range", "W/" + tag, "Range", "bytes=1-2"}},
			{"if range, date", "GET", []string{"If-Range", "Tue, 15 Nov 1994 12:45:26 GMT", "Range", "bytes=1-2"}},
			{"modified since counts for nothing", "GET", []string{"If-Modified-Since", "Tue, 15 Nov 2094 12:45:26 GMT"}},
		} {
			// Of nothing, the standard library gives a suffix, with a Content-Range
			// that is none, and refuses some ranges; and it never merges. There is
			// nothing to compare with; package httprange has tests of its own.
			if header := strings.Join(test.headers, ""); size == 0 && strings.HasPrefix(header, "Range") || size < 10 && strings.Contains(header, ",-") {
				continue
			}
			t.Run(fmt.Sprintf("%d bytes/%s", size, test.name), func(t *testing.T) {
				got := ask(t, test.method, ours, with(s, test.headers...), nil)
				want := ask(t, test.method, theirs, with(nil, test.headers...), nil)
				if got.status != want.status {
					t.Fatalf("status: got %d, want %d", got.status, want.status)
				}
				if got.status >= 400 {
					if kind := got.header.Get("Content-Type"); kind != "application/problem+json" || got.header.Get("Cache-Control") != "" {
						t.Errorf("a refusal of type %q, kept as %q", kind, got.header.Get("Cache-Control"))
					}
					if have := got.header.Get("Content-Range"); got.status == 416 && have != fmt.Sprintf("bytes */%d", size) {
						t.Errorf("Content-Range: got %q", have)
					}
					return
				}
				if parts(t, got) != parts(t, want) {
					t.Errorf("body: got %d bytes, want %d", len(got.body), len(want.body))
				}
				names := []string{"Content-Length", "Content-Range", "Accept-Ranges", "Etag", "Content-Type"}
				if strings.HasPrefix(want.header.Get("Content-Type"), "multipart/") {
					names = names[1:4] // another boundary, of another length
				}
				if got.status == 304 {
					names = []string{"Etag"}
				}
				for _, name := range names {
					if have, want := got.header.Get(name), want.header.Get(name); have != want {
						t.Errorf("%s: got %q, want %q", name, have, want)
					}
				}
			})
		}
	}
}

func TestRangesWhereTheStandardLibraryIsTaken(t *testing.T) {
	s := servertest.Start(t, nil)
	resource := put(t, s, sample(100))
	many := strings.TrimSuffix(strings.Repeat("0-0,", 65), ",")
	for _, test := range []struct {
		name, method, header string
		status               int
		contentRange         string
		length               int
	}{
		{"overlapping ones are merged", "GET", "bytes=0-59,40-99", 206, "bytes 0-99/100", 100},
		{"the same ten times", "GET", "bytes=" + strings.TrimSuffix(strings.Repeat("5-9,", 10), ","), 206, "bytes 5-9/100", 5},
		{"too many", "GET", "bytes=" + many, 200, "", 100},
		{"another unit", "GET", "lines=1-2", 200, "", 100},
		{"a suffix of nothing", "GET", "bytes=-0", 416, "bytes */100", 0},
		{"numbers over an int64", "GET", "bytes=90-99999999999999999999", 206, "bytes 90-99/100", 10},
		{"HEAD has none", "HEAD", "bytes=0-1", 200, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ask(t, test.method, s.URL+"/v1/resources/"+resource.ID, with(s, "Range", test.header), nil)
			if got.status != test.status || got.header.Get("Content-Range") != test.contentRange || got.status < 400 && len(got.body) != test.length {
				t.Errorf("got %d %q and %d bytes", got.status, got.header.Get("Content-Range"), len(got.body))
			}
		})
	}
}

func TestHeadersOfDownloads(t *testing.T) {
	s := servertest.Start(t, nil)
	const none = ""
	for _, test := range []struct {
		name, kind, file, body  string
		disposition, policy, ct string
	}{
		{"a text", "text/plain", "a.txt", "hello", `inline; filename="a.txt"`, none, "text/plain"},
		{"a page", "text/html", "a.html", "<!DOCTYPE html><script>1</script>", `attachment; filename="a.html"`, "sandbox", "text/html"},
		{"a drawing", "image/svg+xml", "a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>", `attachment; filename="a.svg"`, "sandbox", "image/svg+xml"},
		{"a PDF", "application/pdf", "a.pdf", "%PDF-1.7\n", `attachment; filename="a.pdf"`, "sandbox", "application/pdf"},
		{"a page that says it is text", "text/plain", "a.txt", "<!DOCTYPE html><script>1</script>", `attachment; filename="a.txt"`, "sandbox", "text/html"},
		{"a name in Chinese", "text/plain", "报告 100%.txt", "x", `inline; filename="__ 100_.txt"; filename*=UTF-8''%E6%8A%A5%E5%91%8A%20100%25.txt`, none, "text/plain"},
	} {
		t.Run(test.name, func(t *testing.T) {
			resource := put(t, s, []byte(test.body), "Content-Type", test.kind,
				"Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": test.file}))
			got := ask(t, "GET", s.URL+"/v1/resources/"+resource.ID, with(s), nil)
			for name, want := range map[string]string{
				"Content-Disposition": test.disposition, "Content-Security-Policy": test.policy, "X-Content-Type-Options": "nosniff",
				"Cache-Control": "private, max-age=31536000, immutable", "Accept-Ranges": "bytes", "Vary": "Authorization",
			} {
				if have := got.header.Get(name); have != want {
					t.Errorf("%s: got %q, want %q", name, have, want)
				}
			}
			if kind, _, _ := mime.ParseMediaType(got.header.Get("Content-Type")); kind != test.ct || string(got.body) != test.body {
				t.Errorf("got %q %q", got.header.Get("Content-Type"), got.body)
			}
			_, parameters, err := mime.ParseMediaType(got.header.Get("Content-Disposition"))
			if err != nil || parameters["filename"] != resource.FileName {
				t.Errorf("a client reads the name %q, %v; want %q", parameters["filename"], err, resource.FileName)
			}
			described := ask(t, "GET", s.URL+"/v1/resources/"+resource.ID+"/descriptor", with(s), nil)
			want, _ := abi.Encode(resource)
			if described.status != 200 || !bytes.Equal(described.body, want) {
				t.Errorf("descriptor: got %d %s, want %s", described.status, described.body, want)
			}
		})
	}
}

func TestSignedURLs(t *testing.T) {
	now := time.Now()
	s := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) {
		o.API.Now = func() time.Time { return now }
		db := kv.NewMemory()
		t.Cleanup(func() { db.Close() })
		store, err := resources.Open(db, &resources.Options{BaseURL: "https://vcp.example/v1/resources"})
		if err != nil {
			t.Fatal(err)
		}
		o.API.Resources = store
	}})
	resource, other := put(t, s, []byte("secret")), put(t, s, []byte("other"))
	if resource.URL == nil || *resource.URL != "https://vcp.example/v1/resources/"+resource.ID {
		t.Errorf("the descriptor's URL: got %v", resource.URL)
	}
	sign := func(body string) answer {
		return ask(t, "POST", s.URL+"/v1/resources/"+resource.ID+"/url", with(s, "Content-Type", "application/json"), strings.NewReader(body))
	}
	signed := sign(`{"expiresInSeconds":60}`)
	var told struct {
		URL    string
		Access struct {
			Type         string
			ExpiresAt    time.Time
			RequiresAuth *bool
		}
	}
	if err := json.Unmarshal(signed.body, &told); err != nil || signed.status != 200 {
		t.Fatalf("got %d %s", signed.status, signed.body)
	}
	if told.Access.Type != "ephemeral" || told.Access.RequiresAuth == nil || *told.Access.RequiresAuth || told.Access.ExpiresAt.Unix() != now.Add(time.Minute).Unix() {
		t.Errorf("access: got %s", signed.body)
	}
	at, err := url.Parse(told.URL)
	if err != nil || at.Host != "vcp.example" || at.Path != "/v1/resources/"+resource.ID {
		t.Fatalf("URL: got %q", told.URL)
	}
	query := "?" + at.RawQuery
	nobody := s.As("")
	open := func(method, path string) int { return ask(t, method, s.URL+path, with(nobody), nil).status }
	mine := "/v1/resources/" + resource.ID
	for _, test := range []struct {
		name, method, path string
		want               int
	}{
		{"opens", "GET", mine + query, 200},
		{"HEAD too", "HEAD", mine + query, 200},
		{"not without it", "GET", mine, 401},
		{"not another resource", "GET", "/v1/resources/" + other.ID + query, 403},
		{"not the descriptor", "GET", mine + "/descriptor" + query, 401},
		{"not a result", "GET", "/v1/results/" + resource.ID + query, 401},
		{"not an upload", "POST", "/v1/resources" + query, 401},
		{"not for longer", "GET", mine + strings.Replace(query, "expires=1", "expires=9", 1), 403},
		{"not without expiry", "GET", mine + "?signature=" + at.Query().Get("signature"), 403},
		{"not with two", "GET", mine + "?signature=x&" + at.RawQuery, 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := open(test.method, test.path); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
	got := ask(t, "GET", s.URL+mine+query, with(nobody, "Range", "bytes=0-1"), nil)
	if got.status != 206 || string(got.body) != "se" || got.header.Get("Cache-Control") != "private, max-age=60, immutable" {
		t.Errorf("got %d %q %q", got.status, got.body, got.header.Get("Cache-Control"))
	}
	for body, want := range map[string]int{
		"": 200, `{}`: 200, `{"expiresInSeconds":0}`: 400, `{"expiresInSeconds":1e3}`: 400, `{"expiresInSeconds":604801}`: 400,
		`{"expires":1}`: 400, `[]`: 400, `{`: 400, strings.Repeat(" ", 5000): 413,
	} {
		if got := sign(body); got.status != want {
			t.Errorf("%.30q: got %d %s, want %d", body, got.status, got.body, want)
		}
	}
	now = now.Add(61 * time.Second)
	if got := open("GET", mine+query); got != 403 {
		t.Errorf("after it expired: got %d", got)
	}
}

func TestAnUploadIsAnArgument(t *testing.T) {
	s := servertest.Start(t, nil)
	resource := put(t, s, []byte("a,b\n"))
	stranger := s.As(s.Key(t, identity.KeySpec{Tenant: "other", Actor: "eve", Scopes: identity.Scopes{"tools:call:*"}}))
	for _, test := range []struct {
		name   string
		as     *servertest.Server
		id     string
		status abi.Status
	}{
		{"its owner", s, resource.ID, abi.StatusSuccess},
		{"somebody else", stranger, resource.ID, abi.StatusError},
		{"nobody's", s, "res_01JDZ3V7Q8K5M2N4P6R8T0W2Y4", abi.StatusError},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := `{"tool":"Tiny.Other","arguments":{"file":{"$resource":"` + test.id + `"}}}`
			got := ask(t, "POST", s.URL+"/v1/human/tool", with(test.as, "Content-Type", "application/json"), strings.NewReader(body))
			var result abi.Result
			if err := json.Unmarshal(got.body, &result); err != nil || got.status != 200 || result.Status != test.status {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			if test.status == abi.StatusError && result.Error.Code != abi.CodeFileNotFound {
				t.Errorf("got %s", result.Error.Code)
			}
		})
	}
}
