package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"vcphost/server/api"
)

// gauges are the figures that are read when somebody asks.
type gauges struct {
	opts    Options
	plugins *prometheus.Desc

	queue, queueSize, queuePeak, waiting, admitted, refused *prometheus.Desc
	storeBytes, storeFree, storeFloor                       *prometheus.Desc
	modules, instances, started, failed                     *prometheus.Desc
}

func newGauges(opts Options) *gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("vcphost_"+name, help, labels, nil)
	}
	return &gauges{
		opts:    opts,
		plugins: desc("plugins", "Plugins of the registry.", "state"),

		queue:     desc("queue_in_flight", "Requests that run within the bounds of concurrency."),
		queueSize: desc("queue_in_flight_max", "How many of them there may be."),
		queuePeak: desc("queue_in_flight_peak", "How many of them there ever were."),
		waiting:   desc("queue_waiting", "Requests that wait for their turn."),
		admitted:  desc("queue_admitted_total", "Requests that were let in."),
		refused:   desc("queue_refused_total", "Requests that were not let in.", "reason"),

		storeBytes: desc("store_bytes", "Length of the store's files.", "part"),
		storeFree:  desc("store_free_bytes", "Free space of the store's disk."),
		storeFloor: desc("store_floor_bytes", "Free space below which writes are refused."),

		modules:   desc("sandbox_open_modules", "Modules that are compiled and open."),
		instances: desc("sandbox_running_instances", "Instances that run."),
		started:   desc("sandbox_instances_total", "Instances that were started."),
		failed:    desc("sandbox_failures_total", "Calls that the sandbox answered with an error."),
	}
}

// Describe lists the series.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		g.plugins, g.queue, g.queueSize, g.queuePeak, g.waiting, g.admitted, g.refused,
		g.storeBytes, g.storeFree, g.storeFloor, g.modules, g.instances, g.started, g.failed,
	} {
		out <- desc
	}
}

// Collect reads the figures.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	s := sender{out}
	if g.opts.Registry != nil {
		states := map[string]int{}
		for _, plugin := range g.opts.Registry.Snapshot().Plugins() {
			states[string(plugin.State)]++
		}
		for state, count := range states {
			s.gauge(g.plugins, float64(count), state)
		}
	}
	if queue, ok := api.Queue(g.opts.Admission); ok {
		s.gauge(g.queue, float64(queue.InFlight))
		s.gauge(g.queueSize, float64(queue.MaxInFlight))
		s.gauge(g.queuePeak, float64(queue.PeakInFlight))
		s.gauge(g.waiting, float64(queue.Waiting))
		s.counter(g.admitted, float64(queue.Admitted))
		s.counter(g.refused, float64(queue.RefusedRate), "rate")
		s.counter(g.refused, float64(queue.RefusedConcurrency), "concurrency")
		s.counter(g.refused, float64(queue.RefusedFull), "full")
		s.counter(g.refused, float64(queue.RefusedLate), "late")
		s.counter(g.refused, float64(queue.Gone), "gone")
	}
	if read := g.opts.Gauges.Sandbox; read != nil {
		figures := read()
		s.gauge(g.modules, float64(figures.OpenModules))
		s.gauge(g.instances, float64(figures.RunningInstances))
		s.counter(g.started, float64(figures.Instances))
		s.counter(g.failed, float64(figures.Failures))
	}
	g.collectStore(s)
}

// collectStore leaves the store out where it cannot be measured: the rest of the
// figures is then all the more wanted.
func (g *gauges) collectStore(s sender) {
	if g.opts.Gauges.Store == nil {
		return
	}
	usage, measured, err := g.opts.Gauges.Store()
	if !measured || err != nil {
		return
	}
	s.gauge(g.storeBytes, float64(usage.TableBytes), "tables")
	s.gauge(g.storeBytes, float64(usage.ValueLogBytes), "valueLog")
	s.gauge(g.storeFree, float64(usage.FreeBytes))
	s.gauge(g.storeFloor, float64(max(usage.FloorBytes, 0)))
}

type sender struct{ out chan<- prometheus.Metric }

func (s sender) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

func (s sender) counter(desc *prometheus.Desc, value float64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...)
}
