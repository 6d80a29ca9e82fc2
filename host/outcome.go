package host

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	"vcphost/abi"
	"vcphost/internal/kv"
)

// fail makes err the outcome of the call. It is the one place where an error
// becomes a result; what the plugin had written is not part of it.
func (r *run) fail(ctx context.Context, err error) {
	failure := r.told(ctx, err)
	status := abi.StatusError
	switch failure.Code {
	case abi.CodeToolTimeout:
		status = abi.StatusTimeout
	case abi.CodeToolCancelled:
		status = abi.StatusCancelled
	}
	r.payload = &abi.Payload{Status: status, Error: failure}
	r.resources = nil
	r.warnings = nil
	if r.reply != nil {
		r.warnings = append(r.warnings, r.reply.Warnings...)
	}
	if failure.Unwrap() != nil {
		r.log().DebugContext(ctx, "a call failed", "code", failure.Code, "cause", failure.Unwrap())
	}
}

// told gives the protocol's error for any error of a step.
func (r *run) told(ctx context.Context, err error) *abi.Error {
	var failure *abi.Error
	switch {
	case errors.As(err, &failure):
		return failure
	case errors.Is(err, context.DeadlineExceeded):
		return r.timedOut(err)
	case errors.Is(err, context.Canceled):
		return cancelled(err)
	case errors.Is(err, kv.ErrNoSpace):
		return abi.NewError(abi.CodeDependencyUnavailable, "the disk of the data directory is full").WithCause(err)
	}
	r.log().ErrorContext(ctx, "a call failed for a reason of the host's", "error", err)
	return abi.NewError(abi.CodeTransportFailure, "the plugin could not be reached; the host's log says why").WithCause(err)
}

// ended tells why the context of a call is over. Whoever ended it may have given
// a cause in words of their own, and the transport a third error: only the
// context itself tells a deadline from a cancellation.
func (r *run) ended(ctx context.Context, err error) *abi.Error {
	cause := errors.Join(context.Cause(ctx), err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return r.timedOut(cause)
	}
	return cancelled(cause)
}

func (r *run) timedOut(cause error) *abi.Error {
	return abi.NewError(abi.CodeToolTimeout, "the plugin did not answer within %d ms", r.timeout.Milliseconds()).WithCause(cause)
}

func cancelled(cause error) *abi.Error {
	return abi.NewError(abi.CodeToolCancelled, "the call was cancelled").WithCause(cause)
}

// build makes the canonical result of the outcome (§4.4). Nothing changes it
// afterwards.
func (r *run) build() *abi.Result {
	finished := r.host.now()
	result := &abi.Result{
		Protocol: abi.CurrentProtocol(),
		ID:       r.host.ids.New("tr_"),
		Status:   r.payload.Status,
		Tool:     r.tool(),
		Execution: abi.Execution{
			InvocationID: r.invocationID, RequestID: r.requestID,
			StartedAt: abi.Timestamp(r.started), FinishedAt: abi.Timestamp(finished),
			DurationMs: max(finished.Sub(r.started).Milliseconds(), 0),
			TimeoutMs:  r.timeout.Milliseconds(), Attempt: 1,
		},
		Actor:        clone(r.call.Context.Actor),
		Origin:       r.origin(),
		Data:         r.payload.Data,
		Resources:    r.resources,
		Warnings:     r.warnings,
		Error:        r.payload.Error,
		Task:         r.payload.Task,
		Presentation: r.payload.Presentation,
		AIAdvice:     r.payload.AIAdvice,
		Policy:       abi.Policy{Classification: r.classification()},
		Extensions:   r.extensions(),
	}
	return result
}

func (r *run) tool() abi.Tool {
	if r.plugin == nil {
		return abi.Tool{Name: r.call.Tool}
	}
	tool := abi.Tool{Name: r.plugin.Name, Command: r.identifier()}
	if m := r.plugin.Manifest; m != nil {
		tool.DisplayName, tool.Version = m.DisplayName, m.Version
	}
	return tool
}

func (r *run) origin() abi.Origin {
	return abi.Origin{
		Source: r.call.Context.Source, NodeID: optional(r.call.Context.NodeID), ServerID: r.host.serverID,
		Distributed: r.call.Context.NodeID != "", RequestIP: optional(r.call.Context.RequestIP),
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (r *run) classification() abi.Classification {
	if r.plugin != nil && r.plugin.Manifest != nil && r.plugin.Manifest.Classification != "" {
		return r.plugin.Manifest.Classification
	}
	return abi.ClassificationInternal
}

// extensions joins the plugin's, which cannot have a reserved key, with the
// transport's and the host's own.
func (r *run) extensions() abi.Extensions {
	joined := abi.Extensions{}
	maps.Copy(joined, r.payload.Extensions)
	if r.reply != nil {
		maps.Copy(joined, r.reply.Extensions)
	}
	if r.invoked {
		if trust := r.host.transports.trust(r.plugin); trust != "" {
			raw, _ := json.Marshal(trust) // a string cannot fail
			joined[abi.ExtensionTrust] = raw
		}
	}
	return joined
}

// keep stores the result for later readers and returns it. A store that fails
// does not undo what the plugin did: the caller gets the result, with a warning
// that it cannot be asked for again, whose code is returned as well.
func (r *run) keep(ctx context.Context, result *abi.Result) (kept *abi.Result, code string) {
	owner := r.call.Context.Owner
	if r.host.recorder == nil || r.call.Options.NoRecord || owner.Tenant == "" || owner.Actor == "" {
		return result, ""
	}
	err := r.safely(context.WithoutCancel(ctx), func(r *run, ctx context.Context) error {
		return r.host.recorder.Keep(ctx, owner, result)
	})
	if err == nil {
		return result, ""
	}
	r.log().ErrorContext(ctx, "a result could not be kept", "resultId", result.ID, "error", err)
	unkept := *result
	unkept.Warnings = append(append([]abi.Warning{}, result.Warnings...), abi.Warning{
		Code: abi.WarningResultNotKept, Message: "the result could not be stored and cannot be asked for again",
	})
	return &unkept, abi.WarningResultNotKept
}
