package api

import (
	"bytes"
	"io"
	"runtime/metrics"
	"time"

	"vcphost/host"
	"vcphost/internal/kv"
	"vcphost/sandbox"
	"vcphost/server/identity"
	"vcphost/server/limit"
)

// Metrics are the figures of the process as Prometheus reads them.
type Metrics interface {
	// Write writes all of them in the format that an Accept header asks for, and
	// tells its content type.
	Write(w io.Writer, accept string) (contentType string, err error)
	// Calls counts the calls that are over, in no order.
	Calls() []CallCount
}

// CallCount is how many calls of a tool ended with a status.
type CallCount struct {
	Tool      string `json:"tool"` // "unknown" for all that the registry does not know
	Status    string `json:"status"`
	Transport string `json:"transport"` // "none" where the host has none for the tool
	Trust     string `json:"trust"`     // "none" with it
	Count     uint64 `json:"count"`
}

// Gauges read figures of parts that the API has no other business with. Nil
// ones are left out.
type Gauges struct {
	// Store measures the store; see [kv.Measure].
	Store   func() (usage kv.Usage, measured bool, err error)
	Sandbox func() sandbox.Figures
	// FailedPlugins names the plugins whose transport could not be opened.
	FailedPlugins func() []string
}

// Queue tells the figures of an Admission that has some.
func Queue(admission Admission) (stats limit.Stats, ok bool) {
	queue, ok := admission.(interface{ Stats() limit.Stats })
	if !ok {
		return limit.Stats{}, false
	}
	return queue.Stats(), true
}

func (a *API) statsRoutes() []Route {
	routes := []Route{{
		Method: "GET", Path: "/v1/stats", Scope: identity.ScopeStatsRead, OperationID: "stats",
		Summary: "Figures of the process: calls, queue, store, sandbox, memory",
		Doc:     Doc{Responses: map[int]Content{200: {jsonType, "Stats"}}},
		Handle:  func(r *Request) error { return r.Encode(a.stats()) },
	}}
	if a.opts.Metrics == nil {
		return routes
	}
	return append(routes, Route{
		Method: "GET", Path: "/metrics", Scope: identity.ScopeStatsRead, OperationID: "metrics",
		Summary: "The same and more in the text formats of Prometheus",
		Doc:     Doc{Responses: map[int]Content{200: {"text/plain", ""}}},
		Handle:  a.writeMetrics,
	})
}

// statistics is the answer of /v1/stats. A part that the server does not have is
// null.
type statistics struct {
	Version       string         `json:"version"`
	StartedAt     string         `json:"startedAt"`
	UptimeSeconds float64        `json:"uptimeSeconds"`
	Running       int            `json:"callsRunning"`
	Calls         []CallCount    `json:"calls"`
	Plugins       map[string]int `json:"plugins"` // by state
	// Breakers are the circuit breakers, one a plugin, sorted by name.
	Breakers   []host.BreakerStatus `json:"breakers"`
	Queue      *limit.Stats         `json:"queue"`
	Store      *storeStats          `json:"store"`
	Sandbox    *sandboxStats        `json:"sandbox"`
	Memory     memoryStats          `json:"memory"`
	Goroutines uint64               `json:"goroutines"`
}

type storeStats struct {
	TableBytes    int64 `json:"tableBytes"`
	ValueLogBytes int64 `json:"valueLogBytes"`
	FreeBytes     int64 `json:"freeBytes"`
	FloorBytes    int64 `json:"floorBytes"`
	Short         bool  `json:"short"`
}

type sandboxStats struct {
	OpenModules      int64 `json:"openModules"`
	RunningInstances int64 `json:"runningInstances"`
	Instances        int64 `json:"instances"`
	Failures         int64 `json:"failures"`
}

type memoryStats struct {
	HeapBytes  uint64 `json:"heapBytes"`  // of objects, live ones and garbage
	TotalBytes uint64 `json:"totalBytes"` // that the Go run-time has of the system
	GCCycles   uint64 `json:"gcCycles"`
}

func (a *API) stats() statistics {
	s := statistics{
		Version: a.opts.Process.Version, StartedAt: a.started.UTC().Format(time.RFC3339),
		UptimeSeconds: a.opts.Now().Sub(a.started).Seconds(),
		Running:       a.running.count(), Calls: []CallCount{}, Plugins: map[string]int{},
	}
	if a.opts.Metrics != nil {
		s.Calls = append(s.Calls, a.opts.Metrics.Calls()...)
	}
	for _, plugin := range a.opts.Registry.Snapshot().Plugins() {
		s.Plugins[string(plugin.State)]++
	}
	s.Breakers = a.breakerStates()
	if queue, ok := Queue(a.opts.Admission); ok {
		s.Queue = &queue
	}
	if usage, ok := a.storeUsage(); ok {
		s.Store = &storeStats{usage.TableBytes, usage.ValueLogBytes, usage.FreeBytes, usage.FloorBytes, usage.Short()}
	}
	if read := a.opts.Gauges.Sandbox; read != nil {
		figures := sandboxStats(read())
		s.Sandbox = &figures
	}
	s.Memory, s.Goroutines = readRuntime()
	return s
}

// storeUsage measures the store if it can be measured. One that fails is told of
// by whoever writes to it.
func (a *API) storeUsage() (kv.Usage, bool) {
	if a.opts.Gauges.Store == nil {
		return kv.Usage{}, false
	}
	usage, measured, err := a.opts.Gauges.Store()
	return usage, measured && err == nil
}

// readRuntime reads without stopping the process, as runtime.ReadMemStats would.
func readRuntime() (memory memoryStats, goroutines uint64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/sched/goroutines:goroutines"},
	}
	metrics.Read(samples)
	return memoryStats{samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64()}, samples[3].Value.Uint64()
}

func (a *API) writeMetrics(r *Request) error {
	var body bytes.Buffer
	contentType, err := a.opts.Metrics.Write(&body, r.Header("Accept"))
	if err != nil {
		return err
	}
	r.fiber.Set("Content-Type", contentType)
	r.fiber.Response().SetBodyRaw(body.Bytes())
	return nil
}
