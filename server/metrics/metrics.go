package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/registry"
	"vcphost/server/api"
)

// Options are what is watched beside calls and requests. Nil parts are left out.
type Options struct {
	Version   string
	Registry  *registry.Registry
	Admission api.Admission // its queue is told if it has figures
	Gauges    api.Gauges
}

// Metrics counts and times. It observes a host and an API, and is what the
// latter answers /metrics with. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	calls        *prometheus.CounterVec
	callTime     *prometheus.HistogramVec
	callsRunning prometheus.Gauge
	steps        *stepTimes
	stepErrors   *prometheus.CounterVec
	codes        map[string]bool // that stand for themselves; fixed

	requests        *prometheus.HistogramVec
	requestsRunning prometheus.Gauge
}

var (
	_ host.Observer = (*Metrics)(nil)
	_ api.Observer  = (*Metrics)(nil)
	_ api.Metrics   = (*Metrics)(nil)
)

const (
	unknownTool = "unknown"
	none        = "none"
	otherCode   = "other"
)

// durations are the bounds of the histograms in seconds: from what a call costs
// that does nothing to what a deadline usually is.
func durations() []float64 {
	return []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}

// New makes the metrics.
func New(opts Options) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vcphost_calls_total", Help: "Calls that are over.",
		}, []string{"tool", "status", "transport", "trust"}),
		callTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "vcphost_call_duration_seconds", Help: "Time from a call to its kept result.", Buckets: durations(),
		}, []string{"tool", "transport"}),
		callsRunning: prometheus.NewGauge(prometheus.GaugeOpts{Name: "vcphost_calls_running", Help: "Calls that run."}),
		stepErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "vcphost_call_step_errors_total", Help: "Steps that ended their call, by error code.",
		}, []string{"step", "code"}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "vcphost_http_request_duration_seconds", Help: "Time of HTTP requests, of streams to their end.", Buckets: durations(),
		}, []string{"route", "status"}),
		requestsRunning: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "vcphost_http_requests_running", Help: "HTTP requests that run.",
		}),
		steps: newStepTimes(), codes: map[string]bool{abi.WarningResultNotKept: true},
	}
	for _, info := range abi.Codes() {
		m.codes[info.Code] = true
	}
	m.registry.MustRegister(m.calls, m.callTime, m.callsRunning, m.steps, m.stepErrors, m.requests, m.requestsRunning,
		buildInfo(opts.Version), newGauges(opts),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func buildInfo(version string) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "vcphost_build_info", Help: "Always 1; the labels tell the build.",
		ConstLabels: prometheus.Labels{"version": strings.ToValidUTF8(version, "\uFFFD"), "goversion": runtime.Version()},
	})
	info.Set(1)
	return info
}

// CallBegins counts a running call.
func (m *Metrics) CallBegins(ctx context.Context, _ *abi.Call) context.Context {
	m.callsRunning.Inc()
	return ctx
}

// StepEnds times a step.
func (m *Metrics) StepEnds(_ context.Context, step host.StepTiming) {
	m.steps.observe(step.Step, step.End.Sub(step.Start))
	if step.Code == "" {
		return
	}
	code := step.Code
	if !m.codes[code] {
		code = otherCode
	}
	m.stepErrors.WithLabelValues(string(step.Step), code).Inc()
}

// CallEnds counts and times a call.
func (m *Metrics) CallEnds(_ context.Context, end host.CallEnd) {
	m.callsRunning.Dec()
	tool := strings.ToValidUTF8(end.Tool, "\uFFFD")
	if tool == "" {
		tool = unknownTool
	}
	transport, trust := end.Transport, string(end.Trust)
	if transport == "" {
		transport = none
	}
	if trust == "" {
		trust = none
	}
	m.calls.WithLabelValues(tool, string(end.Result.Status), transport, trust).Inc()
	m.callTime.WithLabelValues(tool, transport).Observe(seconds(end.End.Sub(end.Start)))
}

// seconds is a duration, or zero where the clock went backwards.
func seconds(d time.Duration) float64 { return max(d.Seconds(), 0) }

// RequestBegins counts a running request.
func (m *Metrics) RequestBegins(ctx context.Context, _ api.RequestBegin) context.Context {
	m.requestsRunning.Inc()
	return ctx
}

// RequestEnds times a request.
func (m *Metrics) RequestEnds(_ context.Context, end api.RequestEnd) {
	m.requestsRunning.Dec()
	m.requests.WithLabelValues(end.Route, statusText(end.Status)).Observe(seconds(end.Took))
}

// statusText writes an HTTP status; one that is none is "other", so that there
// are not more than there are statuses.
func statusText(status int) string {
	if status < 100 || status > 599 {
		return otherCode
	}
	digits := [3]byte{byte('0' + status/100), byte('0' + status/10%10), byte('0' + status%10)}
	return string(digits[:])
}

// Write writes all series in the format that an Accept header asks for.
func (m *Metrics) Write(w io.Writer, accept string) (contentType string, err error) {
	families, err := m.registry.Gather()
	if err != nil {
		return "", fmt.Errorf("gather the metrics: %w", err)
	}
	format := expfmt.NegotiateAccept(http.Header{"Accept": {accept}}, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	encoder := expfmt.NewEncoder(w, format)
	for _, family := range families {
		err = errors.Join(err, encoder.Encode(family))
	}
	if closer, ok := encoder.(expfmt.Closer); ok {
		err = errors.Join(err, closer.Close())
	}
	if err != nil {
		return "", fmt.Errorf("write the metrics: %w", err)
	}
	return string(format), nil
}

// Calls counts the calls that are over, by tool and status.
func (m *Metrics) Calls() []api.CallCount {
	found := make(chan prometheus.Metric)
	go func() {
		defer close(found)
		m.calls.Collect(found)
	}()
	var list []api.CallCount
	for metric := range found {
		var row dto.Metric
		if err := metric.Write(&row); err != nil {
			continue // a counter's never fails
		}
		count := api.CallCount{Count: uint64(row.GetCounter().GetValue())}
		for _, label := range row.GetLabel() {
			switch label.GetName() {
			case "tool":
				count.Tool = label.GetValue()
			case "status":
				count.Status = label.GetValue()
			case "transport":
				count.Transport = label.GetValue()
			case "trust":
				count.Trust = label.GetValue()
			}
		}
		list = append(list, count)
	}
	return list
}
