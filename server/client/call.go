package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"vcphost/abi"
	"vcphost/server/local"
)

// Call is a call as somebody typed it. What is wrong with arguments and values
// is told in the result.
type Call struct {
	Tool      string
	Arguments []byte        // a JSON object, or what was meant as one
	Pairs     []local.Pair  // set in the arguments, each typed by the command's schema
	Inputs    []local.Input // set in the arguments as references
	Timeout   time.Duration
	// RequestID is what the call is stopped by: 1 to 128 visible characters.
	RequestID     string
	AI            bool // asks for the projection for models as well
	MaxCharacters int  // of that projection; 0 means its default
	// Progress is told of the plugin's progress while Call waits; nil is nobody.
	Progress abi.ProgressReporter
}

// Answer is what came of a call.
type Answer struct {
	Result *abi.Result
	Raw    []byte // the same, as the server wrote it
	Text   string // the projection for models, if it was asked for
}

// Call makes a call and waits for its result. When ctx ends the call is stopped,
// and Call still waits for the result, which then says so.
func (c *Client) Call(ctx context.Context, call Call) (*Answer, error) {
	view := "canonical"
	if call.AI {
		view = "ai"
	}
	r, err := jsonRequest("/v1/local/call", local.Call{
		Tool: call.Tool, Arguments: call.Arguments, Pairs: call.Pairs, Inputs: call.Inputs,
		TimeoutMs: call.Timeout.Milliseconds(), View: view, MaxCharacters: call.MaxCharacters,
	})
	if err != nil {
		return nil, err
	}
	r.header["X-Request-Id"] = call.RequestID
	waiting, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	interrupted := make(chan struct{})
	go func() {
		defer close(interrupted)
		c.interruptAfter(ctx, waiting, call.RequestID)
	}()
	answer, err := c.await(waiting, r, call.Progress)
	stop()
	<-interrupted
	return answer, err
}

// interruptInterval is how often a call that is to stop is asked for: it may not
// have begun when it is asked for first.
const interruptInterval = 50 * time.Millisecond

// interruptAfter stops the call once ctx has ended, unless waiting ends before.
func (c *Client) interruptAfter(ctx, waiting context.Context, requestID string) {
	select {
	case <-ctx.Done():
	case <-waiting.Done():
		return
	}
	for {
		stopped, err := c.Interrupt(waiting, requestID)
		if err == nil && len(stopped) > 0 {
			return
		}
		select {
		case <-time.After(interruptInterval):
		case <-waiting.Done():
			return
		}
	}
}

// Interrupt stops the calls of a request and gives their invocation ids.
func (c *Client) Interrupt(ctx context.Context, requestID string) ([]string, error) {
	var answer struct{ Interrupted []string }
	err := c.post(ctx, "/v1/interrupt", map[string]string{"requestId": requestID}, &answer)
	return answer.Interrupted, err
}

// await reads the events of a call.
func (c *Client) await(ctx context.Context, r request, progress abi.ProgressReporter) (*Answer, error) {
	response, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	events := &eventReader{in: bufio.NewReader(response.Body)}
	answer := &Answer{}
	for {
		name, data, err := events.next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("the server ended before the call did")
		}
		if err != nil {
			return nil, fmt.Errorf("read the call's events: %w", err)
		}
		if err := answer.take(name, data, progress); err != nil {
			return nil, fmt.Errorf("read the call's event %q: %w", name, err)
		}
		if answer.Result != nil {
			return answer, finish(response)
		}
	}
}

// finish reads the end of an answer, so that the connection can be used again.
func finish(response *http.Response) error {
	_, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("read the end of the call's events: %w", err)
	}
	return nil
}

// take notes one event. Those of unknown names are nobody's.
func (a *Answer) take(name string, data []byte, progress abi.ProgressReporter) error {
	switch name {
	case "progress":
		var event abi.Progress
		if err := json.Unmarshal(data, &event); err != nil {
			return err
		}
		if progress != nil {
			progress(event)
		}
	case "view":
		var projection struct{ Text string }
		if err := json.Unmarshal(data, &projection); err != nil {
			return err
		}
		a.Text = projection.Text
	case "result":
		var result abi.Result
		if err := json.Unmarshal(data, &result); err != nil {
			return err
		}
		a.Result, a.Raw = &result, data
	}
	return nil
}

// eventReader reads server-sent events. It is not safe for concurrent use.
type eventReader struct{ in *bufio.Reader }

// errEventTooLong: an event has more than maxAnswerBytes.
var errEventTooLong = fmt.Errorf("an event has more than %d bytes", maxAnswerBytes)

// next gives the next event that has data. The data is the caller's.
func (r *eventReader) next() (name string, data []byte, err error) {
	seen := false
	for {
		line, err := r.line()
		if err != nil {
			return "", nil, err
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch {
		case len(line) == 0 && seen:
			return name, data, nil
		case len(line) == 0:
			name = ""
		case string(field) == "event":
			name = string(value)
		case string(field) == "data":
			if seen {
				data = append(data, '\n')
			}
			if len(data)+len(value) > maxAnswerBytes {
				return "", nil, errEventTooLong
			}
			data, seen = append(data, value...), true
		}
	}
}

// line gives the next line without its end, in memory of its own.
func (r *eventReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > maxAnswerBytes {
			return nil, errEventTooLong
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'}), nil
	}
}
