package bench

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"vcphost/abi"
	"vcphost/host"
)

// stepCosts adds up what the steps of calls take.
type stepCosts struct {
	mu    sync.Mutex
	calls int
	total map[host.Step]time.Duration
}

func (s *stepCosts) CallBegins(ctx context.Context, _ *abi.Call) context.Context { return ctx }

func (s *stepCosts) StepEnds(_ context.Context, step host.StepTiming) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total[step.Step] += step.End.Sub(step.Start)
}

func (s *stepCosts) CallEnds(context.Context, host.CallEnd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
}

// BenchmarkStepCosts is the table of where the time of a call goes: microseconds
// a call for each step, one call at a time.
func BenchmarkStepCosts(b *testing.B) {
	costs := &stepCosts{total: map[host.Step]time.Duration{}}
	p := start(b, costs)
	for b.Loop() {
		result := p.Host.Execute(context.Background(), &abi.Call{
			Tool: "Tiny", Arguments: json.RawMessage(`{"command":"Run","a":2,"b":40}`),
			Context: abi.CallContext{Owner: abi.Owner{Tenant: "default", Actor: "bench"}, Source: abi.FromCLI},
		})
		if result.Status != abi.StatusSuccess {
			b.Fatal(result.Error)
		}
	}
	for _, step := range host.Steps() {
		b.ReportMetric(float64(costs.total[step].Microseconds())/float64(costs.calls), string(step)+"-µs")
	}
}

// BenchmarkLatencyAtHalfOfThePeak sends 30,000 requests at half of the rate that
// the server reached just before, each at its own time whether or not earlier
// ones were answered, and reports how the 99th percentile compares with the
// median.
func BenchmarkLatencyAtHalfOfThePeak(b *testing.B) {
	ours := start(b)
	peak, _ := load(b, address(ours), ours.Secret)
	const requests = 30_000
	for b.Loop() {
		times := paced(b, address(ours), ours.Secret, peak/2, requests)
		slices.Sort(times)
		middle, late := times[requests/2], times[requests*99/100]
		b.ReportMetric(middle*1e6, "median-µs")
		b.ReportMetric(times[requests*9/10]*1e6, "p90-µs")
		b.ReportMetric(late*1e6, "p99-µs")
		b.ReportMetric(late/middle, "p99/median")
	}
}

// paced sends requests at a steady rate a second and gives their times in
// seconds, each from when it was due.
func paced(b *testing.B, address, key string, rate float64, requests int) []float64 {
	b.Helper()
	client := &fasthttp.HostClient{Addr: address, MaxConns: 256}
	defer client.CloseIdleConnections()
	times := make([]float64, requests)
	due := make(chan int, requests)
	began := time.Now()
	dueAt := func(i int) time.Time { return began.Add(time.Duration(float64(i) / rate * float64(time.Second))) }
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			request.SetRequestURI("http://" + address + "/v1/human/tool")
			request.Header.SetMethod("POST")
			request.Header.SetContentType("application/json")
			request.Header.Set("Authorization", "Bearer "+key)
			for i := range due {
				request.SetBodyString(callBody)
				if err := client.Do(request, response); err != nil || response.StatusCode() != 200 {
					b.Errorf("status %d: %v", response.StatusCode(), err)
					return
				}
				times[i] = time.Since(dueAt(i)).Seconds()
			}
		})
	}
	for i := range requests {
		time.Sleep(time.Until(dueAt(i)))
		due <- i
	}
	close(due)
	wg.Wait()
	return times
}
