package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"vcphost/server/servertest"
)

// TestManyConnectionsAtOnce opens 2,000 connections before the first request.
func TestManyConnectionsAtOnce(t *testing.T) {
	w := servertest.Start(t, nil)
	const connections = 2000
	conns := make([]net.Conn, connections)
	for i := range conns {
		conns[i] = dial(t, w.URL)
		defer conns[i].Close()
	}
	failures := make(chan error, connections)
	var wg sync.WaitGroup
	for i, conn := range conns {
		wg.Go(func() { failures <- oneCall(w, conn, i) })
	}
	wg.Wait()
	close(failures)
	count := 0
	for err := range failures {
		if err != nil {
			count++
			t.Log(err)
		}
	}
	if count > 0 {
		t.Errorf("%d of %d were not answered", count, connections)
	}
	alive(t, w)
}

func oneCall(w *servertest.Server, conn net.Conn, i int) error {
	body := fmt.Sprintf(`{"tool":"Tiny.Run","arguments":{"n":%d}}`, i)
	id := fmt.Sprint("many-", i)
	_ = conn.SetDeadline(time.Now().Add(40 * time.Second))
	_, err := io.WriteString(conn, head(w, "POST /v1/human/tool", "Content-Type: application/json", "X-Request-Id: "+id,
		fmt.Sprint("Content-Length: ", len(body)))+body)
	if err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != 200 || response.Header.Get("X-Request-Id") != id || !bytes.Contains(answer, []byte(`"requestId":"`+id+`"`)) {
		return errors.New(string(answer))
	}
	return nil
}

// TestSlowReaders take a byte now and then of what is too large for the
// buffers between, and hold up nobody else.
func TestSlowReaders(t *testing.T) {
	w := servertest.Start(t, nil)
	status, header, body := w.Do(t, "POST", "/v1/resources", "application/octet-stream", strings.Repeat("x", 16<<20))
	if status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 50 {
		conn := dial(t, w.URL)
		if _, err := io.WriteString(conn, head(w, "GET "+header.Get("Location"))); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer conn.Close()
			var one [1]byte
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					if _, err := conn.Read(one[:]); err != nil {
						t.Errorf("a slow reader was cut off: %v", err)
						return
					}
				}
			}
		})
	}
	for range 20 {
		began := time.Now()
		alive(t, w)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("a call beside slow readers took %v", took)
		}
		time.Sleep(50 * time.Millisecond)
	}
	close(stop)
	wg.Wait()
	alive(t, w)
}
