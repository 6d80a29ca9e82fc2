package api_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/server"
	"vcphost/server/servertest"
)

// uploads is a server whose resources alone are in a database.
type uploads struct {
	*servertest.Server
	db kv.DB
}

func startUploads(t *testing.T, change func(*server.Options)) uploads {
	t.Helper()
	u := uploads{db: kv.NewMemory()}
	store, err := resources.Open(u.db, nil)
	if err != nil {
		t.Fatal(err)
	}
	u.Server = servertest.Start(t, &servertest.Options{Change: func(o *server.Options) {
		o.API.Resources, o.API.MaxUploadBytes = store, 3<<20
		if change != nil {
			change(o)
		}
	}})
	return u
}

// rows counts all that is stored.
func (u uploads) rows(t *testing.T) int {
	t.Helper()
	n := 0
	if err := u.db.Scan(nil, func(_, _ []byte) bool { n++; return true }); err != nil {
		t.Fatal(err)
	}
	return n
}

func sum256(b []byte) string {
	sum := sha256.Sum256(b)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func sum512(b []byte) string {
	sum := sha512.Sum512(b)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// form writes parts, each the headers of one and its content, between the
// boundary b.
func form(parts ...string) string {
	var out strings.Builder
	for i := 0; i < len(parts); i += 2 {
		fmt.Fprintf(&out, "--b\r\n%s\r\n\r\n%s\r\n", parts[i], parts[i+1])
	}
	return out.String() + "--b--\r\n"
}

const (
	formType   = "multipart/form-data; boundary=b"
	filePart   = `Content-Disposition: form-data; name="file"; filename="a.csv"`
	fieldPart  = `Content-Disposition: form-data; name="note"`
	secondPart = `Content-Disposition: form-data; name="more"; filename="b.csv"`
)

func TestUploads(t *testing.T) {
	u := startUploads(t, nil)
	csv := "a,b\n1,2\n"
	long := string(sample(3 << 20))
	whole := form(fieldPart, "x", filePart, csv, fieldPart, "y")
	for _, test := range []struct {
		name, query, body string
		headers           []string
		want              string // the stored bytes
		file, kind        string
	}{
		{"raw", "", csv, []string{"Content-Type", "text/csv", "Content-Disposition", `attachment; filename="a.csv"`}, csv, "a.csv", "text/csv"},
		{"nothing", "", "", nil, "", "", ""},
		{"as long as allowed", "", long, nil, long, "", "application/octet-stream"},
		{"a name of RFC 8187", "", csv, []string{"Content-Disposition", "attachment; filename*=UTF-8''%E6%8A%A5.csv"}, csv, "报.csv", "text/csv"},
		{"a name with a path", "", csv, []string{"Content-Disposition", `attachment; filename="../../etc/a.csv"`}, csv, "a.csv", "text/csv"},
		{"the type that curl sends", "", "plain", []string{"Content-Type", "application/x-www-form-urlencoded"}, "plain", "", "text/plain"},
		{"a form", "", form(filePart+"\r\nContent-Type: text/csv", csv), []string{"Content-Type", formType}, csv, "a.csv", "text/csv"},
		{"a form with fields around", "", whole, []string{"Content-Type", formType}, csv, "a.csv", "text/csv"},
		{"a form without its last line break", "", strings.TrimSuffix(whole, "\r\n"), []string{"Content-Type", formType}, csv, "a.csv", "text/csv"},
		{"a form with text around", "", "hello\r\n" + whole + "bye", []string{"Content-Type", formType}, csv, "a.csv", "text/csv"},
		{"a form with an empty file", "", form(filePart, ""), []string{"Content-Type", formType}, "", "a.csv", ""},
		{"a form as long as allowed", "", form(filePart, long), []string{"Content-Type", formType}, long, "a.csv", ""},
		{"kind and role", "?kind=document&role=attachment", csv, nil, csv, "", ""},
		{"Content-Digest", "", csv, []string{"Content-Digest", "sha-256=:" + sum256([]byte(csv)) + ":"}, csv, "", ""},
		{"Repr-Digest among others", "", csv, []string{"Repr-Digest", "md5=:x:, SHA-512=:" + sum512([]byte(csv)) + ":;q=1"}, csv, "", ""},
		{"Digest", "", csv, []string{"Digest", "SHA-256=" + sum256([]byte(csv))}, csv, "", ""},
		{"two lines", "", csv, []string{"Content-Digest", "sha-256=:" + sum256([]byte(csv)) + ":", "Content-Digest", "sha-512=:" + sum512([]byte(csv)) + ":"}, csv, "", ""},
		{"digest of the whole form and of the part", "", form(filePart+"\r\nContent-Digest: sha-256=:"+sum256([]byte(csv))+":", csv),
			[]string{"Content-Type", formType, "Content-Digest", "sha-256=:" + sum256([]byte(form(filePart+"\r\nContent-Digest: sha-256=:"+sum256([]byte(csv))+":", csv))) + ":"}, csv, "", ""},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/chunked=%v", test.name, chunked), func(t *testing.T) {
				body := io.Reader(strings.NewReader(test.body))
				if chunked {
					body = struct{ io.Reader }{body}
				}
				got := ask(t, "POST", u.URL+"/v1/resources"+test.query, with(u.Server, test.headers...), body)
				var resource abi.Resource
				if err := json.Unmarshal(got.body, &resource); err != nil || got.status != 201 {
					t.Fatalf("got %d %s", got.status, got.body)
				}
				if test.file != "" && resource.FileName != test.file || test.kind != "" && resource.MIMEType != test.kind {
					t.Errorf("got %q of %q, want %q of %q", resource.FileName, resource.MIMEType, test.file, test.kind)
				}
				if test.query != "" && (resource.Kind != "document" || resource.Role != "attachment") {
					t.Errorf("got kind %q and role %q", resource.Kind, resource.Role)
				}
				if resource.Source.Type != abi.SourceUpload {
					t.Errorf("source: got %q", resource.Source.Type)
				}
				stored := ask(t, "GET", u.URL+"/v1/resources/"+resource.ID, with(u.Server), nil)
				if string(stored.body) != test.want {
					t.Errorf("got %d bytes, want %d", len(stored.body), len(test.want))
				}
			})
		}
	}
}

func TestUploadsThatAreRefusedLeaveNothing(t *testing.T) {
	u := startUploads(t, nil)
	long := string(sample(3<<20 + 1))
	wrong := sum256([]byte("other"))
	right := sum256([]byte("x"))
	for _, test := range []struct {
		name, query, body string
		headers           []string
		status            int
		detail            string // a part of it
	}{
		{"too long", "", long, nil, 413, "3145728"},
		{"a form too long", "", form(filePart, long), []string{"Content-Type", formType}, 413, ""},
		{"a form with too much around", "", form(fieldPart, strings.Repeat("x", 100<<10), filePart, string(sample(3<<20))), []string{"Content-Type", formType}, 413, ""},
		{"Content-Digest of others", "", "x", []string{"Content-Digest", "sha-256=:" + wrong + ":"}, 400, "Content-Digest"},
		{"Repr-Digest of others", "", "x", []string{"Repr-Digest", "sha-256=:" + wrong + ":"}, 400, "Repr-Digest"},
		{"Digest of others", "", "x", []string{"Digest", "sha-256=" + wrong}, 400, "Digest"},
		{"one right and one wrong", "", "x", []string{"Content-Digest", "sha-256=:" + right + ":", "Digest", "sha-256=" + wrong}, 400, "Digest"},
		{"digest of others, long", "", string(sample(3 << 20)), []string{"Digest", "sha-256=" + wrong}, 400, "Digest"},
		{"digest of a part of others", "", form(filePart+"\r\nContent-Digest: sha-256=:"+wrong+":", "x"), []string{"Content-Type", formType}, 400, "Content-Digest"},
		{"digest of the file for the whole form", "", form(filePart, "x"), []string{"Content-Type", formType, "Content-Digest", "sha-256=:" + right + ":"}, 400, "Content-Digest"},
		{"a digest without colons", "", "x", []string{"Content-Digest", "sha-256=" + right}, 400, "colons"},
		{"a short digest", "", "x", []string{"Content-Digest", "sha-256=:AAAA:"}, 400, "32 bytes"},
		{"a digest that is no base64", "", "x", []string{"Digest", "sha-256=!"}, 400, "32 bytes"},
		{"a digest without a value", "", "x", []string{"Digest", "sha-256"}, 400, "no digest"},
		{"only digests that are not known", "", "x", []string{"Digest", "md5=AAAA"}, 400, "sha-256"},
		{"a malformed type", "", "x", []string{"Content-Type", "text"}, 400, "Content-Type"},
		{"a malformed disposition", "", "x", []string{"Content-Disposition", `attachment; filename="a`}, 400, "Content-Disposition"},
		{"a coding", "", "x", []string{"Content-Encoding", "gzip"}, 415, "gzip"},
		{"an unknown kind", "?kind=picture", "x", nil, 400, "kind"},
		{"an unknown role", "?role=boss", "x", nil, 400, "role"},
		{"a directory", "?kind=directory", "x", nil, 400, "director"},
		{"a form without boundary", "", "x", []string{"Content-Type", "multipart/form-data"}, 400, "boundary"},
		{"a form without parts", "", "--b--\r\n", []string{"Content-Type", formType}, 400, "no part"},
		{"a form without a file", "", form(fieldPart, "x"), []string{"Content-Type", formType}, 400, "no part"},
		{"a form with two files", "", form(filePart, "x", secondPart, "y"), []string{"Content-Type", formType}, 400, "one by one"},
		{"a form that is none", "", "hello", []string{"Content-Type", formType}, 400, ""},
		{"nothing as a form", "", "", []string{"Content-Type", formType}, 400, ""},
		{"a form that ends in its file", "", "--b\r\n" + filePart + "\r\n\r\nx,y", []string{"Content-Type", formType}, 400, "breaks off"},
		{"a form that ends after its file", "", "--b\r\n" + filePart + "\r\n\r\nx,y\r\n--b\r\n", []string{"Content-Type", formType}, 400, ""},
		{"a form of many parts", "", form(strings.Split(strings.Repeat(fieldPart+"|x|", 65), "|")[:130]...), []string{"Content-Type", formType}, 400, "parts"},
		{"a part with a malformed type", "", form(filePart+"\r\nContent-Type: /", "x"), []string{"Content-Type", formType}, 400, "Content-Type"},
		{"a part with malformed headers", "", "--b\r\nnothing\r\n\r\nx\r\n--b--\r\n", []string{"Content-Type", formType}, 400, ""},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/chunked=%v", test.name, chunked), func(t *testing.T) {
				body := io.Reader(strings.NewReader(test.body))
				if chunked {
					body = struct{ io.Reader }{body}
				}
				got := ask(t, "POST", u.URL+"/v1/resources"+test.query, with(u.Server, test.headers...), body)
				if got.status != test.status || got.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(string(got.body), test.detail) {
					t.Errorf("got %d %s, want %d with %q", got.status, got.body, test.status, test.detail)
				}
				if n := u.rows(t); n != 0 {
					t.Errorf("%d rows are left", n)
				}
			})
		}
	}
	put(t, u.Server, []byte("the next request works"))
}

// dial opens a connection and writes to it.
func (u uploads) dial(t *testing.T, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(u.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

func (u uploads) head(framing string) string {
	return "POST /v1/resources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + u.Secret + "\r\n" + framing + "\r\n\r\n"
}

func readStatus(t *testing.T, conn net.Conn) int {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// settle waits for what a request left to be gone, and gives what stays.
func (u uploads) settle(t *testing.T) int {
	t.Helper()
	n := u.rows(t)
	for deadline := time.Now().Add(3 * time.Second); n > 0 && time.Now().Before(deadline); n = u.rows(t) {
		time.Sleep(10 * time.Millisecond)
	}
	return n
}

func TestATooLongUploadIsRefusedBeforeItComes(t *testing.T) {
	u := startUploads(t, nil)
	for name, length := range map[string]string{"one too many": "3145729", "4 TiB": "4398046511104"} {
		t.Run(name, func(t *testing.T) {
			if got := readStatus(t, u.dial(t, u.head("Content-Length: "+length)+strings.Repeat("x", 8<<10))); got != 413 {
				t.Errorf("got %d, want 413", got)
			}
		})
	}
}

func TestAnUploadThatBreaksOffLeavesNothing(t *testing.T) {
	u := startUploads(t, nil)
	piece := string(sample(2 << 20))
	for _, test := range []struct{ name, text string }{
		{"with a length, in the beginning", u.head("Content-Length: 3000000") + "x"},
		{"with a length, after chunks were stored", u.head("Content-Length: 3000000") + piece},
		{"chunked, in a chunk", u.head("Transfer-Encoding: chunked") + "300000\r\n" + piece},
		{"chunked, between chunks", u.head("Transfer-Encoding: chunked") + "200000\r\n" + piece + "\r\n"},
		{"chunked, in the last chunk", u.head("Transfer-Encoding: chunked") + "1\r\nx\r\n0\r\n"},
		{"chunked, malformed", u.head("Transfer-Encoding: chunked") + "1\r\nx\r\nxyz\r\n"},
		{"a form", u.head("Content-Type: "+formType+"\r\nContent-Length: 3000000") + "--b\r\n" + filePart + "\r\n\r\n" + piece},
	} {
		for _, half := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/half closed=%v", test.name, half), func(t *testing.T) {
				conn := u.dial(t, test.text)
				if !half {
					conn.Close()
				} else {
					if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
						t.Fatal(err)
					}
					if got, err := io.ReadAll(conn); err == nil && len(got) > 0 && !bytes.HasPrefix(got, []byte("HTTP/1.1 400 ")) {
						t.Errorf("got %.80q", got)
					}
				}
				if n := u.settle(t); n != 0 {
					t.Errorf("%d rows are left", n)
				}
			})
		}
	}
}

func TestUploadsThatStandStillAreLeftAndSlowOnesAreNot(t *testing.T) {
	u := startUploads(t, func(o *server.Options) {
		o.ReadTimeout = 300 * time.Millisecond
		o.API.TransferStall = 200 * time.Millisecond
	})
	t.Run("one that stands still", func(t *testing.T) {
		if got := readStatus(t, u.dial(t, u.head("Content-Length: 100000")+strings.Repeat("x", 9000))); got != 408 {
			t.Errorf("got %d, want 408", got)
		}
	})
	t.Run("one that dribbles", func(t *testing.T) {
		conn := u.dial(t, u.head("Content-Length: 100000")+strings.Repeat("x", 9000))
		began := time.Now()
		var err error
		for time.Since(began) < 5*time.Second && err == nil {
			time.Sleep(20 * time.Millisecond)
			_, err = conn.Write([]byte("x"))
		}
		if err == nil {
			t.Error("the server waits for a byte at a time")
		}
	})
	if n := u.settle(t); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	t.Run("one that takes longer than a whole request may", func(t *testing.T) {
		conn := u.dial(t, u.head("Content-Length: 1310720"))
		for range 10 {
			if _, err := conn.Write(sample(128 << 10)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(60 * time.Millisecond)
		}
		if got := readStatus(t, conn); got != 201 {
			t.Errorf("got %d, want 201", got)
		}
	})
}
