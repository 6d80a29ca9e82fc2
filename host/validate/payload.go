package validate

import (
	"encoding/json"
	"fmt"
	"strings"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// Limits of a payload beyond those of package abi.
const (
	// maxAdviceBytes bounds the message of an advice. What is longer than
	// abi.MaxAdviceRunes and not than this is for the presenter to cut.
	maxAdviceBytes  = 8 << 10
	maxTaskIDBytes  = 128
	maxMilliseconds = 1<<53 - 1
)

// Payload reads what a plugin returned, strictly: JSON within the limits (whose
// zero fields mean the defaults of rawjson), no member beyond those of §5.2 at
// any level that the protocol fixes, each of its type and within its limits, and
// status, data, error and task as §5.5 and the phase of the answer demand.
//
// Data of the payload is a part of raw, neither copied nor decoded; raw must not
// be changed as long as the payload is in use. Categories that the plugin left
// out are still empty. The error is INVALID_TOOL_RESULT; its target is a JSON
// pointer into the payload.
func Payload(raw []byte, phase abi.Phase, limits rawjson.Limits) (*abi.Payload, *abi.Error) {
	if err := rawjson.Check(raw, limits); err != nil {
		return nil, notJSON(err, limits)
	}
	r := payloadReader{drafts: map[string]bool{}}
	if err := r.object("", raw, payloadMembers()); err != nil {
		return nil, err
	}
	for name, value := range rawjson.Members(raw) {
		if err := r.take(name, value); err != nil {
			return nil, err
		}
	}
	if err := abi.CheckStatus(phase, &r.payload); err != nil {
		return nil, statusError(err, raw)
	}
	return &r.payload, nil
}

func statusError(err error, raw []byte) *abi.Error {
	violation, ok := err.(*abi.StatusViolation)
	if !ok {
		violation = &abi.StatusViolation{Pointer: "/status", Reason: err.Error()}
	}
	value, _ := rawjson.At(raw, violation.Pointer)
	return abi.NewError(abi.CodeInvalidToolResult, "%s: %s", violation.Pointer, violation.Reason).
		WithTarget(violation.Pointer).
		WithDetails(details{Pointer: violation.Pointer, Expected: violation.Reason, Got: got(value)})
}

// payloadReader fills a payload from members that have been checked.
type payloadReader struct {
	payload abi.Payload
	drafts  map[string]bool // ids so far
}

// take puts one checked member into the payload.
func (r *payloadReader) take(name string, value []byte) *abi.Error {
	if name != "data" && rawjson.KindOf(value) == rawjson.Null {
		return nil
	}
	p := &r.payload
	switch name {
	case "status":
		return decode("/status", value, &p.Status)
	case "data":
		p.Data = value
		return nil
	case "resources":
		return decode("/resources", value, &p.Resources)
	case "warnings":
		return decode("/warnings", value, &p.Warnings)
	case "error":
		return decode("/error", value, &p.Error)
	case "task":
		return decode("/task", value, &p.Task)
	case "presentation":
		return decode("/presentation", value, &p.Presentation)
	case "aiAdvice":
		return decode("/aiAdvice", value, &p.AIAdvice)
	default:
		return decode("/extensions", value, &p.Extensions)
	}
}

// decode reads a member whose shape has been checked, so that the tolerance of
// encoding/json (letter case, repeated and unknown members) has nothing to act on.
func decode(pointer string, value []byte, into any) *abi.Error {
	if err := json.Unmarshal(value, into); err != nil {
		return invalidResult(pointer, "a value that can be read", err.Error(), "the member cannot be read")
	}
	return nil
}

// check is the rule of one member: nil, or what is wrong with the value at pointer.
type check func(r *payloadReader, pointer string, value []byte) *abi.Error

// members is the fixed structure of one object.
type members struct {
	required []string
	checks   map[string]check
}

// object checks that a value is an object of exactly these members.
func (r *payloadReader) object(pointer string, raw []byte, m members) *abi.Error {
	if rawjson.KindOf(raw) != rawjson.Object {
		return invalidResult(pointer, "an object", got(raw), "the type is wrong")
	}
	for name, value := range rawjson.Members(raw) {
		rule, known := m.checks[name]
		if !known {
			return unknownMember(pointer, name, value, m)
		}
		if rule == nil {
			continue
		}
		if err := rule(r, rawjson.AppendPointer(pointer, name), value); err != nil {
			return err
		}
	}
	for _, name := range m.required {
		if _, found := member(raw, name); !found {
			return invalidResult(rawjson.AppendPointer(pointer, name), "a member of this name", "nothing", "the member is missing")
		}
	}
	return nil
}

func unknownMember(pointer, name string, value []byte, m members) *abi.Error {
	at := rawjson.AppendPointer(pointer, name)
	if len(name) > maxShown {
		at = rawjson.AppendPointer(pointer, cut(name))
	}
	if pointer == "" && coreOwned(name) {
		return invalidResult(at, "no such member", got(value), "the core owns this member, a plugin must not set it")
	}
	known := sortedKeys(m.checks)
	for _, right := range known {
		if abi.SameName(right, name) {
			return invalidResult(at, fmt.Sprintf("the member to be written %q", right), got(value), "the member is unknown")
		}
	}
	return invalidResult(at, "no member but "+strings.Join(known, ", "), got(value), "the member is unknown")
}

// coreOwned reports whether the name is one of those that §5.1 keeps for the core.
func coreOwned(name string) bool {
	switch name {
	case "id", "protocol", "tool", "execution", "actor", "origin", "record", "policy":
		return true
	}
	return false
}
