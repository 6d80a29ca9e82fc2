package hostile

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"vcphost/abi"
	"vcphost/sandbox"
)

// What goes on beside a case.
const (
	tick = 10 * time.Millisecond
	// gcPause lies between two forced garbage collections.
	gcPause = time.Millisecond
	// neighbourPause lies between two calls of the neighbour.
	neighbourPause = 2 * time.Millisecond
	rssEvery       = 20 * time.Millisecond
)

// beside is what goes on in the process while a case runs.
type beside struct {
	stop chan struct{}
	wg   sync.WaitGroup

	mu       sync.Mutex
	gaps     int
	worstGap time.Duration
	took     []time.Duration // of the neighbour's calls
	failure  error           // of the neighbour, the first
	peak     int64           // bytes of anonymous memory
}

// start begins to force garbage collections, to tick, to call the neighbour and
// to watch the process's memory.
func start(neighbour *sandbox.Plugin, session func() Session) *beside {
	b := &beside{stop: make(chan struct{})}
	b.wg.Go(func() { b.every(gcPause, runtime.GC) })
	b.wg.Go(b.tick)
	b.wg.Go(func() { b.every(neighbourPause, func() { b.call(neighbour, session) }) })
	b.wg.Go(func() { b.every(rssEvery, b.watchMemory) })
	return b
}

// every does something again and again with a pause between.
func (b *beside) every(pause time.Duration, do func()) {
	for {
		do()
		select {
		case <-b.stop:
			return
		case <-time.After(pause):
		}
	}
}

// tick measures how late a ticker is.
func (b *beside) tick() {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-b.stop:
			return
		case <-ticker.C:
		}
		now := time.Now()
		b.mu.Lock()
		b.gaps++
		b.worstGap = max(b.worstGap, now.Sub(last))
		b.mu.Unlock()
		last = now
	}
}

// call calls the neighbour, which must answer what it always does.
func (b *beside) call(neighbour *sandbox.Plugin, session func() Session) {
	began := time.Now()
	_, err := callGood(context.Background(), neighbour, session)
	took := time.Since(began)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.took = append(b.took, took)
	if b.failure == nil {
		b.failure = err
	}
}

func (b *beside) watchMemory() {
	bytes, ok := rssAnon()
	if !ok {
		return
	}
	b.mu.Lock()
	b.peak = max(b.peak, bytes)
	b.mu.Unlock()
}

// enough reports whether as many gaps were measured.
func (b *beside) enough(ticks int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gaps >= ticks
}

// end stops everything and waits for it.
func (b *beside) end() {
	close(b.stop)
	b.wg.Wait()
}

// p99 is the 99th percentile of the neighbour's calls.
func (b *beside) p99() time.Duration {
	if len(b.took) == 0 {
		return 0
	}
	slices.Sort(b.took)
	return b.took[len(b.took)*99/100]
}

// callGood calls a guest that knows the good call and says what is wrong with
// its answer. The same guest must use the same fuel for it each time.
func callGood(ctx context.Context, p *sandbox.Plugin, session func() Session) (fuel int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	services := session()
	reply, err := p.Invoke(ctx, &abi.Invocation{Command: goodCommand, Resources: services, Reader: services, Progress: func(abi.Progress) {}})
	if discarded := services.Discard(); err == nil {
		err = discarded
	}
	if err != nil {
		return 0, err
	}
	if string(reply.Payload) != goodPayload {
		return 0, errChanged
	}
	var used struct {
		Fuel int64 `json:"fuel"`
	}
	if err := json.Unmarshal(reply.Extensions[abi.ExtensionSandbox], &used); err != nil {
		return 0, fmt.Errorf("read what a good call used: %w", err)
	}
	return used.Fuel, nil
}
