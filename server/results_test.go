package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/servertest"
)

func TestJSONBodies(t *testing.T) {
	w := startTools(t)
	for _, test := range []struct {
		name, body string
		status     int
		pointer    string // of a problem
		code       string // of a result that is an error
	}{
		{"a call", `{"tool":"Echo.Run","arguments":{"imageSize":1}}`, 200, "", ""},
		{"every option", `{"tool":"Echo","arguments":{"command":"Run"},"options":{"view":"canonical","maxCharacters":100,"maxResources":2,"includeExecutionMetadata":true,"timeoutMs":5000,"record":true}}`, 200, "", ""},
		{"no arguments", `{"tool":"Echo.Run"}`, 200, "", ""},
		{"a failure of the tool", `{"tool":"Broken.Run","arguments":{}}`, 200, "", "BROKEN.DISK"},
		{"wrong arguments", `{"tool":"Echo.Run","arguments":{"imageSize":"1"}}`, 200, "", "INVALID_ARGUMENT"},
		{"arguments that are a list", `{"tool":"Echo.Run","arguments":[1]}`, 200, "", "INVALID_ARGUMENT"},
		{"an unknown tool", `{"tool":"Nope","arguments":{}}`, 200, "", "TOOL_NOT_FOUND"},
		{"an unknown command", `{"tool":"Echo.Nope","arguments":{}}`, 200, "", "UNKNOWN_COMMAND"},
		{"no tool", `{"arguments":{}}`, 400, "/tool", ""},
		{"an empty tool", `{"tool":""}`, 400, "/tool", ""},
		{"a tool that is a number", `{"tool":1}`, 400, "/tool", ""},
		{"options that are a list", `{"tool":"Echo","options":[]}`, 400, "/options", ""},
		{"an unknown option", `{"tool":"Echo","options":{"vi/ew":"ai"}}`, 400, "/options/vi~1ew", ""},
		{"an unknown view", `{"tool":"Echo","options":{"view":"AI"}}`, 400, "/options/view", ""},
		{"a view that is null", `{"tool":"Echo","options":{"view":null}}`, 400, "/options/view", ""},
		{"a budget of zero", `{"tool":"Echo","options":{"maxCharacters":0}}`, 400, "/options/maxCharacters", ""},
		{"a negative budget", `{"tool":"Echo","options":{"maxResources":-1}}`, 400, "/options/maxResources", ""},
		{"a fraction", `{"tool":"Echo","options":{"timeoutMs":1.5}}`, 400, "/options/timeoutMs", ""},
		{"a number beyond bounds", `{"tool":"Echo","options":{"timeoutMs":99999999999999999999}}`, 400, "/options/timeoutMs", ""},
		{"a flag that is a text", `{"tool":"Echo","options":{"record":"no"}}`, 400, "/options/record", ""},
		{"a flag that is a number", `{"tool":"Echo","options":{"includeExecutionMetadata":1}}`, 400, "/options/includeExecutionMetadata", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, header, body := w.Do(t, "POST", "/v1/human/tool", "application/json; charset=utf-8", test.body)
			if test.status != 200 {
				refused(t, test.name, test.status, status, header, body)
				if got := memberOf(t, body, "pointer"); got != test.pointer {
					t.Errorf("the pointer is %q, want %q", got, test.pointer)
				}
				return
			}
			if got := memberOf(t, body, "error", "code"); status != 200 || got != test.code || header.Get("Content-Type") != "application/json" {
				t.Errorf("%d %s, want the code %q", status, body, test.code)
			}
		})
	}
}

func TestViews(t *testing.T) {
	w := startTools(t)
	call := func(tool, arguments, options string) (int, []byte) {
		status, _, body := w.Do(t, "POST", "/v1/human/tool", "application/json", fmt.Sprintf(`{"tool":%q,"arguments":%s,"options":%s}`, tool, arguments, options))
		return status, body
	}
	t.Run("ai", func(t *testing.T) {
		status, body := call("Echo.Run", `{"title":"`+strings.Repeat("long ", 500)+`"}`, `{"view":"ai","maxCharacters":300,"includeExecutionMetadata":true}`)
		text := memberOf(t, body, "text")
		if status != 200 || text == "" || len([]rune(text)) > 300 {
			t.Errorf("%d %s", status, body)
		}
	})
	t.Run("legacy", func(t *testing.T) {
		status, body := call("Echo.Run", `{"title":"x"}`, `{"view":"legacy"}`)
		if status != 200 || memberOf(t, body, "arguments", "title") != "x" || memberOf(t, body, "timestamp") == "" {
			t.Errorf("%d %s", status, body)
		}
		status, body = call("Broken.Run", `{}`, `{"view":"legacy"}`)
		if status != 500 || memberOf(t, body, "plugin_error") != "no disk" {
			t.Errorf("%d %s", status, body)
		}
		status, body = call("Nope", `{}`, `{"view":"legacy"}`)
		if want := `[PluginManager] Plugin "Nope" not found for tool call.`; status != 500 || memberOf(t, body, "details") != want {
			t.Errorf("%d %s", status, body)
		}
	})
	t.Run("of a stored result", func(t *testing.T) {
		_, body := call("Broken.Run", `{}`, `{}`)
		id := memberOf(t, body, "id")
		for view, want := range map[string]int{"canonical": 200, "ai": 200, "legacy": 500, "none": 400} {
			if status, _, body := w.Do(t, "GET", "/v1/results/"+id+"?view="+view, "", ""); status != want {
				t.Errorf("%s: %d %s", view, status, body)
			}
		}
	})
	t.Run("not recorded", func(t *testing.T) {
		_, body := call("Echo.Run", `{}`, `{"record":false}`)
		status, header, body := w.Do(t, "GET", "/v1/results/"+memberOf(t, body, "id"), "", "")
		refused(t, "a result that was not recorded", 404, status, header, body)
	})
}

func TestCommandsOwnEndpoint(t *testing.T) {
	w := startTools(t)
	for _, test := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"/v1/tools/Echo/Run", `{"title":"x"}`, 200, ""},
		{"/v1/tools/Echo/Run", `{"nope":"x"}`, 200, "INVALID_ARGUMENT"},
		{"/v1/tools/Echo/Nope", `{}`, 200, "UNKNOWN_COMMAND"},
		{"/v1/tools/Nope/Run", `{}`, 200, "TOOL_NOT_FOUND"},
		{"/v1/tools/Echo/%52un?view=ai", `{}`, 200, ""},
		{"/v1/tools/Broken/Run?view=legacy", `{}`, 500, ""},
		{"/v1/tools/Echo/Run?timeoutMs=0", `{}`, 400, ""},
		{"/v1/tools/Echo/Run?timeoutMs=2147483647", `{}`, 200, ""},
		{"/v1/tools/Echo/Run?timeoutMs=2147483648", `{}`, 400, ""},
		{"/v1/tools/Echo/Run?timeoutMs=%2B5", `{}`, 400, ""},
		{"/v1/tools/Echo/Run?maxCharacters=x", `{}`, 400, ""},
		{"/v1/tools/Echo/Run?maxCharacters=9223372036854775807", `{}`, 400, ""},
		{"/v1/tools/Echo/Run?maxResources=-1", `{}`, 400, ""},
		{"/v1/tools/Echo/Run?view=x", `{}`, 400, ""},
	} {
		status, _, body := w.Do(t, "POST", test.path, "application/json", test.body)
		if got := memberOf(t, body, "error", "code"); status != test.status || got != test.code {
			t.Errorf("%s: %d %s, want %d %q", test.path, status, body, test.status, test.code)
		}
	}
}

// stored makes a result whose data are some JSON, and gives its id.
func stored(t *testing.T, data string) (*servertest.Server, string) {
	t.Helper()
	w := servertest.Start(t, &servertest.Options{Guest: wasmbuild.Guest{
		Payload: []byte(`{"status":"success","data":` + data + `}`), AllocResult: 100 << 10, // behind the payload
	}})
	_, _, body := w.Do(t, "POST", "/v1/tools/Tiny/Run", "application/json", `{}`)
	id := memberOf(t, body, "id")
	if id == "" {
		t.Fatalf("%s", body)
	}
	return w, id
}

func TestPartsOfResults(t *testing.T) {
	w, id := stored(t, `{"rows":[10,{"a":1},"c",null,4.50],"o":{"x":1,"y~/z":[1],"":2},"s":"text","n":null,"e":[]}`)
	for _, test := range []struct {
		query  string
		status int
		want   string
	}{
		{"pointer=/data/rows", 200, `{"value":[10,{"a":1},"c",null,4.50],"total":5,"offset":0}`},
		{"pointer=/data/rows&offset=1&limit=2", 200, `{"value":[{"a":1},"c"],"total":5,"offset":1}`},
		{"pointer=/data/rows&offset=4&limit=100", 200, `{"value":[4.50],"total":5,"offset":4}`},
		{"pointer=/data/rows&offset=5", 200, `{"value":[],"total":5,"offset":5}`},
		{"pointer=/data/rows&offset=2147483647&limit=2147483647", 200, `{"value":[],"total":5,"offset":2147483647}`},
		{"pointer=/data/rows&limit=0", 200, `{"value":[],"total":5,"offset":0}`},
		{"pointer=/data/rows/1", 200, `{"value":{"a":1},"total":1,"offset":0}`},
		{"pointer=/data/rows/4", 200, `{"value":4.50,"total":0,"offset":0}`},
		{"pointer=/data/o&offset=1&limit=1", 200, `{"value":{"y~/z":[1]},"total":3,"offset":1}`},
		{"pointer=/data/o/y~0~1z/0", 200, `{"value":1,"total":0,"offset":0}`},
		{"pointer=/data/o/", 200, `{"value":2,"total":0,"offset":0}`},
		{"pointer=/data/s", 200, `{"value":"text","total":0,"offset":0}`},
		{"pointer=/data/s&offset=3", 200, `{"value":"text","total":0,"offset":3}`},
		{"pointer=/data/n", 200, `{"value":null,"total":0,"offset":0}`},
		{"pointer=/data/e", 200, `{"value":[],"total":0,"offset":0}`},
		{"pointer=/status", 200, `{"value":"success","total":0,"offset":0}`},
		{"pointer=/data/rows/5", 404, ""},
		{"pointer=/data/rows/-", 404, ""},
		{"pointer=/data/rows/01", 404, ""},
		{"pointer=/data/o/y~z", 404, ""},
		{"pointer=/data/nothing", 404, ""},
		{"pointer=data", 404, ""},
		{"pointer=/data/rows&offset=-1", 400, ""},
		{"pointer=/data/rows&limit=x", 400, ""},
		{"pointer=/data/rows&limit=99999999999999999999", 400, ""},
	} {
		values, _ := url.ParseQuery(test.query)
		status, header, body := w.Do(t, "GET", "/v1/results/"+id+"?"+values.Encode(), "", "")
		if test.status != 200 {
			refused(t, test.query, test.status, status, header, body)
		} else if status != 200 || string(body) != test.want {
			t.Errorf("%s: %d %s, want %s", test.query, status, body, test.want)
		}
	}
	status, _, whole := w.Do(t, "GET", "/v1/results/"+id, "", "")
	part, _, value := w.Do(t, "GET", "/v1/results/"+id+"?pointer=", "", "")
	if !bytes.HasPrefix(value, []byte(`{"value":`+string(whole[:20]))) || status != 200 || part != 200 {
		t.Errorf("the whole at the empty pointer: %d %s", part, value)
	}
}

func TestLargePagesAreBounded(t *testing.T) {
	w, id := stored(t, "["+strings.Repeat("0,", 19_999)+"0]")
	_, _, body := w.Do(t, "GET", "/v1/results/"+id+"?pointer=/data&offset=5&limit=20000", "", "")
	var page struct {
		Value         []int
		Total, Offset int
	}
	if err := json.Unmarshal(body, &page); err != nil || len(page.Value) != 10_000 || page.Total != 20_000 || page.Offset != 5 {
		t.Errorf("%v: %d of %d from %d", err, len(page.Value), page.Total, page.Offset)
	}
}

// reporting is a guest that reports progress before it answers, or for ever.
func reporting(forever bool) wasmbuild.Guest {
	const at = 2048
	event := []byte(`{"stage":"work","progress":0.5,"message":"line\nfeed\r"}`)
	var progress uint32
	return wasmbuild.Guest{
		Imports: func(m *wasmbuild.Module) {
			progress = m.ImportFunction("vcp", "progress", wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32, wasmbuild.I32}, Results: []wasmbuild.ValueType{wasmbuild.I32}})
		},
		Extra: func(m *wasmbuild.Module) { m.Data(at, event) },
		Body: func(*wasmbuild.Module) [][]byte {
			report := [][]byte{wasmbuild.I32Const(at), wasmbuild.I32Const(int32(len(event))), wasmbuild.Call(progress), wasmbuild.Drop()}
			if forever {
				report = [][]byte{wasmbuild.Loop(report...)}
			}
			return append(report, wasmbuild.I64Const(wasmbuild.Packed(wasmbuild.PayloadAddress, 32)))
		},
	}
}

// events asks for a call's events.
func events(t *testing.T, w *servertest.Server) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", w.URL+"/v1/tools/Tiny/Run", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + w.Secret, "Content-Type": "application/json", "Accept": "text/html, text/event-stream;q=0.9"} {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" || response.Header.Get("X-Request-Id") == "" {
		t.Fatalf("%d %v", response.StatusCode, response.Header)
	}
	return response
}

func TestEventsEndWithTheResult(t *testing.T) {
	w := servertest.Start(t, &servertest.Options{Guest: reporting(false)})
	response := events(t, w)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split(strings.TrimSuffix(string(raw), "\n\n"), "\n\n")
	for i, event := range list {
		name, data, _ := strings.Cut(event, "\ndata: ")
		last := i == len(list)-1
		if last != (name == "event: result") || !last && name != "event: progress" || !json.Valid([]byte(data)) {
			t.Errorf("event %d of %d is %q", i, len(list), event)
		}
	}
	if len(list) != 2 || !strings.Contains(list[0], `"type":"vcp_info"`) || !strings.Contains(list[0], `"stage":"work"`) || !strings.Contains(list[1], `"status":"success"`) {
		t.Errorf("the events are %q", raw)
	}
}

// TestAReaderOfEventsThatLeaves ends the call that reported to it.
func TestAReaderOfEventsThatLeaves(t *testing.T) {
	var host *running
	w := servertest.Start(t, &servertest.Options{Guest: reporting(true), Change: func(o *server.Options) {
		host = &running{Executor: o.API.Host, ended: make(chan *abi.Result, 1)}
		o.API.Host = host
	}})
	response := events(t, w)
	reader, seen := bufio.NewReader(response.Body), 0
	for seen < 3 {
		line, err := reader.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "event: progress\n" {
			seen++
		}
	}
	response.Body.Close()
	select {
	case result := <-host.ended:
		if result.Status != abi.StatusCancelled {
			t.Errorf("the call ended as %s: %v", result.Status, result.Error)
		}
	case <-time.After(10 * time.Second):
		t.Error("the call goes on for nobody")
	}
}

// TestEventsHaveAHeartbeat of comments while a call says nothing.
func TestEventsHaveAHeartbeat(t *testing.T) {
	w := servertest.Start(t, &servertest.Options{Guest: wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte {
		return [][]byte{wasmbuild.Loop(), wasmbuild.Unreachable()}
	}}})
	response := events(t, w)
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, ": ") {
		t.Errorf("%q, %v", line, err)
	}
}

// running is a host that tells how its calls end.
type running struct {
	api.Executor
	ended chan *abi.Result
}

func (r *running) Execute(ctx context.Context, call *abi.Call) *abi.Result {
	result := r.Executor.Execute(ctx, call)
	r.ended <- result
	return result
}
