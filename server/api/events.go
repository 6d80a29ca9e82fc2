package api

import (
	"bufio"
	"bytes"
	"context"
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

// progressEvent is an event of a running call (§10.6). Block is there where a
// request has several blocks, and counts them from 0.
type progressEvent struct {
	Type         string   `json:"type"`
	InvocationID string   `json:"invocationId"`
	TaskID       *string  `json:"taskId"`
	Stage        string   `json:"stage"`
	Progress     *float64 `json:"progress"`
	Message      string   `json:"message"`
	Block        *int     `json:"block,omitempty"`
}

// feed takes what calls tell of themselves. It never blocks them: an event that
// nobody took yet is replaced. It is safe for concurrent use.
type feed struct {
	mu     sync.Mutex
	events chan progressEvent
}

// of gives the reporter of one call; block is nil where there is only one.
func (f *feed) of(call *abi.Call, block *int) abi.ProgressReporter {
	id := call.Context.InvocationID
	return func(event abi.Progress) {
		f.mu.Lock()
		defer f.mu.Unlock()
		select {
		case <-f.events:
		default:
		}
		f.events <- progressEvent{
			Type: "vcp_info", InvocationID: id, Stage: event.Stage, Progress: event.Progress, Message: event.Message, Block: block,
		}
	}
}

// ending writes the last events of a stream.
type ending func(w *bufio.Writer) error

// streamCall answers a call as server-sent events: "progress" while it runs,
// then one "result".
func (a *API) streamCall(r *Request, call callBody) error {
	who := r.Identity
	return a.streamOne(r, call, func(w *bufio.Writer, result *abi.Result) error {
		_, body, err := present(result, who, call.options)
		if err != nil {
			return err
		}
		return writeEvent(w, "result", body)
	})
}

// streamOne answers one call as a stream that finish ends.
func (a *API) streamOne(r *Request, call callBody, finish func(*bufio.Writer, *abi.Result) error) error {
	invocation := r.invocation(call)
	return a.stream(r, func(ctx context.Context, f *feed) ending {
		result := a.execute(ctx, invocation, f.of(invocation, nil))
		return func(w *bufio.Writer) error { return finish(w, result) }
	})
}

// stream relays the progress of what run does, and then its ending. All of that
// is done after the handler returned, so the place that the request has within
// the bounds goes with it, and run uses nothing of Fiber's.
func (a *API) stream(r *Request, run func(context.Context, *feed) ending) error {
	lifetime, cancel := r.outliving()
	conn := plainConn(r.fiber.Context().Conn())
	release := r.detach()
	r.fiber.Set(fiber.HeaderContentType, eventStream)
	r.fiber.Set(fiber.HeaderCacheControl, "no-store")
	r.fiber.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer release()
		defer cancel()
		ctx, stop := untilPeerLeaves(lifetime, conn)
		defer stop()
		told := &feed{events: make(chan progressEvent, 1)}
		done := make(chan ending, 1)
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { done <- run(ctx, told) })
		end := relay(w, told.events, done)
		if end == nil { // the client left
			cancel()
			return
		}
		if err := end(w); err != nil {
			a.opts.Logger.Warn("a result did not reach its caller", "requestId", r.ID, "error", err)
		}
	})
	return nil
}

// relay writes events until the calls are done, and gives their ending; nil if
// the client left before.
func relay(w *bufio.Writer, events <-chan progressEvent, done <-chan ending) ending {
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		var err error
		select {
		case event := <-events:
			err = writeProgress(w, event)
		case end := <-done:
			select {
			case event := <-events:
				_ = writeProgress(w, event) // the ending's write tells whether anybody reads
			default:
			}
			return end
		case <-ticker.C:
			_, _ = w.WriteString(": still running\n\n")
			err = w.Flush()
		}
		if err != nil {
			return nil
		}
	}
}

func writeProgress(w *bufio.Writer, event progressEvent) error {
	body, err := abi.Encode(event)
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
