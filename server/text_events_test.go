package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/servertest"
)

// stepwise is a host whose calls report once and go on when that was seen.
type stepwise struct {
	api.Executor
	seen chan struct{}
}

// Execute reports, waits, and runs the call.
func (s *stepwise) Execute(ctx context.Context, call *abi.Call) *abi.Result {
	if report := call.Context.Progress; report != nil {
		report(abi.Progress{Stage: "step", Message: call.Tool})
		select {
		case <-s.seen:
		case <-ctx.Done():
		}
	}
	return s.Executor.Execute(ctx, call)
}

// textEvent is an event of a stream, its data as it came.
type textEvent struct{ name, data string }

// readEvent gives the next event, comments left out; ok is false at the end.
func readEvent(t *testing.T, lines *bufio.Scanner) (event textEvent, ok bool) {
	t.Helper()
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "" && event.name != "":
			return event, true
		case strings.HasPrefix(line, "event: "):
			event.name = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			event.data += strings.TrimPrefix(line, "data: ")
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return event, false
}

// TestSeveralBlocksStream as one call does: progress under the number of its
// block and the id of its call, then the array.
func TestSeveralBlocksStream(t *testing.T) {
	host := &stepwise{seen: make(chan struct{})}
	w := servertest.Start(t, &servertest.Options{Plugins: tools(), Change: func(o *server.Options) {
		host.Executor = o.API.Host
		o.API.Host = host
	}})
	text := block("tool_name=Echo", "command1=Run", "title1=a", "command2=Run", "title2=b") + "\n" +
		block("tool_name=Broken", "command1=Run", "command2=Run") + "\n" + block("tool_name=Echo", "command=Run", "title=c")
	request, err := http.NewRequestWithContext(t.Context(), "POST", w.URL+"/v1/human/tool?view=canonical", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + w.Secret, "Content-Type": "text/plain", "Accept": "text/event-stream"} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); response.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("got %d %s", response.StatusCode, kind)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	var blocks []int
	var ids, resultIDs []string
	for {
		event, ok := readEvent(t, lines)
		if !ok {
			t.Fatal("the stream ends without a result")
		}
		if event.name == "result" {
			var results []abi.Result
			if err := json.Unmarshal([]byte(event.data), &results); err != nil {
				t.Fatalf("%v in %s", err, event.data)
			}
			for _, result := range results {
				resultIDs = append(resultIDs, result.Execution.InvocationID)
			}
			if len(results) != 4 || results[2].Status != abi.StatusError || results[3].Status != abi.StatusSuccess {
				t.Errorf("the result is %s", event.data)
			}
			break
		}
		var progress struct {
			Type, InvocationID string
			Block              *int
		}
		if err := json.Unmarshal([]byte(event.data), &progress); err != nil || event.name != "progress" || progress.Type != "vcp_info" || progress.Block == nil {
			t.Fatalf("%v in the event %+v", err, event)
		}
		blocks, ids = append(blocks, *progress.Block), append(ids, progress.InvocationID)
		host.seen <- struct{}{}
	}
	if event, more := readEvent(t, lines); more {
		t.Errorf("after the result comes %+v", event)
	}
	if want := []int{0, 0, 1, 2}; !slices.Equal(blocks, want) || !slices.Equal(ids, resultIDs) {
		t.Errorf("blocks %v of the calls %v, want %v of %v", blocks, ids, want, resultIDs)
	}
}

// TestABlockThatCannotBeReadIsNoStream: a problem is a problem whatever is
// accepted.
func TestABlockThatCannotBeReadIsNoStream(t *testing.T) {
	w := startTools(t)
	text := block("tool_name=Echo", "command=Run") + "\n<<<[TOOL_REQUEST]>>>\n"
	status, header, body := request(t, w.URL, "POST", "/v1/human/tool", text, map[string]string{
		"Authorization": "Bearer " + w.Secret, "Content-Type": "text/plain", "Accept": "text/event-stream",
	})
	refused(t, "half a block", 400, status, header, body)
}
