package metrics_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"vcphost/host"
	"vcphost/internal/kv"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/identity"
	"vcphost/server/limit"
	"vcphost/server/metrics"
	"vcphost/server/servertest"
)

// observed is a server with metrics.
func observed(t testing.TB, opts servertest.Options) *servertest.Server {
	t.Helper()
	var m *metrics.Metrics
	limiter := limit.New(limit.Options{Rate: -1, PerKey: -1})
	opts.ChangeHost = func(o *host.Options) {
		m = metrics.New(metrics.Options{Registry: o.Registry, Admission: limiter})
		o.Observers = []host.Observer{m}
	}
	change := opts.Change
	opts.Change = func(o *server.Options) {
		o.API.Metrics, o.API.Admission, o.API.Observers = m, limiter, []api.Observer{m}
		o.API.Process.Version = "v9"
		if change != nil {
			change(o)
		}
	}
	return servertest.Start(t, &opts)
}

func TestCallersCannotMakeSeries(t *testing.T) {
	s := observed(t, servertest.Options{})
	s.Do(t, "GET", "/metrics", "", "") // makes the series of its own route
	series := func() int {
		status, _, body := s.Do(t, "GET", "/metrics", "", "")
		if status != 200 {
			t.Fatalf("got %d %s", status, body)
		}
		return len(regexp.MustCompile(`(?m)^vcphost_(calls|http|call)_`).FindAll(body, -1))
	}
	flood := func(from int) {
		for i := from; i < from+100; i++ {
			s.Do(t, "POST", "/v1/human/tool", "application/json", fmt.Sprintf(`{"tool":"Tool%d","arguments":{}}`, i))
			s.Do(t, "POST", fmt.Sprintf("/v1/tools/Tiny/Command%d", i), "application/json", `{}`)
			s.Do(t, "GET", fmt.Sprintf("/v1/nowhere/%d", i), "", "")
			s.Do(t, "GET", fmt.Sprintf("/v1/results/%d", i), "", "")
			s.Do(t, fmt.Sprintf("METHOD%d", i), "/v1/tools", "", "")
			s.As("").Do(t, "GET", "/v1/tools", "", "")
		}
	}
	flood(0)
	before := series()
	flood(1000)
	if after := series(); after != before {
		t.Errorf("there were %d series and now are %d", before, after)
	}
	_, _, body := s.Do(t, "GET", "/metrics", "", "")
	wantLines(t, string(body),
		`vcphost_calls_total{status="error",tool="unknown",transport="none",trust="none"} 200`,
		`vcphost_calls_total{status="error",tool="Tiny",transport="wasm",trust="wasm"} 200`,
		`vcphost_calls_running 0`, `vcphost_http_requests_running 1`, `vcphost_plugins{state="ready"} 1`,
		`vcphost_call_step_errors_total{code="TOOL_NOT_FOUND",step="resolve"} 200`)
	if !strings.Contains(string(body), `vcphost_http_request_duration_seconds_count{route="unrouted",status="404"} 200`) {
		t.Errorf("what no route takes is not told:\n%s", regexp.MustCompile(`.*_count\{route="unrouted.*`).FindAll(body, -1))
	}
}

func TestMetricsAndStatisticsNeedTheirScope(t *testing.T) {
	s := observed(t, servertest.Options{})
	reader := s.As(s.Key(t, identity.KeySpec{Scopes: identity.Scopes{identity.ScopeStatsRead}}))
	other := s.As(s.Key(t, identity.KeySpec{Scopes: identity.Scopes{identity.ScopeResultsRead}}))
	for _, path := range []string{"/metrics", "/v1/stats"} {
		for _, test := range []struct {
			name string
			as   *servertest.Server
			want int
		}{{"nobody", s.As(""), 401}, {"another scope", other, 403}, {"the scope", reader, 200}, {"an administrator", s, 200}} {
			if status, _, body := test.as.Do(t, "GET", path, "", ""); status != test.want {
				t.Errorf("%s as %s: got %d %s, want %d", path, test.name, status, body, test.want)
			}
		}
	}
}

func TestStatistics(t *testing.T) {
	s := observed(t, servertest.Options{Change: func(o *server.Options) {
		o.API.Gauges.Store = func() (kv.Usage, bool, error) {
			return kv.Usage{FreeBytes: 10 + kv.MaxBatchBytes, FloorBytes: 4}, true, nil
		}
	}})
	for range 3 {
		s.Do(t, "POST", "/v1/tools/Tiny/Run", "application/json", `{}`)
	}
	s.Do(t, "POST", "/v1/tools/Nobody/Run", "application/json", `{}`)
	status, _, body := s.Do(t, "GET", "/v1/stats", "", "")
	var told struct {
		Version, StartedAt string
		UptimeSeconds      float64
		CallsRunning       *int
		Calls              []api.CallCount
		Plugins            map[string]int
		Queue              *limit.Stats
		Store              *struct {
			FreeBytes int64
			Short     bool
		}
		Sandbox    *struct{ OpenModules, Instances int64 }
		Memory     struct{ HeapBytes, TotalBytes uint64 }
		Goroutines int
	}
	if err := json.Unmarshal(body, &told); status != 200 || err != nil {
		t.Fatalf("got %d %s (%v)", status, body, err)
	}
	counts := map[string]uint64{}
	for _, count := range told.Calls {
		counts[count.Tool+" "+count.Status+" "+count.Transport] = count.Count
	}
	if counts["Tiny success wasm"] != 3 || counts["unknown error none"] != 1 || len(counts) != 2 {
		t.Errorf("the calls are %v", counts)
	}
	if told.Version != "v9" || told.StartedAt == "" || told.UptimeSeconds <= 0 || told.CallsRunning == nil || *told.CallsRunning != 0 ||
		told.Plugins["ready"] != 1 || told.Queue == nil || told.Queue.Admitted != 4 || told.Store == nil || told.Store.FreeBytes != 10+kv.MaxBatchBytes || told.Store.Short ||
		told.Sandbox == nil || told.Sandbox.OpenModules != 1 || told.Sandbox.Instances != 2 ||
		told.Memory.HeapBytes == 0 || told.Memory.TotalBytes < told.Memory.HeapBytes || told.Goroutines == 0 {
		t.Errorf("the statistics are %s", body)
	}
}

func TestAServerWithoutMetricsStillHasStatistics(t *testing.T) {
	s := servertest.Start(t, nil)
	if status, _, body := s.Do(t, "GET", "/metrics", "", ""); status != 404 {
		t.Errorf("got %d %s, want 404", status, body)
	}
	status, _, body := s.Do(t, "GET", "/v1/stats", "", "")
	if status != 200 || !strings.Contains(string(body), `"calls":[]`) || !strings.Contains(string(body), `"store":null`) {
		t.Errorf("got %d %s", status, body)
	}
}

func TestReadinessNamesWhatIsDegraded(t *testing.T) {
	usage := kv.Usage{FreeBytes: 10 + kv.MaxBatchBytes, FloorBytes: 4}
	module := wasmbuild.Guest{}.Bytes()
	s := observed(t, servertest.Options{
		Plugins: fstest.MapFS{
			"tiny/plugin-manifest.json":    {Data: []byte(servertest.Manifest)},
			"tiny/tiny.wasm":               {Data: []byte("no module at all")},
			"good/plugin-manifest.json":    {Data: []byte(strings.ReplaceAll(servertest.Manifest, `"Tiny"`, `"Good"`))},
			"good/tiny.wasm":               {Data: module},
			"refused/plugin-manifest.json": {Data: []byte(`{"name":"Refused"}`)},
		},
		Change: func(o *server.Options) {
			o.API.Gauges.Store = func() (kv.Usage, bool, error) { return usage, true, nil }
		},
	})
	want := func(status int, report string) {
		t.Helper()
		got, header, body := s.As("").Do(t, "GET", "/readyz", "", "")
		if got != status || string(body) != report || (header.Get("Retry-After") == "") != (status == 200) {
			t.Errorf("got %d %s, want %d %s", got, body, status, report)
		}
	}
	want(200, `{"status":"ok","degraded":["plugin Refused"]}`)
	s.Do(t, "POST", "/v1/tools/Tiny/Run", "application/json", `{}`)
	s.Do(t, "POST", "/v1/tools/Good/Run", "application/json", `{}`)
	want(200, `{"status":"ok","degraded":["plugin Refused","plugin Tiny"]}`)
	usage.FreeBytes = 3 + kv.MaxBatchBytes
	want(503, `{"status":"unavailable","degraded":["plugin Refused","plugin Tiny","store: not enough free disk space"]}`)
	usage.FreeBytes = 4 + kv.MaxBatchBytes
	want(200, `{"status":"ok","degraded":["plugin Refused","plugin Tiny"]}`)
}
