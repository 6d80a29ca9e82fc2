package sandbox

import (
	"context"
	"errors"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"vcphost/abi"
	"vcphost/sandbox/hostfunc"
)

// failure turns the outcome of a call into the protocol's error, nil where the
// call succeeded. Why the call's context ended comes before everything that the
// guest did afterwards, and a resource limit that was hit before what the guest
// made of it.
func (p *Plugin) failure(ctx context.Context, call *hostfunc.Call, memory *linearMemory, err error) error {
	var told *abi.Error
	switch {
	case ctx.Err() != nil:
		return ended(ctx, err)
	case call.Failure() != nil:
		return call.Failure().WithCause(err)
	case err == nil:
		return nil
	case errors.As(err, &told):
		return told
	case memory.refused > 0:
		return p.outOfMemory(memory).WithCause(err)
	}
	return guestFailure(err)
}

// ended tells why the context of a call is over.
func ended(ctx context.Context, err error) *abi.Error {
	cause := errors.Join(context.Cause(ctx), err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the cause may be of any kind
		return abi.NewError(abi.CodeToolTimeout, "the plugin did not answer before its deadline").WithCause(cause)
	}
	return abi.NewError(abi.CodeToolCancelled, "the call was cancelled").WithCause(cause)
}

func (p *Plugin) outOfMemory(memory *linearMemory) *abi.Error {
	need := int64((memory.refused + mebibyte - 1) / mebibyte)
	return abi.NewError(abi.CodeSandboxMemoryLimit, "the plugin needed %d MiB of memory, and it has %d", need, p.limits.MemoryMiB).
		WithDetails(overLimit("memoryMiB", int64(p.limits.MemoryMiB), need))
}

// guestFailure tells an exit, a stack overflow and every other trap apart.
func guestFailure(err error) *abi.Error {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return abi.NewError(abi.CodeSandboxExit, "the plugin exited with code %d instead of answering", exit.ExitCode()).
			WithDetails(map[string]any{"exitCode": exit.ExitCode()}).WithCause(err)
	}
	reason := innermost(err)
	details := map[string]any{"trap": reason, "stack": wasmStack(err)}
	if reason == trapStackOverflow {
		return abi.NewError(abi.CodeSandboxStackOverflow, "the plugin's calls went too deep").WithDetails(details).WithCause(err)
	}
	return abi.NewError(abi.CodeSandboxTrap, "the plugin failed: %s", reason).WithDetails(details).WithCause(err)
}

// trapStackOverflow is how wazero names the one trap that has a code of its
// own. wazero keeps its trap errors to itself, so their text is all there is; a
// test provokes a real overflow and fails if the text ever changes.
const trapStackOverflow = "stack overflow"

// innermost gives the text of the error at the bottom of the chain, which for a
// trap is its name and for anything else its first line.
func innermost(err error) string {
	for {
		switch wrapped := err.(type) {
		case interface{ Unwrap() error }:
			if next := wrapped.Unwrap(); next != nil {
				err = next
				continue
			}
		case interface{ Unwrap() []error }:
			if all := wrapped.Unwrap(); len(all) > 0 {
				err = all[0]
				continue
			}
		}
		line, _, _ := strings.Cut(err.Error(), "\n")
		return line
	}
}

const maxStackFrames = 16

// wasmStack lists the guest's functions that were running, innermost first, as
// the engine's error tells them. It holds nothing of the host's own stack.
func wasmStack(err error) []string {
	_, trace, found := strings.Cut(err.Error(), "wasm stack trace:\n")
	frames := []string{}
	if !found {
		return frames
	}
	for line := range strings.Lines(trace) {
		frame, isFrame := strings.CutPrefix(line, "\t")
		if !isFrame || len(frames) == maxStackFrames {
			break
		}
		if name, _, _ := strings.Cut(strings.TrimSpace(frame), "("); name != "" && !strings.HasPrefix(name, "0x") {
			frames = append(frames, strings.TrimPrefix(name, "."))
		}
	}
	return frames
}
