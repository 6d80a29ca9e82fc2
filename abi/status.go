package abi

import (
	"fmt"
	"slices"
)

// Status says how a call ended, or that it was accepted and goes on (§5.5).
type Status string

// The statuses of §5.5.
const (
	StatusSuccess   Status = "success"
	StatusAccepted  Status = "accepted"
	StatusPartial   Status = "partial"
	StatusError     Status = "error"
	StatusCancelled Status = "cancelled"
	StatusTimeout   Status = "timeout"
)

// Statuses lists every valid status in the order of §5.5.
func Statuses() []Status {
	return []Status{StatusSuccess, StatusAccepted, StatusPartial, StatusError, StatusCancelled, StatusTimeout}
}

// Terminal reports whether nothing can follow a result of this status.
func (s Status) Terminal() bool { return s != StatusAccepted && s.valid() }

// OK reports whether the status tells of an outcome that the caller can use:
// success, partial or accepted.
func (s Status) OK() bool {
	return s == StatusSuccess || s == StatusPartial || s == StatusAccepted
}

func (s Status) valid() bool {
	_, ok := statusRules(s)
	return ok
}

// Phase tells which answer of a plugin a payload is; the statuses that a
// plugin may use depend on it (§10.1, §10.3).
type Phase string

const (
	// PhaseSync is the only answer of a synchronous or static command.
	PhaseSync Phase = "sync"
	// PhaseFirst is the first answer of an asynchronous command.
	PhaseFirst Phase = "first"
	// PhaseCallback is the final answer of an asynchronous command.
	PhaseCallback Phase = "callback"
	// PhaseHost is a result that the host makes itself.
	PhaseHost Phase = "host"
)

// presence is what the table of §5.5 demands of one member.
type presence uint8

const (
	optional presence = iota
	required
	forbidden
)

// statusRule is one row of the table of §5.5.
type statusRule struct {
	data, err, task presence
	taskStates      []TaskState // states a present task may have
	phases          []Phase     // answers that may carry the status
}

func statusRules(s Status) (statusRule, bool) {
	switch s {
	case StatusSuccess:
		return statusRule{optional, forbidden, optional, []TaskState{TaskCompleted}, []Phase{PhaseSync, PhaseCallback, PhaseHost}}, true
	case StatusAccepted:
		return statusRule{optional, forbidden, required, []TaskState{TaskCreated, TaskQueued, TaskRunning}, []Phase{PhaseFirst, PhaseHost}}, true
	case StatusPartial:
		return statusRule{required, optional, optional, []TaskState{TaskCompleted}, []Phase{PhaseSync, PhaseCallback, PhaseHost}}, true
	case StatusError:
		return statusRule{optional, required, optional, []TaskState{TaskFailed}, []Phase{PhaseSync, PhaseFirst, PhaseCallback, PhaseHost}}, true
	case StatusCancelled:
		return statusRule{optional, required, optional, []TaskState{TaskCancelled}, []Phase{PhaseCallback, PhaseHost}}, true
	case StatusTimeout:
		return statusRule{optional, required, optional, []TaskState{TaskTimedOut}, []Phase{PhaseCallback, PhaseHost}}, true
	}
	return statusRule{}, false
}

// StatusViolation is a broken rule of the status table: Pointer names the
// member (a JSON pointer into the payload), Reason says which rule it breaks.
type StatusViolation struct {
	Pointer string
	Reason  string
}

// Error gives pointer and reason in one line.
func (v *StatusViolation) Error() string { return v.Pointer + ": " + v.Reason }

// CheckStatus applies the table of §5.5 and the phases of §10 to the members
// of a payload: which must be there, which must not, and which state a task
// may have. It is the one function that a guest runs before it answers and the
// host runs on receipt. It returns nil or a *[StatusViolation].
func CheckStatus(phase Phase, p *Payload) error {
	rule, ok := statusRules(p.Status)
	if !ok {
		return &StatusViolation{"/status", fmt.Sprintf("%q is not a status; one of %q was expected", p.Status, Statuses())}
	}
	if !slices.Contains(rule.phases, phase) {
		return &StatusViolation{"/status", fmt.Sprintf("%q is not allowed in the %s", p.Status, phase.describe())}
	}
	if err := p.checkPresence(rule); err != nil {
		return err
	}
	if p.Task != nil && !slices.Contains(rule.taskStates, p.Task.State) {
		return &StatusViolation{"/task/state", fmt.Sprintf("%q does not go with status %q; one of %q was expected", p.Task.State, p.Status, rule.taskStates)}
	}
	return nil
}

func (p *Payload) checkPresence(rule statusRule) error {
	for _, member := range []struct {
		name    string
		rule    presence
		present bool
	}{
		{"data", rule.data, p.HasData()},
		{"error", rule.err, p.Error != nil},
		{"task", rule.task, p.Task != nil},
	} {
		switch {
		case member.rule == required && !member.present:
			return &StatusViolation{"/" + member.name, fmt.Sprintf("status %q needs it, and it is null or absent", p.Status)}
		case member.rule == forbidden && member.present:
			return &StatusViolation{"/" + member.name, fmt.Sprintf("status %q excludes it, and it is present", p.Status)}
		}
	}
	return nil
}

func (p Phase) describe() string {
	switch p {
	case PhaseSync:
		return "answer of a synchronous command"
	case PhaseFirst:
		return "first answer of an asynchronous command"
	case PhaseCallback:
		return "final answer of an asynchronous command"
	}
	return "result of the host"
}
