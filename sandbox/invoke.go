package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"vcphost/abi"
	"vcphost/sandbox/hostfunc"
)

// Invoke runs one call in an instance of its own and returns the payload's
// bytes, unchecked. It ends soon after ctx does. Its error is an [abi.Error]:
// TOOL_TIMEOUT or TOOL_CANCELLED when ctx ended, RESOURCE_TOO_LARGE when a
// resource limit was hit, SANDBOX.* when the guest failed, INVALID_TOOL_RESULT
// when it returned no bytes to read, INVALID_ARGUMENT when the invocation is
// larger than the plugin's limit.
func (p *Plugin) Invoke(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
	input, err := p.encode(inv)
	if err != nil {
		return nil, err
	}
	logger := p.sandbox.logger.With("plugin", p.name, "invocationId", inv.InvocationID)
	call := hostfunc.NewCall(ctx, inv, p.grants, hostfunc.Limits{MaxLogBytes: p.limits.MaxLogBytes}, logger)
	defer call.Close()

	memory := &linearMemory{pool: &p.sandbox.memories, limit: p.limits.memoryBytes()}
	guest, stop := withGrace(ctx)
	defer stop()
	payload, err := p.run(experimental.WithMemoryAllocator(withCall(guest, call), memory), call, input)
	if failure := p.failure(ctx, call, memory, err); failure != nil {
		p.sandbox.counters.failed.Add(1)
		return nil, failure
	}
	return &abi.Reply{Payload: payload, Warnings: call.Warnings()}, nil
}

func (p *Plugin) encode(inv *abi.Invocation) ([]byte, error) {
	input, err := abi.Encode(inv)
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

// run makes an instance, hands it the input and copies its answer out.
func (p *Plugin) run(ctx context.Context, call *hostfunc.Call, input []byte) (payload []byte, err error) {
	stdout, stderr := call.LineWriter(slog.LevelInfo), call.LineWriter(slog.LevelWarn)
	defer stdout.Flush()
	defer stderr.Flush()
	config := p.config.WithStdout(stdout).WithStderr(stderr).WithNanosleep(call.Sleep)
	module, err := p.sandbox.runtime.InstantiateModule(ctx, p.compiled, config)
	if err != nil {
		return nil, fmt.Errorf("start an instance: %w", err)
	}
	p.sandbox.counters.started.Add(1)
	p.sandbox.counters.running.Add(1)
	defer p.sandbox.counters.running.Add(-1)
	defer func() { err = errors.Join(err, module.Close(context.WithoutCancel(ctx))) }()

	if p.start {
		if _, err := module.ExportedFunction(exportInitialize).Call(ctx); err != nil {
			return nil, fmt.Errorf("initialise the instance: %w", err)
		}
	}
	address, err := p.deliver(ctx, module, input)
	if err != nil {
		return nil, err
	}
	packed, err := module.ExportedFunction(exportCall).Call(ctx, address, uint64(len(input)))
	if err != nil {
		return nil, fmt.Errorf("call the plugin: %w", err)
	}
	return p.collect(module.Memory(), packed[0])
}

// deliver writes the input into memory that the guest allocates for it.
func (p *Plugin) deliver(ctx context.Context, module api.Module, input []byte) (address uint64, err error) {
	allocated, err := module.ExportedFunction(exportAlloc).Call(ctx, uint64(len(input)))
	if err != nil {
		return 0, fmt.Errorf("allocate %d bytes for the invocation: %w", len(input), err)
	}
	address = uint64(uint32(allocated[0]))
	if address == 0 {
		return 0, abi.NewError(abi.CodeSandboxMemoryLimit, "the plugin has no room for an invocation of %d bytes", len(input)).
			WithDetails(overLimit("memoryMiB", int64(p.limits.MemoryMiB), int64(p.limits.MemoryMiB)+1))
	}
	if !module.Memory().Write(uint32(address), input) {
		return 0, abi.NewError(abi.CodeInvalidToolResult, "%s(%d) returned %d, which is outside the plugin's memory", exportAlloc, len(input), address)
	}
	return address, nil
}

// collect copies the payload that the guest's answer points to.
func (p *Plugin) collect(memory api.Memory, packed uint64) ([]byte, error) {
	address, size := uint32(packed>>32), uint32(packed)
	switch {
	case packed == 0 || size == 0:
		return nil, abi.NewError(abi.CodeInvalidToolResult, "%s returned no payload", exportCall)
	case int64(size) > p.limits.MaxOutputBytes:
		return nil, abi.NewError(abi.CodeInvalidToolResult, "the payload has %d bytes, and the plugin may return %d", size, p.limits.MaxOutputBytes).
			WithDetails(overLimit("maxOutputBytes", p.limits.MaxOutputBytes, int64(size)))
	}
	view, ok := memory.Read(address, size)
	if !ok {
		return nil, abi.NewError(abi.CodeInvalidToolResult, "%s returned address %d with %d bytes, which is outside the plugin's memory", exportCall, address, size)
	}
	return bytes.Clone(view), nil
}
