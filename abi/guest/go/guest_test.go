package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
)

type testArgs struct {
	Data  Reference `json:"data"`
	Name  string    `json:"name,omitempty"`
	Count int       `json:"count"`
	Inner struct {
		Flag bool `json:"flag"`
	} `json:"inner"`
	hidden int
}

// mustRun runs the one command of a plugin that is made of a function.
func mustRun[A, R any](t *testing.T, fn func(*Call, A) (R, error), args string, fake *Fake) *Recording {
	t.Helper()
	r, err := Export(Handle("Do", fn)).Run("Do", json.RawMessage(args), fake)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return r
}

func TestArguments(t *testing.T) {
	tests := []struct{ name, args, code, target string }{
		{name: "all", args: `{"command":"Do","data":{"$resource":"r"},"name":"n","count":3,"inner":{"flag":true}}`},
		{name: "none", args: `{}`},
		{name: "null", args: `null`},
		{name: "unknown", args: `{"colour":1}`, code: "INVALID_ARGUMENT", target: "colour"},
		{name: "not exported", args: `{"hidden":1}`, code: "INVALID_ARGUMENT", target: "hidden"},
		{name: "other case", args: `{"Name":"n"}`, code: "INVALID_ARGUMENT", target: "Name"},
		{name: "wrong type", args: `{"count":"3"}`, code: "INVALID_ARGUMENT", target: "count"},
		{name: "fraction for integer", args: `{"count":1.5}`, code: "INVALID_ARGUMENT", target: "count"},
		{name: "wrong type inside", args: `{"inner":{"flag":1}}`, code: "INVALID_ARGUMENT", target: "inner.flag"},
		{name: "unknown inside", args: `{"inner":{"other":1}}`, code: "INVALID_ARGUMENT"},
		{name: "array", args: `[]`, code: "INVALID_ARGUMENT"},
		{name: "string", args: `"x"`, code: "INVALID_ARGUMENT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ran := false
			r := mustRun(t, func(_ *Call, args testArgs) (testArgs, error) { ran = true; args.hidden++; return args, nil }, tt.args, nil)
			if tt.code == "" {
				if r.Status != "success" || !ran {
					t.Errorf("got %s", r.Payload)
				}
				return
			}
			if ran || r.Status != "error" || r.Error.Code != tt.code || r.Error.Target != tt.target {
				t.Errorf("got %s, want code %s, target %q", r.Payload, tt.code, tt.target)
			}
		})
	}
}

func TestArgumentsOfOtherKinds(t *testing.T) {
	r := mustRun(t, func(_ *Call, args map[string]int) (int, error) { return args["a"] + len(args), nil }, `{"command":"Do","a":4}`, nil)
	if string(r.Data) != "5" {
		t.Errorf("map: got %s", r.Payload)
	}
	r = mustRun(t, func(_ *Call, args json.RawMessage) (json.RawMessage, error) { return args, nil }, `{"command":"Do","a":4}`, nil)
	if string(r.Data) != `{"a":4}` {
		t.Errorf("raw: got %s", r.Payload)
	}
	type base struct {
		A int `json:"a"`
	}
	type embedding struct {
		base
		Skipped int `json:"-"`
	}
	r = mustRun(t, func(_ *Call, args embedding) (int, error) { return args.A, nil }, `{"a":4}`, nil)
	if string(r.Data) != "4" {
		t.Errorf("embedded: got %s", r.Payload)
	}
}

func TestPayload(t *testing.T) {
	tests := []struct {
		name string
		fn   func(*Call, struct{}) (any, error)
		want string
	}{
		{"nothing", func(*Call, struct{}) (any, error) { return nil, nil },
			`{"status":"success","data":null,"resources":[],"warnings":[],"extensions":{}}`},
		{"everything", func(c *Call, _ struct{}) (any, error) {
			c.Summary("<done>")
			c.Title("T")
			c.View("table")
			c.Primary("out")
			c.Warn("SLOW", "was slow", "/a", map[string]int{"ms": 9})
			c.Advise(Advice{Message: "m"})
			c.Extension("vendor.example", 1)
			return map[string]any{"a": Ref("out")}, nil
		}, `{"status":"success","data":{"a":{"$resource":"out"}},"resources":[],` +
			`"warnings":[{"code":"SLOW","message":"was slow","target":"/a","details":{"ms":9}}],` +
			`"presentation":{"summary":"<done>","preferredView":"table","title":"T","primaryResourceId":"out"},` +
			`"aiAdvice":{"intent":"relay","message":"m","resourceIds":[],"priority":"normal"},"extensions":{"vendor.example":1}}`},
		{"partial", func(c *Call, _ struct{}) (any, error) {
			c.Partial(Errorf("UPSTREAM_ERROR", "2 of 3"))
			return []int{1}, nil
		}, `{"status":"partial","data":[1],"resources":[],"warnings":[],"error":{"code":"UPSTREAM_ERROR","message":"2 of 3"},"extensions":{}}`},
		{"error", func(c *Call, _ struct{}) (any, error) {
			c.Warn("W", "kept", "", nil)
			c.Summary("not kept")
			return "not kept", fmt.Errorf("outer: %w", Errorf("A.B", "no %d", 1).WithTarget("t").WithDetails(map[string]int{"n": 1}).WithRetryable(true))
		}, `{"status":"error","data":null,"resources":[],"warnings":[{"code":"W","message":"kept"}],` +
			`"error":{"code":"A.B","message":"no 1","retryable":true,"target":"t","details":{"n":1}},"extensions":{}}`},
		{"plain error", func(*Call, struct{}) (any, error) { return nil, io.ErrUnexpectedEOF },
			`{"status":"error","data":null,"resources":[],"warnings":[],` +
				`"error":{"code":"PLUGIN.ERROR","message":"unexpected EOF","category":"domain","retryable":false},"extensions":{}}`},
		{"cannot be encoded", func(c *Call, _ struct{}) (any, error) { return math.NaN(), nil },
			`{"status":"error","data":null,"resources":[],"warnings":[],` +
				`"error":{"code":"PLUGIN.ERROR","message":"encode payload: json: unsupported value: NaN","category":"domain","retryable":false},"extensions":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(mustRun(t, tt.fn, `{}`, nil).Payload); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestCommands(t *testing.T) {
	name := func(c *Call, _ struct{}) (string, error) { return c.Command(), nil }
	two := Export(Handle("A", name), Handle("B", name))
	one := Export(Handle("A", name))
	tests := []struct {
		name, command, want string
		plugin              *Plugin
	}{
		{"by name", "B", `"data":"B"`, two},
		{"none of two", "", `"details":{"commands":["A","B"]}`, two},
		{"unknown", "b", `"code":"UNKNOWN_COMMAND"`, two},
		{"none of one", "", `"data":"A"`, one},
		{"none at all", "", `"code":"UNKNOWN_COMMAND"`, Export()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := tt.plugin.Run(tt.command, struct{}{}, nil)
			if err != nil || !strings.Contains(string(r.Payload), tt.want) {
				t.Errorf("got %s, %v, want %s", r.Payload, err, tt.want)
			}
		})
	}
}

func TestInvocation(t *testing.T) {
	p := Export(Handle("Do", func(c *Call, args testArgs) (string, error) {
		r, ok := c.Resource(args.Data)
		return fmt.Sprint(c.InvocationID(), c.Source(), c.Actor().Name, c.Deadline().UnixMilli(), r.MIMEType, r.Size, ok), nil
	}))
	raw := p.serve(&host{}, []byte(`{"command":"Do","arguments":{"data":{"$resource":"r"}},"invocationId":"ti_1","deadlineMs":5,`+
		`"actor":{"type":"user","id":null,"name":"N"},"source":"cli","resources":[{"id":"r","mimeType":"text/csv","sizeBytes":7}],"new":{}}`))
	if want := `"data":"ti_1cliN5text/csv7 true"`; !strings.Contains(string(raw), want) {
		t.Errorf("got %s, want %s", raw, want)
	}
	raw = p.serve(&host{}, []byte(`{"command":`))
	if !strings.Contains(string(raw), `"code":"PLUGIN.ERROR"`) {
		t.Errorf("got %s", raw)
	}
	absent := mustRun(t, func(c *Call, args testArgs) (bool, error) {
		_, ok := c.Resource(args.Data)
		return ok || !c.Deadline().IsZero(), nil
	}, `{}`, nil)
	if string(absent.Data) != "false" {
		t.Errorf("got %s", absent.Payload)
	}
}

func TestHostErrorsKeepTheirNumber(t *testing.T) {
	all := []Errno{ErrNotGranted, ErrNotFound, ErrBadPointer, ErrInvalid, ErrBadHandle, ErrLimit, ErrNoSpace, ErrIO, ErrCanceled, ErrNotSupported, -99}
	seen := map[string]bool{}
	for _, errno := range all {
		for _, function := range []string{"resource_create", "resource_write", "resource_close", "resource_open", "resource_size", "resource_read", "kv_get", "kv_set", "kv_delete"} {
			var got error
			fake := &Fake{Fail: map[string]Errno{function: errno}, Inputs: map[string]Input{"r": {Content: []byte("x")}}}
			mustRun(t, func(c *Call, _ struct{}) (any, error) { got = useAll(c); return nil, nil }, `{}`, fake)
			if !errors.Is(got, errno) {
				t.Errorf("%s, %d: got %v", function, errno, got)
			}
		}
		if seen[errno.Error()] {
			t.Errorf("%d has the text of another: %s", errno, errno)
		}
		seen[errno.Error()] = true
	}
}

// useAll uses each function that can fail, and returns the first failure.
func useAll(c *Call) error {
	if err := c.KV().Set("k", []byte("v")); err != nil {
		return err
	}
	if _, err := c.KV().Get("k"); err != nil {
		return err
	}
	if err := c.KV().Delete("k"); err != nil {
		return err
	}
	r, err := c.Open(Ref("r"))
	if err != nil {
		return err
	}
	if _, err := r.Size(); err != nil {
		return err
	}
	if _, err := io.ReadAll(r); err != nil {
		return err
	}
	w, err := c.CreateResource(Draft{ID: "out"})
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte("x")); err != nil {
		return err
	}
	return errors.Join(w.Close(), r.Close())
}

// TestWriterChunks holds that small writes are collected, large ones go as they
// are, nothing is lost or out of order, and short writes are continued.
func TestWriterChunks(t *testing.T) {
	var got bytes.Buffer
	var sizes []int
	closed := 0
	h := &host{
		resourceWrite: func(_ int32, p []byte) int32 {
			n := min(len(p), 100_000)
			got.Write(p[:n])
			sizes = append(sizes, n)
			return int32(n)
		},
		resourceClose: func(int32) int32 { closed++; return 0 },
	}
	w := &Writer{host: h, handle: 1, id: "out"}
	var want bytes.Buffer
	for i, n := range []int{1, 10, chunk - 11, 1, 0, 3, 250_000, chunk, 7} {
		p := bytes.Repeat([]byte{byte('a' + i)}, n)
		want.Write(p)
		if written, err := w.Write(p); written != n || err != nil {
			t.Fatalf("write %d bytes: got %d, %v", n, written, err)
		}
	}
	if err := errors.Join(w.Close(), w.Close()); err != nil || closed != 1 {
		t.Errorf("close: got %v, %d calls", err, closed)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("got %d bytes, want %d, or another order", got.Len(), want.Len())
	}
	if len(sizes) != 7 {
		t.Errorf("got writes of %v bytes", sizes)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, ErrBadHandle) {
		t.Errorf("write after close: got %v", err)
	}
}

func TestWriterErrorSticks(t *testing.T) {
	for _, answer := range []int32{int32(ErrLimit), 0, 99} {
		calls := 0
		h := &host{
			resourceWrite: func(int32, []byte) int32 { calls++; return answer },
			resourceClose: func(int32) int32 { t.Error("a broken resource was published"); return 0 },
		}
		w := &Writer{host: h, id: "out"}
		_, _ = w.Write([]byte("x"))
		first := w.Close()
		if first == nil || !errors.Is(w.Close(), first) || calls != 1 {
			t.Errorf("answer %d: got %v after %d calls", answer, first, calls)
		}
	}
}

func TestReaderDistrustsTheHost(t *testing.T) {
	r := &Reader{host: &host{resourceRead: func(_ int32, p []byte) int32 { return int32(len(p) + 1) }}}
	if n, err := r.Read(make([]byte, 4)); n != 0 || err == nil {
		t.Errorf("got %d, %v", n, err)
	}
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Errorf("empty buffer: got %d, %v", n, err)
	}
}

func TestReadAgainFromTheBeginning(t *testing.T) {
	fake := &Fake{Inputs: map[string]Input{"r": {Content: []byte("content")}}}
	r := mustRun(t, func(c *Call, _ struct{}) (string, error) {
		var all []byte
		for range 2 {
			in, err := c.Open(Ref("r"))
			if err != nil {
				return "", err
			}
			part, err := io.ReadAll(in)
			if err = errors.Join(err, in.Close(), in.Close()); err != nil {
				return "", err
			}
			if _, err := in.Read(make([]byte, 1)); !errors.Is(err, ErrBadHandle) {
				return "", fmt.Errorf("read after close: %w", err)
			}
			all = append(all, part...)
		}
		return string(all), nil
	}, `{}`, fake)
	if string(r.Data) != `"contentcontent"` {
		t.Errorf("got %s", r.Payload)
	}
}

func TestUnfinishedResource(t *testing.T) {
	r := mustRun(t, func(c *Call, _ struct{}) (any, error) {
		_, err := c.CreateResource(Draft{ID: "out"})
		return nil, err
	}, `{}`, nil)
	if len(r.Resources) != 0 || len(r.Unfinished) != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestProgressIsAFraction(t *testing.T) {
	r := mustRun(t, func(c *Call, _ struct{}) (any, error) {
		for _, x := range []float64{-1, 0.25, 7, math.NaN(), math.Inf(1), math.Inf(-1)} {
			c.Progress("s", x, "")
		}
		return nil, nil
	}, `{}`, nil)
	var got []float64
	for _, event := range r.Progress {
		got = append(got, event.Progress)
	}
	if fmt.Sprint(got) != "[0 0.25 1 0 1 0]" {
		t.Errorf("got %v", got)
	}
}

func TestConfig(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	r := mustRun(t, func(c *Call, _ struct{}) (string, error) {
		a, okA := c.Config("A")
		b, okB := c.Config("B")
		empty, okEmpty := c.Config("EMPTY")
		return fmt.Sprint(a == long, okA, b, okB, empty, okEmpty), nil
	}, `{}`, &Fake{Config: map[string]string{"A": long, "EMPTY": ""}})
	if string(r.Data) != `"true truefalsetrue"` {
		t.Errorf("got %s", r.Data)
	}
}

func TestErrorsCompareByCode(t *testing.T) {
	err := fmt.Errorf("outer: %w", Errorf("A.B", "x: %w", ErrNoSpace))
	if !errors.Is(err, &Error{Code: "A.B"}) || errors.Is(err, &Error{Code: "A.C"}) || !errors.Is(err, ErrNoSpace) {
		t.Errorf("got another identity of %v", err)
	}
}

func TestPanicIsNotCaught(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the panic was swallowed")
		}
	}()
	mustRun(t, func(*Call, struct{}) (any, error) { panic("on purpose") }, `{}`, nil)
}

func TestWarmAsksNothingOfTheHost(t *testing.T) {
	warm() // a host without functions would panic
}
