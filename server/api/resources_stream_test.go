package api_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/identity"
	"vcphost/server/servertest"
)

// places counts the requests that run.
type places struct{ taken atomic.Int64 }

// Admit implements api.Admission.
func (p *places) Admit(context.Context, *identity.Identity) (func(), error) {
	p.taken.Add(1)
	return func() { p.taken.Add(-1) }, nil
}

func (p *places) settle(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); p.taken.Load() != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d places are still taken", p.taken.Load())
		}
	}
}

func (u uploads) get(id string, lines ...string) string {
	return strings.Join(append([]string{"GET /v1/resources/" + id + " HTTP/1.1", "Host: x", "Authorization: Bearer " + u.Secret}, lines...), "\r\n") + "\r\n\r\n"
}

// narrow makes the kernel buffer little of what comes.
func narrow(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
		t.Fatal(err)
	}
}

func TestAClientThatReadsAByteAtATimeGetsItAll(t *testing.T) {
	u := startUploads(t, func(o *server.Options) {
		o.ReadTimeout = 100 * time.Millisecond
		o.API.MaxUploadBytes, o.API.TransferStall = 64<<20, 2*time.Second
	})
	content := sample(32 << 20)
	resource := put(t, u.Server, content)
	conn := u.dial(t, u.get(resource.ID)+u.get(resource.ID, "Range: bytes=0-4"))
	narrow(t, conn)
	slow := bufio.NewReaderSize(conn, 16)
	var head []byte
	for range 20 {
		one, err := slow.ReadByte()
		if err != nil {
			t.Fatal(err)
		}
		head = append(head, one)
		time.Sleep(20 * time.Millisecond)
	}
	rest := bufio.NewReader(io.MultiReader(bytes.NewReader(head), slow))
	for _, want := range [][]byte{content, content[:5]} {
		response, err := http.ReadResponse(rest, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(want))
		}
	}
}

func TestADownloadEndsWithWhoeverEndsIt(t *testing.T) {
	for _, test := range []struct {
		name  string
		stall time.Duration
		leave bool
	}{
		{"a client that reads nothing", 2 * time.Second, false}, // the upload has it too,
		{"a client that leaves", time.Minute, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			bounds := &places{}
			u := startUploads(t, func(o *server.Options) {
				o.API.MaxUploadBytes, o.API.TransferStall, o.API.Admission = 64<<20, test.stall, bounds
			})
			content := sample(32 << 20)
			resource := put(t, u.Server, content)
			bounds.settle(t)
			conn := u.dial(t, u.get(resource.ID))
			narrow(t, conn)
			if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
			if bounds.taken.Load() != 1 {
				t.Errorf("%d places are taken by one download", bounds.taken.Load())
			}
			if test.leave {
				conn.Close()
			}
			bounds.settle(t)
			if got, err := io.ReadAll(conn); err == nil && len(got) >= len(content) {
				t.Errorf("the client got all %d bytes", len(got))
			}
			put(t, u.Server, []byte("the next request works"))
		})
	}
}

func TestAnswersWithoutBodyKeepTheConnection(t *testing.T) {
	bounds := &places{}
	u := startUploads(t, func(o *server.Options) { o.API.Admission = bounds })
	resource := put(t, u.Server, []byte("hello"))
	conn := u.dial(t, "")
	reader := bufio.NewReader(conn)
	for _, test := range []struct {
		method, line string
		status       int
		length       int64
	}{
		{"HEAD", "X: y", 200, 5},
		{"GET", `If-None-Match: "` + resource.SHA256 + `"`, 304, -1},
		{"HEAD", `If-None-Match: "` + resource.SHA256 + `"`, 304, -1},
		{"GET", "Range: bytes=9-", 416, -1},
		{"GET", "X: y", 200, 5},
	} {
		text := strings.Replace(u.get(resource.ID, test.line), "GET", test.method, 1)
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		request := &http.Request{Method: test.method}
		response, err := http.ReadResponse(reader, request)
		if err != nil {
			t.Fatalf("%s with %s: %v", test.method, test.line, err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != test.status || test.length >= 0 && response.ContentLength != test.length {
			t.Errorf("%s with %s: got %d and %d bytes", test.method, test.line, response.StatusCode, response.ContentLength)
		}
	}
	bounds.settle(t)
}

func TestADownloadStopsWithTheServer(t *testing.T) {
	db := kv.NewMemory()
	defer db.Close()
	store, err := resources.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := identity.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := keys.Bootstrap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	who, err := keys.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	resource, err := store.Import(t.Context(), who.Owner, abi.ResourceDraft{}, bytes.NewReader(sample(32<<20)), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Options{API: api.Options{Resources: store, Keys: keys}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	u := uploads{Server: &servertest.Server{URL: "http://" + listener.Addr().String(), Secret: secret}, db: db}
	conn := u.dial(t, u.get(resource.ID))
	narrow(t, conn)
	if _, err := io.ReadFull(conn, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := errors.Join(s.Close(ctx), <-done); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a client that does not read held the server for %s", took)
	}
}
