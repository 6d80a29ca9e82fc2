package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/record"
	"vcphost/host/registry"
	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/identity"
)

const manifest = `{
  "manifestVersion": "1.0.0", "name": "Tiny", "displayName": "Tiny", "version": "1.0.0", "description": "Answers a small object.",
  "pluginType": "synchronous", "entryPoint": { "type": "wasm", "module": "tiny.wasm" },
  "communication": { "protocol": "wasm", "timeout": 20000 },
  "toolResultProtocol": { "name": "vcp.tool-result", "version": "1.0" },
  "capabilities": { "invocationCommands": [ { "commandIdentifier": "Run", "description": "Run.",
    "inputSchema": { "type": "object", "properties": { "command": { "const": "Run" }, "a": { "type": "integer" }, "b": { "type": "integer" } }, "required": ["a", "b"], "additionalProperties": false },
    "outputSchema": { "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"] } } ] }
}`

const callBody = `{"tool":"Tiny","arguments":{"command":"Run","a":2,"b":40},"options":{"view":"canonical"}}`

// parts are the real things behind a server, over Badger on disk.
type parts struct {
	db   kv.DB
	host *host.Host
	api  api.Options
	key  string
}

func newParts(b *testing.B, observers ...host.Observer) parts {
	b.Helper()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	db, err := kv.OpenBadger(b.TempDir(), nil)
	must(err)
	store, err := resources.Open(db, nil)
	must(err)
	results, err := record.New(db, nil)
	must(err)
	box, err := sandbox.New(context.Background(), &sandbox.Options{DB: db})
	must(err)
	guest := wasmbuild.Guest{Payload: []byte(`{"status":"success","data":{"sum":42},"resources":[],"warnings":[],"extensions":{}}`), Pages: 1}.Bytes()
	plugins, err := registry.New([]registry.Source{{Name: "bench", Trusted: true, FS: fstest.MapFS{
		"tiny/plugin-manifest.json": {Data: []byte(manifest)}, "tiny/tiny.wasm": {Data: guest},
	}}}, nil)
	must(err)
	h, err := host.New(host.Options{Registry: plugins, Resources: store, Recorder: results, Observers: observers, Kinds: map[string]host.Kind{"wasm": {
		Trust: abi.TrustWASM,
		Open: func(ctx context.Context, p *registry.Plugin) (host.Transport, error) {
			return box.Open(ctx, sandbox.Module{Name: p.Name, Binary: guest})
		},
	}}})
	must(err)
	keys, err := identity.Open(db, nil)
	must(err)
	secret, _, err := keys.Bootstrap(context.Background())
	must(err)
	b.Cleanup(func() {
		h.Close(context.Background())
		box.Close(context.Background())
		db.Close()
	})
	return parts{db, h, api.Options{Host: h, Registry: plugins, Resources: store, Results: results, Keys: keys}, secret}
}

func listen(b *testing.B) net.Listener {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return listener
}

// BenchmarkHumanToolAgainstFiber runs our endpoint and a bare Fiber handler that
// parses and echoes the same body in alternating rounds, and reports the median
// of the rounds' ratios of requests per second.
func BenchmarkHumanToolAgainstFiber(b *testing.B) {
	p := newParts(b)
	ours := server.New(server.Options{API: p.api})
	oursAt := listen(b)
	go ours.Serve(oursAt)
	defer ours.Close(context.Background())

	bare := fiber.New(fiber.Config{DisableStartupMessage: true})
	bare.Post("/v1/human/tool", func(c *fiber.Ctx) error {
		var body map[string]any
		if err := json.Unmarshal(c.Body(), &body); err != nil {
			return err
		}
		return c.JSON(body)
	})
	bareAt := listen(b)
	go bare.Listener(bareAt)
	defer bare.Shutdown()

	var ratios, rates, latencies []float64
	for range max(b.N, 5) {
		reference, _ := load(b, bareAt, p.key)
		rate, p99 := load(b, oursAt, p.key)
		ratios, rates, latencies = append(ratios, rate/reference), append(rates, rate), append(latencies, p99)
	}
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(rates), "requests/s")
	b.ReportMetric(median(latencies)*1000, "p99-ms")
}

const (
	clients       = 16
	perClient     = 250
	requestsRound = clients * perClient
)

// load sends one round of requests over kept connections and gives requests per
// second and the 99th percentile of their times in seconds.
func load(b *testing.B, at net.Listener, key string) (rate, p99 float64) {
	b.Helper()
	client := &fasthttp.HostClient{Addr: at.Addr().String(), MaxConns: clients}
	defer client.CloseIdleConnections()
	times := make([]float64, requestsRound)
	began := time.Now()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			request.SetRequestURI("http://" + at.Addr().String() + "/v1/human/tool")
			request.Header.SetMethod("POST")
			request.Header.SetContentType("application/json")
			request.Header.Set("Authorization", "Bearer "+key)
			for i := range perClient {
				request.SetBodyString(callBody)
				sent := time.Now()
				if err := client.Do(request, response); err != nil || response.StatusCode() != 200 {
					b.Errorf("status %d: %v", response.StatusCode(), err)
					return
				}
				times[c*perClient+i] = time.Since(sent).Seconds()
			}
		})
	}
	wg.Wait()
	took := time.Since(began).Seconds()
	slices.Sort(times)
	return requestsRound / took, times[len(times)*99/100]
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkExecute is the host's share of a call, without HTTP.
func BenchmarkExecute(b *testing.B) {
	p := newParts(b)
	ctx := context.Background()
	call := func() *abi.Call {
		return &abi.Call{Tool: "Tiny", Arguments: json.RawMessage(`{"command":"Run","a":2,"b":40}`),
			Context: abi.CallContext{Owner: abi.Owner{Tenant: "default", Actor: "bench"}, Source: abi.FromCLI}}
	}
	if result := p.host.Execute(ctx, call()); result.Status != abi.StatusSuccess {
		b.Fatal(fmt.Sprint(result.Error))
	}
	for _, record := range []bool{true, false} {
		b.Run(fmt.Sprintf("record=%v", record), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := call()
				c.Options.NoRecord = !record
				p.host.Execute(ctx, c)
			}
		})
	}
}
