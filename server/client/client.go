// Package client speaks the host's HTTP API as its own command line does: over
// the socket of a server that runs, or over a [Pipe] to one in the same process.
// Both are trusted connections, so no key is sent.
//
// # Promises
//
// What the server refuses is a *problem.Problem. Nothing is retried, but for
// [Client.Call], which asks again until a call that is to stop has stopped. Every
// answer is bounded: JSON by 256 MiB, events by the same for each; bytes of
// resources are streamed.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"vcphost/server/problem"
)

// maxAnswerBytes bounds an answer that is read whole, and one event.
const maxAnswerBytes = 256 << 20

// Dial connects to a server.
type Dial func(ctx context.Context) (net.Conn, error)

// Client asks one server. It is safe for concurrent use. Close it.
type Client struct {
	http *http.Client
}

// New makes a client. It connects with the first request.
func New(dial Dial) *Client {
	transport := &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableCompression: true,
		// An answer may come before all of an upload has gone out.
		ExpectContinueTimeout: time.Second,
	}
	return &Client{&http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// Close closes the connections that no request uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// base is where requests go; dial decides what is there.
const base = "http://vcphost"

// request is one request on its way.
type request struct {
	method, path string
	header       map[string]string
	body         io.Reader
	bodyBytes    int64 // 0 means unknown, where there is a body
}

// send sends a request and gives the answer if its status is one of 200 to 299.
// The caller closes the body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	out, err := http.NewRequestWithContext(ctx, r.method, base+r.path, r.body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	if r.bodyBytes > 0 {
		out.ContentLength = r.bodyBytes
	}
	for name, value := range r.header {
		out.Header.Set(name, value)
	}
	answer, err := c.http.Do(out)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", plain(err))
	}
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, readProblem(answer)
}

// plain takes the URL, which nobody typed, out of an error.
func plain(err error) error {
	if told, ok := err.(*url.Error); ok {
		return told.Err
	}
	return err
}

// readProblem gives what the server refused.
func readProblem(answer *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	var told struct{ Type, Title, Detail, Instance, RequestID, Pointer string }
	if json.Unmarshal(raw, &told) != nil || told.Title == "" {
		return fmt.Errorf("the server answers with status %d", answer.StatusCode)
	}
	after, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // absent or a date: not told
	return &problem.Problem{
		Type: told.Type, Title: told.Title, Status: answer.StatusCode, Detail: told.Detail, Instance: told.Instance,
		RequestID: told.RequestID, Pointer: told.Pointer, RetryAfter: time.Duration(after) * time.Second,
	}
}

// read gives the whole body of an answer.
func (c *Client) read(ctx context.Context, r request) ([]byte, error) {
	answer, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the server's answer: %w", plain(err))
	case len(raw) > maxAnswerBytes:
		return nil, fmt.Errorf("the server's answer has more than %d bytes", maxAnswerBytes)
	}
	return raw, nil
}

// get decodes the answer of a GET.
func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.exchange(ctx, request{method: http.MethodGet, path: path}, into)
}

// post sends a value as JSON and decodes the answer.
func (c *Client) post(ctx context.Context, path string, value, into any) error {
	r, err := jsonRequest(path, value)
	if err != nil {
		return err
	}
	return c.exchange(ctx, r, into)
}

func jsonRequest(path string, value any) (request, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return request{}, fmt.Errorf("encode a request: %w", err)
	}
	return request{
		method: http.MethodPost, path: path, body: bytes.NewReader(raw), bodyBytes: int64(len(raw)),
		header: map[string]string{"Content-Type": "application/json"},
	}, nil
}

func (c *Client) exchange(ctx context.Context, r request, into any) error {
	raw, err := c.read(ctx, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	return nil
}

// withID puts an id that somebody typed into a path. What could become another
// path is an id of nothing.
func withID(path, id string) (string, error) {
	odd := strings.ContainsFunc(id, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	if id == "" || odd {
		return "", problem.NotFound("%.80q is no id", id)
	}
	return path + id, nil
}
