package sandbox

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"vcphost/abi"
	"vcphost/sandbox/engine"
)

// failure turns the end of a call into the protocol's error, nil where the call
// succeeded. Why the call's context ended comes before everything that the guest
// did afterwards, and a resource limit that was hit before what the guest made
// of it.
func (p *Plugin) failure(g *guest, err error) error {
	ctx, call := g.run.ctx, g.run.call
	switch {
	case ctx.Err() != nil:
		return ended(ctx, err)
	case call.Failure() != nil:
		return call.Failure().WithCause(err)
	case err == nil:
		return nil
	}
	return p.failureOf(g, err)
}

func (p *Plugin) failureOf(g *guest, err error) error {
	var told *abi.Error
	switch {
	case errors.As(err, &told):
		return told
	case errors.Is(err, errFuel):
		return p.outOfFuel(err)
	case errors.Is(err, errStack):
		return p.stackOverflow(err)
	case g.refusedBytes() > 0:
		return p.outOfMemory(g.refusedBytes()).WithCause(err)
	}
	return p.guestFailure(err)
}

// ended tells why the context of a call is over.
func ended(ctx context.Context, err error) *abi.Error {
	cause := errors.Join(context.Cause(ctx), err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the cause may be of any kind
		return abi.NewError(abi.CodeToolTimeout, "the plugin did not answer before its deadline").WithCause(cause)
	}
	return abi.NewError(abi.CodeToolCancelled, "the call was cancelled").WithCause(cause)
}

// refusedBytes is the largest memory that the guest asked for and did not get.
func (g *guest) refusedBytes() uint64 {
	if !g.plugin.rewritten.Memory.Virtual {
		return 0
	}
	return g.refused.Get() * pageBytes
}

func (p *Plugin) outOfMemory(refused uint64) *abi.Error {
	need := int64((refused + mebibyte - 1) / mebibyte)
	return abi.NewError(abi.CodeSandboxMemoryLimit, "the plugin needed %d MiB of memory, and it has %d", need, p.limits.MemoryMiB).
		WithDetails(overLimit("memoryMiB", int64(p.limits.MemoryMiB), need))
}

func (p *Plugin) outOfFuel(err error) *abi.Error {
	details := overLimit("fuel", p.limits.Fuel, p.limits.Fuel+1)
	details["stack"] = p.stack(err)
	return abi.NewError(abi.CodeSandboxFuelExhausted, "the plugin used up its %d units of fuel", p.limits.Fuel).
		WithDetails(details).WithCause(err)
}

func (p *Plugin) stackOverflow(err error) *abi.Error {
	return abi.NewError(abi.CodeSandboxStackOverflow, "the plugin's calls went too deep").
		WithDetails(map[string]any{"trap": engine.TrapStackOverflow, "stack": p.stack(err)}).WithCause(err)
}

// guestFailure tells an exit, a stack overflow and every other trap apart.
func (p *Plugin) guestFailure(err error) *abi.Error {
	if code, exited := engine.ExitCode(err); exited {
		return abi.NewError(abi.CodeSandboxExit, "the plugin exited with code %d instead of answering", code).
			WithDetails(map[string]any{"exitCode": code}).WithCause(err)
	}
	trap := engine.Trap(err)
	if trap == engine.TrapStackOverflow {
		return p.stackOverflow(err)
	}
	return abi.NewError(abi.CodeSandboxTrap, "the plugin failed: %s", trap).
		WithDetails(map[string]any{"trap": trap, "stack": p.stack(err)}).WithCause(err)
}

// stack lists the functions of the guest that were running, innermost first. One
// without a name is "$" and its index in the module as its author has it, before
// the rewriter put its import before it. What the rewriter added is no function
// of the guest's, and left out.
func (p *Plugin) stack(err error) []string {
	frames := slices.DeleteFunc(engine.Stack(err), func(frame string) bool {
		return strings.HasPrefix(frame, refuelModule+".") || strings.Contains(frame, "."+refuelModule+".")
	})
	for i, frame := range frames {
		index, numbered := strings.CutPrefix(frame, "$")
		if n, err := strconv.Atoi(index); numbered && err == nil && n > p.imports {
			frames[i] = "$" + strconv.Itoa(n-1)
		}
	}
	return frames
}
