package hostile

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"vcphost/abi"
	"vcphost/sandbox"
)

const (
	// deadline is that of calls which nothing else ends.
	deadline = 100 * time.Millisecond
	// cancelAfter is when every other such call is cancelled.
	cancelAfter = 30 * time.Millisecond
	// patience is the deadline of calls that end by themselves.
	patience = 10 * time.Second
	// openPatience is that of Open.
	openPatience = 90 * time.Second
)

// trial is one attempt at a case.
type trial struct {
	runner        *Runner
	logged        int64 // bytes that plugins had logged before
	hostile, good atomic.Int64

	mu       sync.Mutex
	figures  figures
	fuel     map[*sandbox.Plugin]int64 // of the first good call
	outcomes tally
	problems []string
}

// problem notes what is wrong, once.
func (t *trial) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.problems, text) && len(t.problems) < 10 {
		t.problems = append(t.problems, text)
	}
}

// came notes an outcome and holds it against what is acceptable.
func (t *trial) came(p part, what, outcome string, acceptable []string) {
	t.mu.Lock()
	if outcome != opened {
		t.outcomes.add(outcome)
	}
	t.mu.Unlock()
	if !slices.Contains(acceptable, outcome) {
		t.problem("%s%s: %s", p.prefix(), what, outcome)
	}
}

func (p part) prefix() string {
	if p.name == "" {
		return ""
	}
	return p.name + ": "
}

// attempt runs the parts of a case, round after round, until there are enough
// ticks.
func (r *Runner) attempt(ctx context.Context, c Case, parts []part) *trial {
	t := &trial{runner: r, fuel: map[*sandbox.Plugin]int64{}}
	t.figures.before, t.figures.hasRSS = settledRSS()
	t.logged = r.log.bytes.Load()
	r.late.take()
	b := start(r.neighbour, r.session)
	plugins := make([]*sandbox.Plugin, len(parts))
	rounds := 2 // one whose calls meet a deadline, one whose calls are cancelled
	if c.once {
		rounds = 1
	}
	for round := 0; ctx.Err() == nil && (round < rounds || !b.enough(r.ticks) && !c.once); round++ {
		for i, p := range parts {
			if plugins[i] == nil {
				plugins[i] = t.open(ctx, p)
			}
			if plugins[i] != nil {
				t.callAll(ctx, plugins[i], p, round%2 == 1, max(c.parallel, 1))
			}
		}
	}
	for !b.enough(r.ticks) && ctx.Err() == nil {
		time.Sleep(tick)
	}
	for _, plugin := range plugins {
		if plugin == nil {
			continue
		}
		if err := plugin.Close(context.WithoutCancel(ctx)); err != nil {
			t.problem("close the plugin: %v", err)
		}
	}
	b.end()
	t.figures.of(b, r.alone, r.late.take())
	if b.failure != nil {
		t.problem("the neighbour failed: %v", b.failure)
	}
	t.figures.after, _ = settledRSS()
	return t
}

// callAll makes hostile calls of a part side by side.
func (t *trial) callAll(ctx context.Context, plugin *sandbox.Plugin, p part, cancels bool, count int) {
	var wg sync.WaitGroup
	for range count {
		wg.Go(func() { t.call(ctx, plugin, p, cancels) })
	}
	wg.Wait()
}

// settledRSS is the anonymous memory of the process once it has given back what
// it does not use.
func settledRSS() (int64, bool) {
	runtime.GC()
	debug.FreeOSMemory()
	return rssAnon()
}

// open opens the module of a part; nil where it is refused.
func (t *trial) open(ctx context.Context, p part) *sandbox.Plugin {
	within := p.within
	if within == 0 {
		within = openPatience
	}
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	plugin, err := t.runner.box.Open(limited, sandbox.Module{
		Name: "Hostile", Binary: p.module, Limits: p.limits, Config: map[string]string{"KEY": "value"}, KVBytes: 1 << 20,
	})
	if err != nil && ctx.Err() != nil {
		return nil
	}
	t.came(p, "opening", outcome(err, opened), p.mayOpen())
	if err != nil {
		return nil
	}
	return plugin
}

// call makes a hostile call of a part, and a good one after it.
func (t *trial) call(ctx context.Context, plugin *sandbox.Plugin, p part, cancels bool) {
	var events atomic.Int64
	services := t.runner.session()
	inv := &abi.Invocation{
		Command: hostileCommand, Arguments: p.arguments, Resources: services, Reader: services,
		Progress: func(abi.Progress) { events.Add(1) },
	}
	began := time.Now()
	reply, err := t.invoke(ctx, plugin, inv, p.endless, cancels)
	took := time.Since(began)
	if ctx.Err() != nil {
		return
	}
	if err := services.Discard(); err != nil {
		t.problem("%sforget the resources: %v", p.prefix(), err)
	}
	t.came(p, "calling", outcome(err, answer), p.mayCall())
	calls := t.hostile.Add(1)
	if err == nil && p.reply != nil {
		t.wrong(p, p.reply(reply))
	}
	if p.after != nil {
		t.wrong(p, p.after(spent{took, events.Load(), t.runner.log.bytes.Load() - t.logged, calls}))
	}
	if !p.good {
		return
	}
	t.good.Add(1)
	fuel, err := callGood(ctx, plugin, t.runner.session)
	if err != nil && ctx.Err() == nil {
		t.problem("%sthe good call after it: %v", p.prefix(), err)
	}
	t.mu.Lock()
	first, known := t.fuel[plugin]
	if !known && err == nil {
		t.fuel[plugin] = fuel
	}
	t.mu.Unlock()
	if known && err == nil && fuel != first {
		t.problem("%sthe same good call used %d units of fuel, and once %d", p.prefix(), first, fuel)
	}
}

// wrong notes a problem of a part, unless it is "".
func (t *trial) wrong(p part, problem string) {
	if problem != "" {
		t.problem("%s%s", p.prefix(), problem)
	}
}

// invoke makes a call that ends by itself, or is ended in one of two ways.
func (t *trial) invoke(ctx context.Context, plugin *sandbox.Plugin, inv *abi.Invocation, endless, cancels bool) (*abi.Reply, error) {
	switch {
	case endless && cancels:
		return t.cancelled(ctx, plugin, inv)
	case endless:
		return t.overdue(ctx, plugin, inv)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return plugin.Invoke(ctx, inv)
}

// overdue makes a call with a deadline, and times it.
func (t *trial) overdue(ctx context.Context, plugin *sandbox.Plugin, inv *abi.Invocation) (*abi.Reply, error) {
	began := time.Now()
	ctx, cancel := context.WithDeadline(ctx, began.Add(deadline))
	defer cancel()
	inv.Deadline = began.Add(deadline)
	reply, err := plugin.Invoke(ctx, inv)
	t.worst(&t.figures.answer.took, time.Since(began))
	return reply, err
}

// cancelled makes a call, cancels it, and times that.
func (t *trial) cancelled(ctx context.Context, plugin *sandbox.Plugin, inv *abi.Invocation) (*abi.Reply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var at atomic.Int64 // since the epoch of began; 0 until it is cancelled
	began := time.Now()
	timer := time.AfterFunc(cancelAfter, func() {
		at.Store(int64(time.Since(began)))
		cancel()
	})
	defer timer.Stop()
	reply, err := plugin.Invoke(ctx, inv)
	if since := at.Load(); since > 0 {
		t.worst(&t.figures.cancel.took, time.Since(began)-time.Duration(since))
	}
	return reply, err
}

// worst keeps the longest time of calls side by side.
func (t *trial) worst(figure *time.Duration, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*figure = max(*figure, took)
}
