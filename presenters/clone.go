package presenters

import (
	"bytes"
	"encoding/json"
	"slices"

	"vcphost/abi"
)

// cloneEnvelope copies a result without its data so that nothing reachable from
// the copy is shared with r.
func cloneEnvelope(r *abi.Result) *abi.Result {
	c := *r
	c.Data = nil
	c.Execution.RecordID = clonePointer(r.Execution.RecordID)
	c.Actor = cloneActor(r.Actor)
	c.Origin.NodeID = clonePointer(r.Origin.NodeID)
	c.Origin.RequestIP = clonePointer(r.Origin.RequestIP)
	c.Resources = cloneEach(r.Resources, cloneResource)
	c.Warnings = cloneEach(r.Warnings, cloneWarning)
	c.Error = cloneError(r.Error)
	c.Task = cloneTask(r.Task)
	c.Presentation = clonePointer(r.Presentation)
	c.AIAdvice = cloneAdvice(r.AIAdvice)
	c.Policy.RedactionsApplied = slices.Clone(r.Policy.RedactionsApplied)
	c.Extensions = cloneRawMap(r.Extensions)
	return &c
}

func cloneActor(a *abi.Actor) *abi.Actor {
	c := clonePointer(a)
	if c != nil {
		c.ID, c.Name, c.Maid = clonePointer(a.ID), clonePointer(a.Name), clonePointer(a.Maid)
	}
	return c
}

func cloneResource(r abi.Resource) abi.Resource {
	r.URL = clonePointer(r.URL)
	r.Dimensions = clonePointer(r.Dimensions)
	r.DurationMs = clonePointer(r.DurationMs)
	r.Metadata = cloneRawMap(r.Metadata)
	r.Access = clonePointer(r.Access)
	if r.Access != nil {
		r.Access.ExpiresAt = clonePointer(r.Access.ExpiresAt)
	}
	return r
}

func cloneWarning(w abi.Warning) abi.Warning {
	w.Details = bytes.Clone(w.Details)
	return w
}

// cloneError drops the Go cause, which stays inside the process and is part of
// no view.
func cloneError(e *abi.Error) *abi.Error {
	c := clonePointer(e)
	if c != nil {
		c.Details = bytes.Clone(e.Details)
		c = c.WithCause(nil)
	}
	return c
}

func cloneTask(t *abi.Task) *abi.Task {
	c := clonePointer(t)
	if c != nil {
		c.Progress, c.PollAfterMs = clonePointer(t.Progress), clonePointer(t.PollAfterMs)
	}
	return c
}

func cloneAdvice(a *abi.AIAdvice) *abi.AIAdvice {
	c := clonePointer(a)
	if c != nil {
		c.ResourceIDs = slices.Clone(a.ResourceIDs)
	}
	return c
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

func cloneEach[T any](list []T, clone func(T) T) []T {
	if list == nil {
		return nil
	}
	c := make([]T, len(list))
	for i, item := range list {
		c[i] = clone(item)
	}
	return c
}

// cloneRawMap copies a map and the raw JSON in it.
func cloneRawMap[M ~map[string]json.RawMessage](m M) M {
	if m == nil {
		return nil
	}
	c := make(M, len(m))
	for key, raw := range m {
		c[key] = bytes.Clone(raw)
	}
	return c
}
