package metrics_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/internal/kv"
	"vcphost/sandbox"
	"vcphost/server/api"
	"vcphost/server/identity"
	"vcphost/server/limit"
	"vcphost/server/metrics"
)

func page(t testing.TB, m *metrics.Metrics, accept string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := m.Write(&out, accept); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func wantLines(t testing.TB, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+text, "\n"+line+"\n") {
			name, _, _ := strings.Cut(line, "{")
			name, _, _ = strings.Cut(name, " ")
			t.Errorf("there is no line %s among\n%s", line, strings.Join(regexp.MustCompile(`(?m)^`+name+`.*$`).FindAllString(text, -1), "\n"))
		}
	}
}

func ended(tool, transport string, trust abi.Trust, status abi.Status, took time.Duration) host.CallEnd {
	start := time.Unix(1000, 0)
	return host.CallEnd{
		Tool: tool, Command: "Run", Transport: transport, Trust: trust,
		Start: start, End: start.Add(took), Result: &abi.Result{Status: status},
	}
}

func TestCallsAreCounted(t *testing.T) {
	m := metrics.New(metrics.Options{Version: "v1.2.3"})
	ctx := context.Background()
	for _, end := range []host.CallEnd{
		ended("Tiny", "wasm", abi.TrustWASM, abi.StatusSuccess, 3*time.Millisecond),
		ended("Tiny", "wasm", abi.TrustWASM, abi.StatusSuccess, 7*time.Millisecond),
		ended("Tiny", "wasm", abi.TrustWASM, abi.StatusTimeout, -time.Second),
		ended("", "", "", abi.StatusError, time.Minute),
		ended("bad\xff", "wasm", abi.TrustWASM, abi.StatusError, time.Minute),
	} {
		m.CallEnds(m.CallBegins(ctx, &abi.Call{Tool: "never a label"}), end)
	}
	m.CallBegins(ctx, &abi.Call{})
	text := page(t, m, "")
	wantLines(t, text,
		`vcphost_calls_total{status="success",tool="Tiny",transport="wasm",trust="wasm"} 2`,
		`vcphost_calls_total{status="timeout",tool="Tiny",transport="wasm",trust="wasm"} 1`,
		`vcphost_calls_total{status="error",tool="unknown",transport="none",trust="none"} 1`,
		`vcphost_call_duration_seconds_bucket{tool="Tiny",transport="wasm",le="0.005"} 2`,
		`vcphost_call_duration_seconds_count{tool="Tiny",transport="wasm"} 3`,
		`vcphost_calls_running 1`)
	if strings.Contains(text, "never a label") || !strings.Contains(text, `vcphost_build_info{goversion="go`) || !strings.Contains(text, "go_goroutines ") {
		t.Errorf("got\n%s", text)
	}
	var total uint64
	for _, count := range m.Calls() {
		total += count.Count
		if count.Tool == "Tiny" && count.Status == "success" && count != (api.CallCount{Tool: "Tiny", Status: "success", Transport: "wasm", Trust: "wasm", Count: 2}) {
			t.Errorf("counted %+v", count)
		}
	}
	if total != 5 {
		t.Errorf("%d calls were counted, want 5", total)
	}
}

func TestStepsAreTimed(t *testing.T) {
	m := metrics.New(metrics.Options{})
	at := time.Unix(1000, 0)
	for i := range 100 {
		m.StepEnds(context.Background(), host.StepTiming{Step: host.StepInvoke, Start: at, End: at.Add(3 * time.Millisecond), Code: fmt.Sprintf("PLUGIN.MADE_UP_%d", i)})
	}
	m.StepEnds(context.Background(), host.StepTiming{Step: host.StepResolve, Start: at, End: at, Code: abi.CodeToolNotFound})
	m.StepEnds(context.Background(), host.StepTiming{Step: host.StepKeep, Start: at, End: at, Code: abi.WarningResultNotKept})
	m.StepEnds(context.Background(), host.StepTiming{Step: "none of them", Start: at, End: at})
	wantLines(t, page(t, m, ""),
		`vcphost_call_step_duration_seconds_bucket{step="invoke",le="0.001"} 0`,
		`vcphost_call_step_duration_seconds_bucket{step="invoke",le="0.005"} 100`,
		`vcphost_call_step_errors_total{code="other",step="invoke"} 100`,
		`vcphost_call_step_errors_total{code="TOOL_NOT_FOUND",step="resolve"} 1`,
		`vcphost_call_step_errors_total{code="RESULT_NOT_KEPT",step="keep"} 1`,
		`vcphost_call_step_duration_seconds_count{step="adopt"} 0`)
}

func TestRequestsAreTimed(t *testing.T) {
	m := metrics.New(metrics.Options{})
	for _, status := range []int{200, 404, 0, -1, 1234, 599} {
		ctx := m.RequestBegins(context.Background(), api.RequestBegin{Route: "GET /healthz"})
		m.RequestEnds(ctx, api.RequestEnd{Route: "GET /healthz", Status: status, Took: time.Second})
	}
	m.RequestBegins(context.Background(), api.RequestBegin{Route: "GET /healthz"})
	wantLines(t, page(t, m, ""),
		`vcphost_http_request_duration_seconds_count{route="GET /healthz",status="200"} 1`,
		`vcphost_http_request_duration_seconds_count{route="GET /healthz",status="404"} 1`,
		`vcphost_http_request_duration_seconds_count{route="GET /healthz",status="other"} 3`,
		`vcphost_http_requests_running 1`)
}

func TestPartsAreRead(t *testing.T) {
	limiter := limit.New(limit.Options{InFlight: 7})
	release, err := limiter.Admit(t.Context(), &identity.Identity{KeyID: "key_1"})
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	usage, measured := kv.Usage{TableBytes: 1, ValueLogBytes: 2, FreeBytes: 3, FloorBytes: 4}, true
	m := metrics.New(metrics.Options{Admission: limiter, Gauges: api.Gauges{
		Store: func() (kv.Usage, bool, error) { return usage, measured, nil },
		Sandbox: func() sandbox.Figures {
			return sandbox.Figures{OpenModules: 5, RunningInstances: 6, Instances: 7, Failures: 8}
		},
	}})
	text := page(t, m, "")
	wantLines(t, text,
		`vcphost_queue_in_flight 1`, `vcphost_queue_in_flight_max 7`, `vcphost_queue_waiting 0`, `vcphost_queue_admitted_total 1`,
		`vcphost_queue_refused_total{reason="rate"} 0`,
		`vcphost_store_bytes{part="tables"} 1`, `vcphost_store_bytes{part="valueLog"} 2`, `vcphost_store_free_bytes 3`, `vcphost_store_floor_bytes 4`,
		`vcphost_sandbox_open_modules 5`, `vcphost_sandbox_running_instances 6`, `vcphost_sandbox_instances_total 7`, `vcphost_sandbox_failures_total 8`)
	measured = false
	if text := page(t, m, ""); strings.Contains(text, "vcphost_store_") {
		t.Error("a store that cannot be measured is told")
	}
}

func TestTheFormatIsNegotiated(t *testing.T) {
	m := metrics.New(metrics.Options{})
	for _, test := range []struct{ name, accept, want, ends string }{
		{"none", "", "text/plain; version=0.0.4", "\n"},
		{"anything", "*/*", "text/plain; version=0.0.4", "\n"},
		{"nonsense", "\x00;;,", "text/plain; version=0.0.4", "\n"},
		{"OpenMetrics", "application/openmetrics-text;version=1.0.0", "application/openmetrics-text; version=1.0.0", "# EOF\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			kind, err := m.Write(&out, test.accept)
			if err != nil || !strings.HasPrefix(kind, test.want) || !strings.HasSuffix(out.String(), test.ends) {
				t.Errorf("got %q, %v", kind, err)
			}
		})
	}
}

func TestManyCountAndRead(t *testing.T) {
	m := metrics.New(metrics.Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				ctx := m.CallBegins(context.Background(), nil)
				m.StepEnds(ctx, host.StepTiming{Step: host.StepInvoke, Code: abi.CodeToolTimeout})
				m.CallEnds(ctx, ended("Tiny", "wasm", abi.TrustWASM, abi.StatusTimeout, 1))
			}
		})
		wg.Go(func() {
			for range 5 {
				page(t, m, "")
				m.Calls()
			}
		})
	}
	wg.Wait()
	if counts := m.Calls(); len(counts) != 1 || counts[0].Count != 1600 {
		t.Errorf("counted %+v, want 1600 of one sort", counts)
	}
}

func TestObservingAllocatesNothing(t *testing.T) {
	m := metrics.New(metrics.Options{})
	end, at := ended("Tiny", "wasm", abi.TrustWASM, abi.StatusSuccess, 1), time.Now()
	ctx := context.Background()
	allocated := testing.AllocsPerRun(1000, func() {
		ctx := m.CallBegins(ctx, nil)
		for _, step := range []host.Step{host.StepResolve, host.StepInvoke, host.StepKeep} {
			m.StepEnds(ctx, host.StepTiming{Step: step, Start: at, End: at})
		}
		m.CallEnds(ctx, end)
	})
	if allocated > 0 {
		t.Errorf("an observed call allocates %v times", allocated)
	}
}
