package metrics_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/hosttest"
	"vcphost/host/registry"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server/metrics"
	"vcphost/server/servertest"
	"vcphost/server/trace"
)

// still is a transport that only answers.
type still struct{}

func (still) Invoke(context.Context, *abi.Invocation) (*abi.Reply, error) {
	return &abi.Reply{Payload: []byte(`{"status":"success","data":{"sum":42}}`)}, nil
}

func (still) Close(context.Context) error { return nil }

// BenchmarkAnObservedCall runs the same calls through a host without observers
// and one with them, over the same store, by turns, and reports the ratio of the
// medians of their times: 1 is no cost. Medians, because whatever else the
// machine does hits single calls.
func BenchmarkAnObservedCall(b *testing.B) {
	guest := wasmbuild.Guest{}.Bytes()
	box, err := sandbox.New(context.Background(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { box.Close(context.Background()) })
	inSandbox := func(ctx context.Context, p *registry.Plugin) (host.Transport, error) {
		return box.Open(ctx, sandbox.Module{Name: p.Name, Binary: guest})
	}
	alone := func(context.Context, *registry.Plugin) (host.Transport, error) { return still{}, nil }
	counted := []host.Observer{metrics.New(metrics.Options{})}
	for _, bench := range []struct {
		name      string
		open      func(context.Context, *registry.Plugin) (host.Transport, error)
		noRecord  bool
		observers []host.Observer
	}{
		{"metrics/sandbox", inSandbox, false, counted},
		{"metrics/transport of no cost", alone, false, counted},
		{"metrics/transport of no cost, not kept", alone, true, counted},
		{"metrics and traces/sandbox", inSandbox, false, append(counted, tracer(b))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			kinds := map[string]host.Kind{"wasm": {Open: bench.open, Trust: abi.TrustWASM}}
			parts := hosttest.NewBench(b, hosttest.Setup{Kinds: kinds, Sources: []registry.Source{{
				Name: "bench", Trusted: true, FS: fstest.MapFS{
					"tiny/plugin-manifest.json": {Data: []byte(servertest.Manifest)}, "tiny/tiny.wasm": {Data: guest},
				},
			}}})
			watched, err := host.New(host.Options{
				Registry: parts.Registry, Resources: parts.Resources, Recorder: parts.Results, Kinds: kinds, Observers: bench.observers,
			})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { watched.Close(context.Background()) })
			call := parts.Call("Tiny.Run", `{"n":1}`)
			call.Options.NoRecord = bench.noRecord
			compare(b, parts.Host, watched, call)
		})
	}
}

func tracer(b *testing.B) *trace.Tracer {
	b.Helper()
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	b.Cleanup(sink.Close)
	t, err := trace.New(context.Background(), trace.Options{Endpoint: sink.URL})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = t.Close(context.Background()) })
	return t
}

func compare(b *testing.B, plain, watched *host.Host, call *abi.Call) {
	once := func(h *host.Host) time.Duration {
		began := time.Now()
		if result := h.Execute(context.Background(), call); result.Status != abi.StatusSuccess {
			b.Fatalf("got %s: %v", result.Status, result.Error)
		}
		return time.Since(began)
	}
	once(plain)
	once(watched)
	var without, with []time.Duration
	for b.Loop() {
		for i := range 4000 {
			if i%2 == 0 {
				without, with = append(without, once(plain)), append(with, once(watched))
			} else {
				with, without = append(with, once(watched)), append(without, once(plain))
			}
		}
	}
	one, two := median(without), median(with)
	b.ReportMetric(float64(two)/float64(one), "observed/plain")
	b.ReportMetric(float64(one)/1000, "µs/call")
	b.ReportMetric(0, "ns/op")
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
