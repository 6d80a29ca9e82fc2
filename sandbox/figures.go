package sandbox

import "sync/atomic"

// Figures are what a sandbox holds now and has done so far.
type Figures struct {
	OpenModules      int64 // opened and not closed
	RunningInstances int64
	Instances        int64 // that were started
	Failures         int64 // of Invoke, for any reason
}

// counters are the figures as they grow.
type counters struct {
	open, running, started, failed atomic.Int64
}

// Figures tells what the sandbox holds. The values are read one after another.
func (s *Sandbox) Figures() Figures {
	return Figures{
		OpenModules: s.counters.open.Load(), RunningInstances: s.counters.running.Load(),
		Instances: s.counters.started.Load(), Failures: s.counters.failed.Load(),
	}
}
