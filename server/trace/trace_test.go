package trace_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"vcphost/host"
	"vcphost/internal/lockbuf"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/logs"
	"vcphost/server/servertest"
	"vcphost/server/trace"
)

// receiver takes traces as a collector does.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*wire.Span
	resource map[string]string
	header   http.Header
	raw      bytes.Buffer
	status   int // to answer with; zero is 200
}

func receive(t testing.TB) *receiver {
	r := &receiver{resource: map[string]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var batch collector.ExportTraceServiceRequest
		if request.URL.Path != "/base/v1/traces" || request.Header.Get("Content-Type") != "application/x-protobuf" || err != nil || proto.Unmarshal(body, &batch) != nil {
			t.Errorf("got %s %v (%v)", request.URL, request.Header, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.status != 0 {
			w.WriteHeader(r.status)
			return
		}
		r.header = request.Header
		r.raw.Write(body)
		for _, of := range batch.ResourceSpans {
			for _, a := range of.Resource.Attributes {
				r.resource[a.Key] = a.Value.GetStringValue()
			}
			for _, scope := range of.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
		answer, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
		_, _ = w.Write(answer)
	}))
	t.Cleanup(r.Close)
	return r
}

func attributes(span *wire.Span) map[string]string {
	all := map[string]string{}
	for _, a := range span.Attributes {
		all[a.Key] = a.Value.GetStringValue()
		if n := a.Value.GetIntValue(); n != 0 {
			all[a.Key] = fmt.Sprint(n)
		}
	}
	return all
}

// open waits for requests whose client has its answer already to end.
type open struct{ sync.WaitGroup }

func (o *open) RequestBegins(ctx context.Context, _ api.RequestBegin) context.Context {
	o.Add(1)
	return ctx
}

func (o *open) RequestEnds(context.Context, api.RequestEnd) { o.Done() }

// traced is a server with a tracer; the returned function waits for all requests
// and sends what is left.
func traced(t *testing.T, opts trace.Options, logTo io.Writer) (*servertest.Server, func()) {
	t.Helper()
	tracer, err := trace.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	var requests open
	logger := logs.New(logTo, &logs.Options{Level: slog.LevelDebug, Context: trace.LogAttrs})
	s := servertest.Start(t, &servertest.Options{
		ChangeHost: func(o *host.Options) { o.Observers, o.Logger = []host.Observer{tracer}, logger },
		Change:     func(o *server.Options) { o.API.Observers, o.Logger = []api.Observer{tracer, &requests}, logger },
	})
	return s, func() {
		requests.Wait()
		if err := tracer.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func do(t *testing.T, s *servertest.Server, path, body string, header map[string]string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.Secret)
	request.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response
}

const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
	caller      = "00-" + callerTrace + "-" + callerSpan + "-01"
)

func TestARequestIsOneTrace(t *testing.T) {
	r := receive(t)
	var log lockbuf.Buffer
	s, send := traced(t, trace.Options{Endpoint: r.URL + "/base/", Headers: map[string]string{"X-Collector": "yes"}, Version: "v9"}, &log)
	response := do(t, s, "/v1/tools/Tiny/Run", `{"n":1}`, map[string]string{"Traceparent": caller, "Tracestate": "vendor=1", "X-Request-Id": "mine"})
	send()

	if r.header.Get("X-Collector") != "yes" || r.resource["service.name"] != "vcphost" || r.resource["service.version"] != "v9" {
		t.Errorf("sent with %v as %v", r.header, r.resource)
	}
	spans := map[string]*wire.Span{}
	var order []string
	for _, span := range r.spans {
		if hex.EncodeToString(span.TraceId) != callerTrace || span.Name == "GET /healthz" {
			continue // of the request that servertest makes
		}
		spans[span.Name] = span
		order = append(order, span.Name)
	}
	want := []string{}
	for _, step := range host.Steps() {
		want = append(want, string(step))
	}
	want = append(want, "call Tiny.Run", "POST /v1/tools/{tool}/{command}")
	if !slices.Equal(order, want) {
		t.Fatalf("the spans are %q, want %q", order, want)
	}
	request, call := spans["POST /v1/tools/{tool}/{command}"], spans["call Tiny.Run"]
	if hex.EncodeToString(request.ParentSpanId) != callerSpan || !bytes.Equal(call.ParentSpanId, request.SpanId) || request.Kind != wire.Span_SPAN_KIND_SERVER || request.TraceState != "vendor=1" {
		t.Errorf("the request's span is %v, the call's %v", request, call)
	}
	if got, want := response.Header.Get("Traceparent"), "00-"+callerTrace+"-"+hex.EncodeToString(request.SpanId)+"-01"; got != want {
		t.Errorf("the answer names %q, want %q", got, want)
	}
	told := attributes(request)
	if told["http.route"] != "/v1/tools/{tool}/{command}" || told["http.request.method"] != "POST" || told["http.response.status_code"] != "200" || told["vcp.request.id"] != "mine" || !strings.HasPrefix(told["vcp.key.id"], "key_") {
		t.Errorf("the request's attributes are %v", told)
	}
	told = attributes(call)
	if told["vcp.tool"] != "Tiny" || told["vcp.command"] != "Run" || told["vcp.status"] != "success" || told["vcp.transport"] != "wasm" || told["vcp.trust"] != "wasm" || !strings.HasPrefix(told["vcp.invocation.id"], "ti_") {
		t.Errorf("the call's attributes are %v", told)
	}
	at := call.StartTimeUnixNano
	for _, step := range host.Steps() {
		span := spans[string(step)]
		if !bytes.Equal(span.ParentSpanId, call.SpanId) || span.StartTimeUnixNano < at || span.EndTimeUnixNano < span.StartTimeUnixNano || span.EndTimeUnixNano > call.EndTimeUnixNano {
			t.Errorf("the step %s is not within the call: %v", step, span)
		}
		at = span.EndTimeUnixNano
	}
	if line := regexp.MustCompile(`.*"requestId":"mine".*`).FindString(log.String()); !strings.Contains(line, `"traceId":"`+callerTrace+`"`) || !strings.Contains(line, `"invocationId":"`+told["vcp.invocation.id"]+`"`) {
		t.Errorf("the line of the request is %q", line)
	}
}

func TestErrorsAreMarked(t *testing.T) {
	r := receive(t)
	s, send := traced(t, trace.Options{Endpoint: r.URL + "/base"}, io.Discard)
	do(t, s, "/v1/tools/Nobody/Run", `{}`, nil)
	do(t, s, "/v1/tools/Tiny/Run", `{"n":"no number"}`, nil)
	do(t, s, "/v1/nowhere", `{}`, nil)
	send()
	failed := map[string]string{}
	names := map[string]bool{}
	for _, span := range r.spans {
		names[span.Name] = true
		if span.Status.GetCode() == wire.Status_STATUS_CODE_ERROR {
			failed[span.Name] = attributes(span)["error.type"]
		}
	}
	want := map[string]string{"call unknown": "TOOL_NOT_FOUND", "resolve": "TOOL_NOT_FOUND", "call Tiny.Run": "INVALID_ARGUMENT", "checkIn": "INVALID_ARGUMENT"}
	if len(failed) != len(want) || !names[api.UnroutedRoute] {
		t.Errorf("failed are %v of %v, want %v", failed, names, want)
	}
	for name, code := range want {
		if failed[name] != code {
			t.Errorf("%s failed with %q, want %q", name, failed[name], code)
		}
	}
}

func TestAStreamIsTracedToItsEnd(t *testing.T) {
	r := receive(t)
	s, send := traced(t, trace.Options{Endpoint: r.URL + "/base"}, io.Discard)
	do(t, s, "/v1/tools/Tiny/Run", `{}`, map[string]string{"Accept": "text/event-stream", "Traceparent": caller})
	send()
	var call, request *wire.Span
	for _, span := range r.spans {
		switch {
		case hex.EncodeToString(span.TraceId) != callerTrace:
		case span.Name == "call Tiny.Run":
			call = span
		case strings.HasPrefix(span.Name, "POST "):
			request = span
		}
	}
	if call == nil || request == nil || !bytes.Equal(call.ParentSpanId, request.SpanId) || request.EndTimeUnixNano < call.EndTimeUnixNano {
		t.Errorf("the call is %v, its request %v", call, request)
	}
}

func TestTheCallersSamplingIsHeeded(t *testing.T) {
	r := receive(t)
	s, send := traced(t, trace.Options{Endpoint: r.URL + "/base"}, io.Discard)
	response := do(t, s, "/v1/tools/Tiny/Run", `{}`, map[string]string{"Traceparent": strings.TrimSuffix(caller, "01") + "00"})
	if got := response.Header.Get("Traceparent"); !strings.HasPrefix(got, "00-"+callerTrace+"-") || !strings.HasSuffix(got, "-00") {
		t.Errorf("the answer names %q", got)
	}
	for _, bad := range []string{"nonsense", "00-" + strings.Repeat("0", 32) + "-" + callerSpan + "-01", caller + strings.Repeat("x", 5000), "ff-" + callerTrace + "-" + callerSpan + "-01"} {
		response := do(t, s, "/v1/tools/Tiny/Run", `{}`, map[string]string{"Traceparent": bad})
		if got := response.Header.Get("Traceparent"); !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`).MatchString(got) || strings.Contains(got, callerTrace) {
			t.Errorf("to %.60q the answer names %q", bad, got)
		}
	}
	send()
	for _, span := range r.spans {
		if hex.EncodeToString(span.TraceId) == callerTrace {
			t.Errorf("%s was sent, and its caller did not want that", span.Name)
		}
	}
}

func TestNoSpanShowsASecret(t *testing.T) {
	r := receive(t)
	s, send := traced(t, trace.Options{Endpoint: r.URL + "/base"}, io.Discard)
	do(t, s, "/v1/tools/Tiny/Other?view="+s.Secret, `{"password":"`+s.Secret+`"}`, map[string]string{"X-Request-Id": s.Secret, "User-Agent": s.Secret})
	do(t, s, "/v1/tools/"+s.Secret+"/Run", `{}`, nil)
	do(t, s, "/v1/human/tool", `{"tool":"`+s.Secret+`","arguments":{}}`, nil)
	send()
	if len(r.spans) == 0 || strings.Contains(r.raw.String(), s.Secret[len(s.Secret)-40:]) {
		t.Errorf("of %d spans one shows the key", len(r.spans))
	}
}

func TestAReceiverThatFailsHoldsNothingUp(t *testing.T) {
	r := receive(t)
	r.status = http.StatusBadRequest
	var log lockbuf.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	tracer, err := trace.New(t.Context(), trace.Options{Endpoint: r.URL + "/base", Logger: logger, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * 512 { // two batches
		tracer.RequestEnds(tracer.RequestBegins(context.Background(), api.RequestBegin{Route: "GET /healthz"}), api.RequestEnd{Status: 200})
	}
	for range 2 {
		if err := tracer.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if count := strings.Count(log.String(), "traces cannot be sent"); count != 1 {
		t.Errorf("the failure was logged %d times: %s", count, log.String())
	}
}

func TestBadOptions(t *testing.T) {
	for _, test := range []struct {
		name string
		opts trace.Options
	}{
		{"no endpoint", trace.Options{}},
		{"another scheme", trace.Options{Endpoint: "grpc://collector:4317"}},
		{"no host", trace.Options{Endpoint: "http:///v1/traces"}},
		{"no URL", trace.Options{Endpoint: "http://[::1:4318 hidden"}},
		{"a password", trace.Options{Endpoint: "http://user:hidden@collector:4318"}},
		{"too much", trace.Options{Endpoint: "http://collector:4318", Ratio: 1.5}},
		{"less than nothing", trace.Options{Endpoint: "http://collector:4318", Ratio: -1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := trace.New(t.Context(), test.opts); err == nil || strings.Contains(err.Error(), "hidden") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	r := receive(t)
	s, send := traced(t, trace.Options{Endpoint: r.URL + "/base"}, io.Discard)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 4 {
				s.Do(t, "POST", "/v1/tools/Tiny/Run", "application/json", `{}`)
			}
		})
	}
	wg.Wait()
	send()
	traces := map[string]int{}
	for _, span := range r.spans {
		traces[string(span.TraceId)]++
	}
	whole := 0
	for _, spans := range traces {
		if spans == len(host.Steps())+2 {
			whole++
		}
	}
	if whole != 64 {
		t.Errorf("%d whole traces, want 64", whole)
	}
}
