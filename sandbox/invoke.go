package sandbox

import (
	"context"
	"strconv"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/hostfunc"
)

// How a call came to its instance, told in vcp.sandbox.
const (
	pathPooled = "pooled" // one that waited
	pathMade   = "made"   // one that was made of the snapshot for this call
	pathFresh  = "fresh"  // one that was started for this call
)

// Invoke runs one call and returns the payload's bytes, unchecked. It ends soon
// after ctx does. Its error is an [abi.Error]: TOOL_TIMEOUT or TOOL_CANCELLED
// when ctx ended, RESOURCE_TOO_LARGE when a resource limit was hit, SANDBOX.*
// when the guest failed, INVALID_TOOL_RESULT when it returned no bytes to read,
// INVALID_ARGUMENT when the invocation is larger than the plugin's limit.
func (p *Plugin) Invoke(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
	began := time.Now()
	waited, err := p.sandbox.gate.enter(ctx, p)
	if err != nil {
		return nil, p.failed(ended(ctx, err))
	}
	defer p.sandbox.gate.leave()
	var queued time.Duration
	if waited {
		queued = time.Since(began)
	}
	p.sandbox.counters.running.Add(1)
	defer p.sandbox.counters.running.Add(-1)
	g, path, err := p.instance(ctx)
	if err != nil {
		return nil, p.failed(err)
	}
	call := hostfunc.NewCall(ctx, inv, p.grants, hostfunc.Limits{MaxLogBytes: p.limits.MaxLogBytes}, p.logger)
	g.enter(ctx, call, began.Add(queued))
	g.run.queued = queued
	payload, err := g.answer(path, inv)
	reply, failure := g.reply(path, payload, err, began)
	g.leave()
	// What a call that failed left half done may not be the next one's state: the
	// stack pointer of compiled languages, a lock, a descriptor.
	g.spoiled = failure != nil && p.isolation == IsolationShared
	if ctx.Err() != nil {
		p.giveLater(g, path) // whoever waits for the answer has waited long enough
	} else {
		p.give(g, path)
	}
	if failure != nil {
		return nil, p.failed(failure)
	}
	return reply, nil
}

// instance gives an instance for a call, started or not.
func (p *Plugin) instance(ctx context.Context) (g *guest, path string, err error) {
	if p.closed.Load() {
		return nil, "", abi.NewError(abi.CodeDependencyUnavailable, "the plugin %s was closed", p.name)
	}
	if p.template != nil {
		return p.acquire(ctx)
	}
	g, err = p.instantiate(ctx, p.sandbox.zero)
	return g, pathFresh, err
}

// give takes the instance back after the call.
func (p *Plugin) give(g *guest, path string) {
	if path == pathFresh {
		p.discard(g)
		return
	}
	p.release(g)
}

// giveLater is give in the background: a call that wrote a lot takes a while to
// put back. Close waits for it.
func (p *Plugin) giveLater(g *guest, path string) {
	p.idle.mu.Lock()
	closed := p.idle.closed
	if !closed {
		p.refills.Go(func() { p.give(g, path) })
	}
	p.idle.mu.Unlock()
	if closed {
		p.give(g, path)
	}
}

func (g *guest) answer(path string, inv *abi.Invocation) ([]byte, error) {
	input, err := g.plugin.encode(g.input[:0], inv)
	if err != nil {
		return nil, err
	}
	if cap(input) <= keptInputBytes {
		g.input = input
	}
	if path == pathFresh {
		if err := g.start(); err != nil {
			return nil, err
		}
	}
	return g.serve(input)
}

// reply makes of the end of a call what its caller gets. It is the last to look
// at the state of the call, unless a host function still runs, which then is.
func (g *guest) reply(path string, payload []byte, err error, began time.Time) (*abi.Reply, error) {
	if g.run.abandoned {
		return nil, ended(g.run.ctx, err)
	}
	call := g.run.call
	defer call.Close()
	if failure := g.plugin.failure(g, err); failure != nil {
		return nil, failure
	}
	g.out.end()
	g.err.end()
	return &abi.Reply{
		Payload: payload, Warnings: call.Warnings(),
		Extensions: abi.Extensions{abi.ExtensionSandbox: g.figures(path, began)},
	}, nil
}

// figures is the extension vcp.sandbox of a result.
func (g *guest) figures(path string, began time.Time) []byte {
	out := make([]byte, 0, 160)
	number := func(name string, value int64) {
		out = append(append(append(out, '"'), name...), '"', ':')
		out = append(strconv.AppendInt(out, value, 10), ',')
	}
	out = append(out, '{')
	number("fuel", g.used())
	number("memoryPeakBytes", int64(g.memoryBytes()))
	number("wallMicros", time.Since(began).Microseconds())
	number("queueMicros", g.run.queued.Microseconds())
	out = append(append(out, `"isolation":"`...), g.plugin.isolation...)
	out = append(append(out, `","path":"`...), path...)
	return append(out, `"}`...)
}

func (p *Plugin) failed(err error) error {
	p.sandbox.counters.failed.Add(1)
	return err
}

// keptInputBytes is the largest buffer for invocations that an instance keeps.
const keptInputBytes = 64 << 10

// encode appends the invocation as a guest reads it.
func (p *Plugin) encode(dst []byte, inv *abi.Invocation) ([]byte, error) {
	input, err := inv.AppendJSON(dst)
	if err != nil {
		return nil, abi.NewError(abi.CodeInternalError, "the invocation cannot be written").WithCause(err)
	}
	if need := int64(len(input)); need > p.limits.MaxInputBytes {
		return nil, abi.NewError(abi.CodeInvalidArgument, "the invocation has %d bytes, and the plugin takes %d", need, p.limits.MaxInputBytes).
			WithDetails(overLimit("maxInputBytes", p.limits.MaxInputBytes, need))
	}
	return input, nil
}

// overLimit is the form in which every limit that was hit is told.
func overLimit(limit string, allowed, needed int64) map[string]any {
	return map[string]any{"limit": limit, "allowed": allowed, "needed": needed, "setting": "sandbox." + limit}
}
