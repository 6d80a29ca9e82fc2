package abi_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"vcphost/abi"
)

// The table as a whole is held against an oracle in host/validate; these are its
// rows as a guest meets them, and what a violation tells.
func TestCheckStatus(t *testing.T) {
	failure := abi.NewError("X.Y", "m")
	task := func(state abi.TaskState) *abi.Task { return &abi.Task{ID: "task_1", State: state} }
	for _, test := range []struct {
		name    string
		phase   abi.Phase
		payload abi.Payload
		pointer string // of the violation, "" for none
	}{
		{"success without data", abi.PhaseSync, abi.Payload{Status: abi.StatusSuccess}, ""},
		{"success with an error", abi.PhaseSync, abi.Payload{Status: abi.StatusSuccess, Error: failure}, "/error"},
		{"success of a running task", abi.PhaseCallback, abi.Payload{Status: abi.StatusSuccess, Task: task(abi.TaskRunning)}, "/task/state"},
		{"accepted", abi.PhaseFirst, abi.Payload{Status: abi.StatusAccepted, Task: task(abi.TaskQueued)}, ""},
		{"accepted without a task", abi.PhaseFirst, abi.Payload{Status: abi.StatusAccepted}, "/task"},
		{"accepted at once", abi.PhaseSync, abi.Payload{Status: abi.StatusAccepted, Task: task(abi.TaskQueued)}, "/status"},
		{"partial with null", abi.PhaseSync, abi.Payload{Status: abi.StatusPartial, Data: json.RawMessage(" null ")}, "/data"},
		{"partial", abi.PhaseSync, abi.Payload{Status: abi.StatusPartial, Data: json.RawMessage("0"), Error: failure}, ""},
		{"error without an error", abi.PhaseSync, abi.Payload{Status: abi.StatusError}, "/error"},
		{"error", abi.PhaseFirst, abi.Payload{Status: abi.StatusError, Error: failure}, ""},
		{"a plugin that cancels itself", abi.PhaseSync, abi.Payload{Status: abi.StatusCancelled, Error: failure}, "/status"},
		{"cancelled later", abi.PhaseCallback, abi.Payload{Status: abi.StatusCancelled, Error: failure, Task: task(abi.TaskCancelled)}, ""},
		{"timeout of the host", abi.PhaseHost, abi.Payload{Status: abi.StatusTimeout, Error: failure}, ""},
		{"no status", abi.PhaseSync, abi.Payload{}, "/status"},
		{"no phase", "", abi.Payload{Status: abi.StatusSuccess}, "/status"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := abi.CheckStatus(test.phase, &test.payload)
			if test.pointer == "" {
				if err != nil {
					t.Errorf("got %v, want nothing", err)
				}
				return
			}
			var violation *abi.StatusViolation
			if !errors.As(err, &violation) || violation.Pointer != test.pointer || violation.Reason == "" {
				t.Errorf("got %v, want a violation at %s", err, test.pointer)
			}
		})
	}
}

func TestStatusKinds(t *testing.T) {
	for _, status := range abi.Statuses() {
		if got, want := status.Terminal(), status != abi.StatusAccepted; got != want {
			t.Errorf("%s: terminal = %v, want %v", status, got, want)
		}
		useful := []abi.Status{abi.StatusSuccess, abi.StatusPartial, abi.StatusAccepted}
		if got, want := status.OK(), slices.Contains(useful, status); got != want {
			t.Errorf("%s: ok = %v, want %v", status, got, want)
		}
	}
	if made := abi.Status("made up"); made.Terminal() || made.OK() {
		t.Errorf("an unknown status is terminal or ok")
	}
}
