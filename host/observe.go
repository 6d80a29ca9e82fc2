package host

import (
	"context"
	"runtime/debug"
	"time"

	"vcphost/abi"
)

// Observer is told of every call on its way down the line. Its methods run on
// the call's own goroutine and inside its time: they must be quick and must not
// wait. They are safe for concurrent use, and what they are given is read-only.
// A panic of one is logged and does not touch the call.
type Observer interface {
	// CallBegins is told before the first step. The context that it returns, ctx
	// or one made from it, is what the steps and the other two methods get.
	CallBegins(ctx context.Context, call *abi.Call) context.Context
	// StepEnds is told after each step that ran, in their order.
	StepEnds(ctx context.Context, step StepTiming)
	// CallEnds is told when the result is final.
	CallEnds(ctx context.Context, end CallEnd)
}

// Step names a step of the line of a call, in the order of the package's
// comment.
type Step string

// The steps.
const (
	StepResolve  Step = "resolve"
	StepAdmit    Step = "admit"
	StepCheckIn  Step = "checkIn"
	StepInvoke   Step = "invoke"
	StepAdopt    Step = "adopt"
	StepCheckOut Step = "checkOut"
	StepPublish  Step = "publish"
	StepBuild    Step = "build"
	StepKeep     Step = "keep"
)

// Steps lists the steps in their order. The caller owns the slice.
func Steps() []Step {
	return []Step{
		StepResolve, StepAdmit, StepCheckIn, StepInvoke, StepAdopt, StepCheckOut, StepPublish, StepBuild, StepKeep,
	}
}

// StepTiming is one step that ran.
type StepTiming struct {
	Step       Step
	Start, End time.Time
	// Code is the error code with which the step ended the line, "" where it did
	// not. Of StepKeep, which ends nothing, it is abi.WarningResultNotKept.
	Code string
}

// CallEnd is a call that is over.
type CallEnd struct {
	// Tool and Command are the registry's names, not the caller's; Tool is ""
	// where the registry knows no such tool.
	Tool, Command string
	// Transport is the manifest's entryPoint.type if the host has such a
	// transport, else "". Trust is the class of its confinement, "" with it.
	Transport string
	Trust     abi.Trust
	Start     time.Time
	End       time.Time
	Result    *abi.Result
}

// observed is the part of a run that watches it. Without observers none of its
// methods reads a clock or allocates.
type observed struct {
	run       *run
	observers []Observer
	stepStart time.Time
}

func (o *observed) begin(ctx context.Context) context.Context {
	if len(o.observers) == 0 {
		return ctx
	}
	for _, observer := range o.observers {
		ctx = o.begins(ctx, observer)
	}
	o.stepStart = o.run.host.now()
	return ctx
}

func (o *observed) begins(ctx context.Context, observer Observer) (begun context.Context) {
	begun = ctx
	defer o.contain()
	if returned := observer.CallBegins(ctx, o.run.call); returned != nil {
		return returned
	}
	return ctx
}

// step tells of the step that ended now and began where the one before ended.
func (o *observed) step(ctx context.Context, name Step, code string) {
	if len(o.observers) == 0 {
		return
	}
	timing := StepTiming{Step: name, Start: o.stepStart, End: o.run.host.now(), Code: code}
	for _, observer := range o.observers {
		o.stepEnds(ctx, observer, timing)
	}
	o.stepStart = timing.End
}

func (o *observed) stepEnds(ctx context.Context, observer Observer, timing StepTiming) {
	defer o.contain()
	observer.StepEnds(ctx, timing)
}

func (o *observed) end(ctx context.Context, result *abi.Result) {
	if len(o.observers) == 0 {
		return
	}
	end := CallEnd{Start: o.run.started, End: o.stepStart, Result: result}
	if plugin := o.run.plugin; plugin != nil {
		end.Tool, end.Command = plugin.Name, o.run.identifier()
		if m := plugin.Manifest; m != nil {
			if kind, ok := o.run.host.transports.kinds[m.EntryPoint.Type]; ok {
				end.Transport, end.Trust = m.EntryPoint.Type, kind.Trust
			}
		}
	}
	for _, observer := range o.observers {
		o.ends(ctx, observer, end)
	}
}

func (o *observed) ends(ctx context.Context, observer Observer, end CallEnd) {
	defer o.contain()
	observer.CallEnds(ctx, end)
}

func (o *observed) contain() {
	if cause := recover(); cause != nil {
		o.run.host.logger.Error("an observer of calls panicked", "panic", cause, "stack", string(debug.Stack()))
	}
}

// FailedPlugins names the plugins whose transport could not be opened, in no
// order. A plugin that was never called has not been tried.
func (h *Host) FailedPlugins() []string {
	plugins := h.registry.Snapshot().Plugins()
	h.transports.mu.Lock()
	defer h.transports.mu.Unlock()
	var names []string
	for _, plugin := range plugins {
		if entry, tried := h.transports.opened[plugin]; tried && entry.failed() {
			names = append(names, plugin.Name)
		}
	}
	return names
}

// failed reports whether the opening is over and came to nothing.
func (o *opening) failed() bool {
	select {
	case <-o.done:
		return o.err != nil
	default:
		return false
	}
}
