package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"vcphost/abi"
	"vcphost/host/registry"
	"vcphost/host/validate"
	"vcphost/internal/rawjson"
	"vcphost/resources"
)

// resolve finds plugin and command in one snapshot of the registry.
func (r *run) resolve(context.Context) error {
	plugin, command, ok := r.host.registry.Snapshot().Resolve(r.call.Tool)
	if !ok {
		return notFound(r.call.Tool, r.host.registry.Snapshot().Plugins())
	}
	r.plugin = plugin
	if err := ready(plugin); err != nil {
		return err
	}
	r.timeout = plugin.Timeout()
	if asked := time.Duration(r.call.Options.TimeoutMs) * time.Millisecond; asked > 0 && asked < r.timeout {
		r.timeout = asked
	}
	if err := r.checkArguments(); err != nil {
		return err
	}
	found, arguments, err := plugin.Command(r.arguments, command)
	if err != nil {
		return err
	}
	r.command, r.arguments = found, arguments
	return nil
}

// notFound tells that there is no such tool, and which one may have been meant:
// the name that differs only in case, '_' and '-'.
func notFound(tool string, plugins []*registry.Plugin) *abi.Error {
	failure := abi.NewError(abi.CodeToolNotFound, "there is no tool %q", tool).WithTarget(tool)
	name, _, _ := strings.Cut(tool, ".")
	for _, plugin := range plugins {
		if abi.SameName(plugin.Name, tool) || abi.SameName(plugin.Name, name) {
			failure.Message += fmt.Sprintf("; there is %q", plugin.Name)
			return failure.WithDetails(map[string]string{"didYouMean": plugin.Name})
		}
	}
	return failure
}

// checkArguments makes sure that the arguments are one JSON object within the
// plugin's limits, before anything reads them.
func (r *run) checkArguments() error {
	r.arguments = r.call.Arguments
	if len(r.arguments) == 0 {
		r.arguments = []byte("{}")
	}
	limit := r.plugin.Manifest.Sandbox.MaxInputBytes
	if need := int64(len(r.arguments)); limit > 0 && need > limit {
		return abi.NewError(abi.CodeInvalidArgument, "the arguments have %d bytes, and the plugin takes %d", need, limit).
			WithDetails(map[string]any{"limit": "maxInputBytes", "allowed": limit, "needed": need, "setting": "sandbox.maxInputBytes"})
	}
	if err := rawjson.Check(r.arguments, rawjson.Limits{}); err != nil {
		failure := abi.NewError(abi.CodeInvalidArgument, "the arguments are not usable JSON: %v", err).WithCause(err)
		var problem *rawjson.Error
		if errors.As(err, &problem) {
			failure = failure.WithTarget(problem.Pointer).
				WithDetails(map[string]any{"reason": problem.Reason, "offset": problem.Offset, "pointer": problem.Pointer})
		}
		return failure
	}
	if kind := rawjson.KindOf(r.arguments); kind != rawjson.Object {
		return abi.NewError(abi.CodeInvalidArgument, "the arguments are a JSON %s, and an object is expected", kind)
	}
	return nil
}

// ready tells why a plugin cannot be called, nil if it can.
func ready(plugin *registry.Plugin) error {
	switch plugin.State {
	case registry.Ready:
		return nil
	case registry.ApprovalRequired:
		return disabled(plugin, string(plugin.State), "the plugin %q waits for an administrator's approval", plugin.Name)
	case registry.Blocked:
		return disabled(plugin, string(plugin.State), "the plugin %q is switched off", plugin.Name)
	}
	return disabled(plugin, string(registry.Refused), "the plugin %q was refused", plugin.Name)
}

// disabled makes the error of a plugin that is known and cannot run.
func disabled(plugin *registry.Plugin, reason, format string, args ...any) *abi.Error {
	details := map[string]any{"reason": reason}
	if len(plugin.Refusals) > 0 {
		details["refusals"] = plugin.Refusals
	}
	return abi.NewError(abi.CodeToolDisabled, format, args...).WithTarget(plugin.Name).WithDetails(details)
}

// admit decides whether the command may run for the caller now. A call without
// an owner has nobody to whom its result could belong, and with a full disk
// nobody could keep it: what a plugin does is done, and its result must not be
// lost.
func (r *run) admit(context.Context) error {
	if owner := r.call.Context.Owner; owner.Tenant == "" || owner.Actor == "" {
		return abi.NewError(abi.CodeUnauthorized, "the call does not say for whom it is made")
	}
	return r.host.resources.Room()
}

// checkIn holds the arguments against the input schema and opens the input
// resources that they reference to the plugin, those and no others.
func (r *run) checkIn(ctx context.Context) error {
	if r.command != nil && r.command.Input != nil {
		if err := validate.Arguments(r.command.Input, r.arguments); err != nil {
			return err
		}
	}
	limits := r.plugin.Manifest.Sandbox
	r.session = r.host.resources.Begin(r.call.Context.Owner, r.plugin.Name, resources.Limits{
		MaxResources: int(noneIfZero(limits.MaxResources)), MaxResourceBytes: noneIfZero(limits.MaxResourceBytes),
	})
	inputs, err := r.session.Allow(ctx, abi.Viewer{Owner: r.call.Context.Owner}, referenced(r.arguments))
	r.inputs = inputs
	return err
}

// noneIfZero tells a manifest's limit of zero, which allows nothing, from the
// zero that means a default in code.
func noneIfZero(limit int64) int64 {
	if limit == 0 {
		return -1
	}
	return limit
}

// invoke hands the call to the plugin's transport. The deadline begins here:
// what the host needs to make a plugin ready is not the caller's time.
func (r *run) invoke(ctx context.Context) error {
	transport, err := r.host.transports.get(ctx, r.plugin)
	switch {
	case err != nil && ctx.Err() != nil:
		return r.ended(ctx, err)
	case err != nil:
		return err
	}
	pass, err := r.host.breakers.enter(r.plugin)
	if err != nil {
		return err
	}
	var how outcome
	defer func() { pass.leave(how) }()
	r.invoked = true
	deadline := time.Now().Add(r.timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	r.reply, err = transport.Invoke(ctx, &abi.Invocation{
		Plugin: r.plugin.Name, Command: r.identifier(), Arguments: r.arguments,
		InvocationID: r.invocationID, Deadline: deadline,
		Actor: r.call.Context.Actor, Source: r.call.Context.Source, Inputs: r.inputs,
		Resources: r.session, Reader: r.session, Progress: r.call.Context.Progress,
	})
	how = outcomeOf(ctx, err)
	switch {
	case ctx.Err() != nil: // what comes too late does not count, payload or error
		return r.ended(ctx, err)
	case err != nil:
		return err
	}
	if limit := r.session.LimitHit(); limit != nil {
		return limit
	}
	return nil
}

func (r *run) identifier() string {
	if r.command == nil {
		return ""
	}
	return r.command.Identifier
}

// checkOut holds the adopted data against the output schema: it is the data
// that consumers will see.
func (r *run) checkOut(context.Context) error {
	usable := r.payload.Status == abi.StatusSuccess || r.payload.Status == abi.StatusPartial
	if r.command == nil || r.command.Output == nil || !usable || r.command.Output.Trivial() {
		return nil
	}
	if err := validate.Data(r.command.Output, r.payload.Data); err != nil {
		return err
	}
	return nil
}

// publish makes the resources of the call readable, all or none.
func (r *run) publish(ctx context.Context) error {
	return r.session.Publish(context.WithoutCancel(ctx))
}
