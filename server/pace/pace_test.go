package pace

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"testing"
	"time"
)

// pair gives the two ends of a TCP connection.
func pair(t *testing.T) (here, there *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialled, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close(); accepted.Close() })
	return accepted.(*net.TCPConn), dialled.(*net.TCPConn)
}

// within is an extend that gives a connection so long each time.
func within(conn net.Conn, limit time.Duration) func() error {
	return func() error { return conn.SetWriteDeadline(time.Now().Add(limit)) }
}

// A client that takes less at a time than the system tells of, because its buffer
// is large, is slow and does not stand still.
func TestASlowClientGetsItAll(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system does not tell what is under way")
	}
	here, there := pair(t)
	if err := there.SetReadBuffer(16 << 10); err != nil {
		t.Fatal(err)
	}
	const piece, stall = 8 << 10, time.Second
	content := bytes.Repeat([]byte("0123456789abcdef"), 16<<20/16)
	written := make(chan error, 1)
	extended := 0
	go func() {
		_, err := Write(here, content, piece, func() error { extended++; return within(here, stall)() })
		written <- errors.Join(err, here.Close())
	}()
	var got bytes.Buffer
	for began := time.Now(); time.Since(began) < 3*stall; time.Sleep(stall / 16) {
		if _, err := io.CopyN(&got, there, piece/4); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(&got, there); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("the client got %d of %d bytes, %v", got.Len(), len(content), err)
	}
	if extended < 3 {
		t.Errorf("the client was given the time %d times, so it was not slow", extended)
	}
}

func TestAClientThatStandsStillIsGivenUp(t *testing.T) {
	for _, test := range []struct {
		name string
		size int
	}{{"of a small answer", smallBytes}, {"of a large one", 64 << 20}} {
		t.Run(test.name, func(t *testing.T) {
			here, _ := pair(t)
			const stall = 50 * time.Millisecond
			var err error
			deadline := time.Now().Add(20 * time.Second)
			for err == nil && time.Now().Before(deadline) { // until the buffers are full
				_, err = Write(here, make([]byte, test.size), 32<<10, within(here, stall))
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnEndEndsAWrite(t *testing.T) {
	here, there := pair(t)
	over := errors.New("it is over")
	written, err := Write(here, []byte("abc"), 1, func() error { return over })
	if written != 0 || !errors.Is(err, over) {
		t.Errorf("got %d bytes, %v", written, err)
	}
	if err := there.Close(); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; {
		_, err = Write(here, make([]byte, 64<<10), 1, within(here, 20*time.Second))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a client that left was waited for: %v", err)
	}
}

// What no system knows, as a connection within the process, is written all the
// same.
func TestAConnectionWithoutADescriptor(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	content := bytes.Repeat([]byte("x"), 100<<10)
	done := make(chan error, 1)
	go func() {
		_, err := Write(here, content, 64<<10, within(here, 20*time.Second))
		done <- errors.Join(err, here.Close())
	}()
	got, err := io.ReadAll(there)
	if err := errors.Join(err, <-done); err != nil || !bytes.Equal(got, content) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}
