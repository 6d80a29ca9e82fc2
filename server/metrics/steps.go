package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"vcphost/host"
)

// stepTimes times the steps of calls. There are nine in each call and most take
// microseconds, so it does with two atomic additions where the library's
// histogram takes five.
type stepTimes struct {
	desc   *prometheus.Desc
	bounds []time.Duration // ascending
	steps  []*stepTime     // in the order of host.Steps
}

type stepTime struct {
	step    host.Step
	buckets []atomic.Uint64 // one more than there are bounds
	total   atomic.Int64    // nanoseconds
}

// stepBounds are the bounds of the buckets.
func stepBounds() []time.Duration {
	const µs, ms = time.Microsecond, time.Millisecond
	return []time.Duration{
		2 * µs, 10 * µs, 50 * µs, 100 * µs, 500 * µs, ms, 5 * ms, 10 * ms, 50 * ms, 100 * ms, 500 * ms,
		time.Second, 5 * time.Second, 10 * time.Second, time.Minute,
	}
}

func newStepTimes() *stepTimes {
	t := &stepTimes{
		desc:   prometheus.NewDesc("vcphost_call_step_duration_seconds", "Time of each step of a call.", []string{"step"}, nil),
		bounds: stepBounds(),
	}
	for _, step := range host.Steps() {
		t.steps = append(t.steps, &stepTime{step: step, buckets: make([]atomic.Uint64, len(t.bounds)+1)})
	}
	return t
}

// observe counts one run of a step; a step that is none is passed over.
func (t *stepTimes) observe(step host.Step, took time.Duration) {
	took = max(took, 0)
	for _, s := range t.steps {
		if s.step != step {
			continue
		}
		bucket := 0
		for bucket < len(t.bounds) && took > t.bounds[bucket] {
			bucket++
		}
		s.buckets[bucket].Add(1)
		s.total.Add(int64(took))
		return
	}
}

// Describe lists the series.
func (t *stepTimes) Describe(out chan<- *prometheus.Desc) { out <- t.desc }

// Collect reads the histograms. A run that is counted while they are read may be
// in the buckets and not yet in the sum.
func (t *stepTimes) Collect(out chan<- prometheus.Metric) {
	for _, s := range t.steps {
		buckets, count := make(map[float64]uint64, len(t.bounds)), uint64(0)
		for i, bound := range t.bounds {
			count += s.buckets[i].Load()
			buckets[bound.Seconds()] = count
		}
		count += s.buckets[len(t.bounds)].Load()
		sum := time.Duration(s.total.Load()).Seconds()
		out <- prometheus.MustNewConstHistogram(t.desc, count, sum, buckets, string(s.step))
	}
}
