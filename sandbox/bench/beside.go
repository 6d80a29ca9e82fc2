package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"vcphost/sandbox"
)

// Durations of the measurements beside guests that do not end.
const (
	deadline   = 100 * time.Millisecond
	tick       = 10 * time.Millisecond
	aloneCalls = 500 // of the neighbour, without and with hostile loops
)

// stubborn are guests that end long after anybody would wait.
func stubborn() []*guest {
	const endless = 1<<32 - 1
	return []*guest{
		{name: "a tight loop", vcp: coreGuest(onePage(), tightLoop), invocation: adding(endless, 1)},
		{name: "a fat loop", vcp: coreGuest(onePage(), fatLoop), invocation: adding(endless, 1)},
		{name: "recursion of 2^40 calls", vcp: coreGuest(onePage(), recursion), invocation: adding(58, 1)},
	}
}

// beside measures what guests that do not end cost the caller, the process and a
// neighbour. The suite of `vcphost doctor --hostile` has many more of them.
func (l *lab) beside(ctx context.Context) ([]goal, error) {
	late, cancelled, gap, err := l.interrupts(ctx)
	if err != nil {
		return nil, err
	}
	more, err := l.neighbour(ctx)
	if err != nil {
		return nil, err
	}
	busy := control(ctx)
	worst := func(what string, d, bound time.Duration) goal {
		return goal{what: what, measured: float64(d), bound: float64(bound), known: true, show: duration}
	}
	gaps := worst("worst gap of a 10 ms tick beside them, garbage collected at each tick", gap, 50*time.Millisecond)
	gaps.beside = "beside a loop in Go: " + duration(float64(busy))
	return []goal{
		worst("loops and recursion of 2^40 calls, deadline 100 ms: answered after at most", late, 150*time.Millisecond),
		worst("cancelled to answered, at most", cancelled, 20*time.Millisecond),
		gaps,
		worst("p99 of a neighbour's small call beside two endless loops, over alone", more, 5*time.Millisecond),
	}, nil
}

// interrupts ends each stubborn guest by a deadline and by cancelling, and
// returns the longest times to the answer, and the longest gap of a ticker.
func (l *lab) interrupts(ctx context.Context) (late, cancelled, gap time.Duration, err error) {
	stop := watch()
	defer func() { gap = stop() }()
	for _, g := range stubborn() {
		one, err := l.box.Open(ctx, sandbox.Module{Name: "Stubborn", Binary: g.vcp})
		if err != nil {
			return 0, 0, 0, fmt.Errorf("open %s: %w", g.name, err)
		}
		for range min(l.plan.rounds, 5) {
			limited, end := context.WithTimeout(ctx, deadline)
			began := time.Now()
			_, err = one.Invoke(limited, g.invocation)
			late = max(late, time.Since(began))
			end()
			if err == nil {
				return 0, 0, 0, fmt.Errorf("%s ended by itself", g.name)
			}
			limited, end = context.WithCancel(ctx)
			var asked time.Time
			timer := time.AfterFunc(deadline/3, func() {
				asked = time.Now()
				end()
			})
			_, err = one.Invoke(limited, g.invocation)
			timer.Stop()
			if err == nil {
				return 0, 0, 0, fmt.Errorf("%s ended by itself", g.name)
			}
			cancelled = max(cancelled, time.Since(asked))
		}
		if err := one.Close(ctx); err != nil {
			return 0, 0, 0, err
		}
	}
	return late, cancelled, gap, nil
}

// control is the longest gap of the ticker beside a loop in Go, which the run-time
// can interrupt wherever it is: what the machine itself makes of a busy process.
func control(ctx context.Context) time.Duration {
	busy, end := context.WithTimeout(ctx, 2*time.Second)
	defer end()
	stop := watch()
	for value := uint32(1); busy.Err() == nil; value = turnsInGo(100_000, value, 1) {
	}
	return stop()
}

// watch counts time with a ticker that also collects garbage. The function that
// it returns ends it and tells the longest time between two ticks, less the tick.
func watch() func() time.Duration {
	done, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		var gap time.Duration
		for last := time.Now(); ; {
			select {
			case <-ticker.C:
				gap = max(gap, time.Since(last)-tick)
				last = time.Now()
				runtime.GC()
			case <-done:
				longest <- gap
				return
			}
		}
	}()
	return func() time.Duration {
		close(done)
		return <-longest
	}
}

// neighbour returns how much longer the 99th percentile of a small plugin's call
// is beside two endless loops than alone.
func (l *lab) neighbour(ctx context.Context) (more time.Duration, err error) {
	small := &guest{vcp: coreGuest(fourPages(), sum), invocation: adding(1, 2), sum: 3, counted: true}
	one, err := l.open(ctx, small, ours)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, one.close()) }()
	alone, err := percentile(one)
	if err != nil {
		return 0, err
	}
	endless := stubborn()[0]
	hostile, err := l.box.Open(ctx, sandbox.Module{Name: "Stubborn", Binary: endless.vcp})
	if err != nil {
		return 0, err
	}
	looping, end := context.WithCancel(ctx)
	var wait sync.WaitGroup
	for range 2 {
		// What it answers once it is cancelled does not matter.
		wait.Go(func() { _, _ = hostile.Invoke(looping, endless.invocation) })
	}
	time.Sleep(5 * tick)
	crowded, err := percentile(one)
	end()
	wait.Wait()
	return max(crowded-alone, 0), errors.Join(err, hostile.Close(ctx))
}

// percentile is the 99th of a plugin's calls, one a millisecond.
func percentile(one *runner) (time.Duration, error) {
	took := make([]float64, aloneCalls)
	for i := range took {
		time.Sleep(time.Millisecond)
		began := time.Now()
		if _, err := one.call(); err != nil {
			return 0, err
		}
		took[i] = float64(time.Since(began))
	}
	return time.Duration(quantile(took, 0.99)), nil
}
