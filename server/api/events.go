package api

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"vcphost/abi"
)

const eventStream = "text/event-stream"

// heartbeat is how often a stream without news says that it lives.
const heartbeat = time.Second

func (r *Request) wantsEvents() bool {
	for part := range strings.SplitSeq(r.Header(fiber.HeaderAccept), ",") {
		kind, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(kind, eventStream) {
			return true
		}
	}
	return false
}

// progressEvent is an event of a running call (§10.6).
type progressEvent struct {
	Type         string   `json:"type"`
	InvocationID string   `json:"invocationId"`
	TaskID       *string  `json:"taskId"`
	Stage        string   `json:"stage"`
	Progress     *float64 `json:"progress"`
	Message      string   `json:"message"`
}

// streamCall answers a call as server-sent events: "progress" while it runs,
// then one "result".
func (a *API) streamCall(r *Request, call callBody) error {
	who := r.Identity
	return a.stream(r, call, func(w *bufio.Writer, result *abi.Result) error {
		_, body, err := present(result, who, call.options)
		if err != nil {
			return err
		}
		return writeEvent(w, "result", body)
	})
}

// stream runs a call, relays its progress and lets finish write the end. The
// body is written after the handler returned, so the place that the request has
// within the bounds goes with it.
func (a *API) stream(r *Request, call callBody, finish func(*bufio.Writer, *abi.Result) error) error {
	invocation := r.invocation(call)
	lifetime, cancel := r.outliving()
	conn := plainConn(r.fiber.Context().Conn())
	release := r.detach()
	options := call.options
	r.fiber.Set(fiber.HeaderContentType, eventStream)
	r.fiber.Set(fiber.HeaderCacheControl, "no-store")
	r.fiber.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer release()
		defer cancel()
		ctx, stop := untilPeerLeaves(lifetime, conn)
		defer stop()
		events := make(chan abi.Progress, 1)
		done := make(chan *abi.Result, 1)
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { done <- a.execute(ctx, invocation, options, latest(events)) })
		result := relay(w, invocation.Context.InvocationID, events, done)
		if result == nil { // the client left
			cancel()
			return
		}
		if err := finish(w, result); err != nil {
			a.opts.Logger.Warn("a result did not reach its caller", "resultId", result.ID, "error", err)
		}
	})
	return nil
}

// latest gives a reporter that never blocks: an event that nobody took yet is
// replaced.
func latest(events chan abi.Progress) abi.ProgressReporter {
	var mu sync.Mutex
	return func(event abi.Progress) {
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-events:
		default:
		}
		events <- event
	}
}

// relay writes events until the call is done, and gives its result; nil if the
// client left before.
func relay(w *bufio.Writer, invocationID string, events <-chan abi.Progress, done <-chan *abi.Result) *abi.Result {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		var err error
		select {
		case event := <-events:
			err = writeProgress(w, invocationID, event)
		case result := <-done:
			select {
			case event := <-events:
				_ = writeProgress(w, invocationID, event) // the result's write tells whether anybody reads
			default:
			}
			return result
		case <-ticker.C:
			_, _ = w.WriteString(": still running\n\n")
			err = w.Flush()
		}
		if err != nil {
			return nil
		}
	}
}

func writeProgress(w *bufio.Writer, invocationID string, event abi.Progress) error {
	body, err := abi.Encode(progressEvent{
		Type: "vcp_info", InvocationID: invocationID, Stage: event.Stage, Progress: event.Progress, Message: event.Message,
	})
	if err != nil {
		return fmt.Errorf("write a progress event: %w", err)
	}
	return writeEvent(w, "progress", body)
}

// writeEvent writes one event. Data of several lines goes as several data
// fields, which its reader joins again.
func writeEvent(w *bufio.Writer, name string, body []byte) error {
	_, _ = fmt.Fprintf(w, "event: %s\n", name) // Flush tells
	for line := range bytes.SplitSeq(bytes.ReplaceAll(body, []byte{'\r'}, []byte{' '}), []byte{'\n'}) {
		_, _ = fmt.Fprintf(w, "data: %s\n", line)
	}
	_ = w.WriteByte('\n')
	return w.Flush()
}
