package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server/servertest"
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

// start starts a server of the plugin Tiny over Badger on disk. Its host has the
// observers.
func start(b *testing.B, observers ...host.Observer) *servertest.Server {
	b.Helper()
	return servertest.Start(b, &servertest.Options{
		OnDisk: true, Manifest: manifest,
		Guest:      wasmbuild.Guest{Payload: []byte(`{"status":"success","data":{"sum":42},"resources":[],"warnings":[],"extensions":{}}`), Pages: 1},
		ChangeHost: func(o *host.Options) { o.Observers = observers },
	})
}

// address is where a server listens.
func address(s *servertest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

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
	ours := start(b)
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
		reference, _ := load(b, bareAt.Addr().String(), ours.Secret)
		rate, p99 := load(b, address(ours), ours.Secret)
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
func load(b *testing.B, at, key string) (rate, p99 float64) {
	b.Helper()
	client := &fasthttp.HostClient{Addr: at, MaxConns: clients}
	defer client.CloseIdleConnections()
	times := make([]float64, requestsRound)
	began := time.Now()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			request.SetRequestURI("http://" + at + "/v1/human/tool")
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
	p := start(b)
	ctx := context.Background()
	call := func() *abi.Call {
		return &abi.Call{Tool: "Tiny", Arguments: json.RawMessage(`{"command":"Run","a":2,"b":40}`),
			Context: abi.CallContext{Owner: abi.Owner{Tenant: "default", Actor: "bench"}, Source: abi.FromCLI}}
	}
	if result := p.Host.Execute(ctx, call()); result.Status != abi.StatusSuccess {
		b.Fatal(fmt.Sprint(result.Error))
	}
	for _, record := range []bool{true, false} {
		b.Run(fmt.Sprintf("record=%v", record), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := call()
				c.Options.NoRecord = !record
				p.Host.Execute(ctx, c)
			}
		})
	}
}
