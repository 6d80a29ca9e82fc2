package main

import "time"

// stopwatch measures the processor time that something takes, in all threads and
// child processes: what a call costs, whatever else the machine does. With wall,
// or on a system that does not tell, it measures the time that passes.
type stopwatch struct {
	wall  bool
	began time.Duration
	at    time.Time
}

func startWatch(wall bool) stopwatch {
	used, ok := processorTime()
	return stopwatch{wall: wall || !ok, began: used, at: time.Now()}
}

// passed is the wall-clock time since the start.
func (s stopwatch) passed() time.Duration { return time.Since(s.at) }

// took is what was measured since the start.
func (s stopwatch) took() time.Duration {
	if used, ok := processorTime(); ok && !s.wall {
		return used - s.began
	}
	return s.passed()
}

// clock says what is measured.
func (p plan) clock() string {
	if _, ok := processorTime(); ok && !p.wall {
		return "processor time of all threads and child processes"
	}
	return "time that passes"
}
