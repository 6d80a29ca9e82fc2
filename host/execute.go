package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime/debug"
	"time"

	"vcphost/abi"
	"vcphost/host/registry"
	"vcphost/resources"
)

// Execute runs one call and returns its canonical result: of the plugin's
// outcome, or of why there is none. It ends soon after ctx does, and never
// panics.
func (h *Host) Execute(ctx context.Context, call *abi.Call) *abi.Result {
	run := h.begin(call)
	defer run.end()
	ctx = run.observed.begin(ctx)
	for _, step := range line() {
		err := run.safely(ctx, step.do)
		if err == nil {
			run.observed.step(ctx, step.name, "")
			continue
		}
		run.fail(ctx, err)
		run.observed.step(ctx, step.name, run.payload.Error.Code)
		break
	}
	result := run.build()
	run.observed.step(ctx, StepBuild, "")
	result, code := run.keep(ctx, result)
	run.observed.step(ctx, StepKeep, code)
	run.observed.end(ctx, result)
	return result
}

// lineStep is a step of the line up to the result.
type lineStep struct {
	name Step
	do   func(*run, context.Context) error
}

func line() [7]lineStep {
	return [...]lineStep{
		{StepResolve, (*run).resolve},
		{StepAdmit, (*run).admit},
		{StepCheckIn, (*run).checkIn},
		{StepInvoke, (*run).invoke},
		{StepAdopt, (*run).adopt},
		{StepCheckOut, (*run).checkOut},
		{StepPublish, (*run).publish},
	}
}

// run is one call on its way down the line: what each step leaves for the next.
type run struct {
	host    *Host
	call    *abi.Call
	started time.Time

	invocationID, requestID string

	plugin    *registry.Plugin  // after resolve
	command   *registry.Command // after resolve; nil for a manifest without commands
	arguments json.RawMessage   // after resolve, with the command's true name in it
	timeout   time.Duration     // after resolve; 0 before
	session   *resources.Session
	inputs    []abi.Resource // after checkIn
	invoked   bool           // the plugin's transport was reached
	reply     *abi.Reply     // after invoke

	// The outcome, as adopt and fail leave it for build.
	payload   *abi.Payload
	resources []abi.Resource
	warnings  []abi.Warning

	observed observed
}

func (h *Host) begin(call *abi.Call) *run {
	r := &run{
		host: h, call: call, started: h.now(),
		invocationID: call.Context.InvocationID, requestID: call.Context.RequestID,
	}
	if r.invocationID == "" {
		r.invocationID = h.ids.New("ti_")
	}
	if r.requestID == "" {
		r.requestID = h.ids.New("req_")
	}
	r.observed = observed{run: r, observers: h.observers}
	return r
}

// end drops what the call wrote and did not publish.
func (r *run) end() {
	if r.session == nil {
		return
	}
	if err := r.session.Discard(); err != nil {
		r.log().Error("resources of a call could not be dropped; the next start removes them", "error", err)
	}
}

// safely runs a step and turns its panic into an error. The stack goes to the
// log and nowhere else.
func (r *run) safely(ctx context.Context, step func(*run, context.Context) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r.log().ErrorContext(ctx, "a step of a call panicked", "panic", cause, "stack", string(debug.Stack()))
			err = abi.NewError(abi.CodeInternalError, "the host failed in this call; its log says why")
		}
	}()
	return step(r, ctx)
}

func (r *run) log() *slog.Logger {
	return r.host.logger.With("invocationId", r.invocationID, "tool", r.call.Tool)
}
