// Package hostfunc holds the host functions of guest ABI 1, once for every
// guest binding: plain Go over byte slices, without knowledge of an engine.
//
// A [Call] is the state of one running call: its open resources, its log and
// progress budgets, its warnings. Everything that a guest passes in is hostile.
// The functions therefore promise:
//
//   - every argument is bounded before anything is allocated for it;
//   - no slice that is passed in is kept after the function returns;
//   - a result below zero is an [Errno]; nothing panics, whatever is passed;
//   - a function that reads into a buffer returns the full length, and has
//     written nothing where that is more than the buffer holds.
//
// A Call is used by one guest at a time and is not safe for concurrent use.
package hostfunc

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"vcphost/abi"
)

// Grants is what an administrator allowed a plugin. The zero value grants
// nothing: the functions concerned answer EPERM.
type Grants struct {
	Config map[string]string // values that config_get may read; nil when not granted
	KV     *KVSpace          // nil when not granted
}

// Limits bound what one call may leave in logs. Zero means the default.
type Limits struct {
	MaxLogBytes int // over all lines of a call; default 64 KiB, below zero none
}

// DefaultMaxLogBytes bounds the log of one call.
const DefaultMaxLogBytes = 64 << 10

// Call is the state of the host functions during one call of a guest.
type Call struct {
	ctx    context.Context
	inv    *abi.Invocation
	grants Grants

	handles  handles
	log      logBudget
	progress coalescer
	failure  *abi.Error // what the guest cannot undo, told after the call
}

// NewCall begins the state of one call. Logger receives the plugin's lines, each
// with the call's invocationId;
// ctx is the call's own, and its end is what cancelled() tells.
func NewCall(ctx context.Context, inv *abi.Invocation, grants Grants, limits Limits, logger *slog.Logger) *Call {
	if limits.MaxLogBytes == 0 {
		limits.MaxLogBytes = DefaultMaxLogBytes
	}
	return &Call{
		ctx: ctx, inv: inv, grants: grants,
		log:      logBudget{logger: logger, invocation: inv.InvocationID, left: max(limits.MaxLogBytes, 0)},
		progress: coalescer{report: inv.Progress},
	}
}

// Close ends the call: it delivers the last progress event and closes every
// input that the guest left open. Unfinished output resources stay unfinished.
func (c *Call) Close() {
	c.progress.flush()
	c.handles.closeInputs()
}

// Failure is an error that stands whatever the guest returned, such as a
// resource limit that it ignored; nil if there was none.
func (c *Call) Failure() *abi.Error { return c.failure }

// Warnings tells what was cut or left open during the call.
func (c *Call) Warnings() []abi.Warning {
	var list []abi.Warning
	if warning, cut := c.log.warning(); cut {
		list = append(list, warning)
	}
	return append(list, c.handles.unfinished()...)
}

// Cancelled answers 1 once the caller has cancelled or the deadline passed,
// else 0.
func (c *Call) Cancelled() int32 {
	if c.ctx.Err() != nil {
		return 1
	}
	return 0
}

// Sleep waits for some nanoseconds, or until the call is over.
func (c *Call) Sleep(ns int64) {
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
}

// Random fills buf from the host's cryptographic source.
func (c *Call) Random(buf []byte) Errno {
	const piece = 1 << 20 // a buffer of gigabytes must not outlast the deadline
	for part := range slices.Chunk(buf, piece) {
		if c.ctx.Err() != nil {
			return ECANCELED
		}
		// crypto/rand.Read never fails and never returns short.
		_, _ = rand.Read(part)
	}
	return OK
}

// Now is the host's clock in nanoseconds since 1970.
func (c *Call) Now() int64 { return time.Now().UnixNano() }

// ConfigGet copies a configured value into buf and returns its full length.
func (c *Call) ConfigGet(key, buf []byte) int32 {
	if c.grants.Config == nil {
		return int32(EPERM)
	}
	value, ok := c.grants.Config[string(key)]
	if !ok {
		return int32(ENOENT)
	}
	return copyOut(buf, value)
}

// copyOut copies value into buf if it fits and returns its length either way.
func copyOut[T string | []byte](buf []byte, value T) int32 {
	if len(value) <= len(buf) {
		copy(buf, value)
	}
	return int32(len(value))
}

// errnoOf gives the number for an error of the host's own services and keeps
// what the result must tell in any case.
func (c *Call) errnoOf(err error) Errno {
	if c.ctx.Err() != nil {
		return ECANCELED
	}
	var failure *abi.Error
	if !errors.As(err, &failure) {
		c.log.host("host function failed", err)
		return EIO
	}
	switch failure.Code {
	case abi.CodeResourceTooLarge:
		c.keepFailure(failure)
		return ELIMIT
	case abi.CodeFileNotFound:
		return ENOENT
	case abi.CodeDependencyUnavailable:
		c.keepFailure(failure)
		return ENOSPC
	case abi.CodeInvalidToolResult, abi.CodeInvalidArgument:
		return EINVAL
	}
	c.log.host("host function failed", err)
	return EIO
}

func (c *Call) keepFailure(err *abi.Error) {
	if c.failure == nil {
		c.failure = err
	}
}

// Panicked keeps the record of a host function that panicked: it is the host's
// failure, whatever the guest passed, and the result says so.
func (c *Call) Panicked(function string, cause any) {
	c.log.logger.Error("host function panicked", c.log.attribute(), "function", function, "panic", cause, "stack", string(debug.Stack()))
	c.keepFailure(abi.NewError(abi.CodeInternalError, "the host function %s failed", function))
}
