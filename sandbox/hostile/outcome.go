package hostile

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"vcphost/abi"
	"vcphost/sandbox/engine"
	"vcphost/sandbox/wasmbin"
)

// Outcomes that are no error codes.
const (
	opened = "opens"
	answer = "answers"
)

// outcome names what an error is, so that it can be held against a set: the
// code, and behind a slash what the code alone leaves open, such as the limit,
// the trap or the exit code. It never looks at messages.
func outcome(err error, success string) string {
	if err == nil {
		return success
	}
	var failure *abi.Error
	if !errors.As(err, &failure) {
		return "an error without a code"
	}
	if detail := detailOf(err, failure); detail != "" {
		return failure.Code + "/" + detail
	}
	return failure.Code
}

func detailOf(err error, failure *abi.Error) string {
	if failure.Code == abi.CodeToolDisabled || failure.Code == abi.CodeSandboxTrap {
		if reason := refusal(err); reason != "" {
			return reason
		}
	}
	var details struct {
		Limit    any    `json:"limit"` // a name, but a number where compiling hit it
		Trap     string `json:"trap"`
		ExitCode *int64 `json:"exitCode"`
		Reason   string `json:"reason"`
	}
	if json.Unmarshal(failure.Details, &details) != nil {
		return ""
	}
	limit, _ := details.Limit.(string)
	switch {
	case details.ExitCode != nil:
		return strconv.FormatInt(*details.ExitCode, 10)
	case limit != "" && failure.Code == abi.CodeToolDisabled:
		return "limit " + limit
	case limit != "":
		return limit
	case details.Trap != "":
		return details.Trap
	}
	return details.Reason
}

// refusal says why a module was refused, "" where that has no type.
func refusal(err error) string {
	var limit *wasmbin.LimitError
	var unsupported *wasmbin.UnsupportedError
	var reserved *wasmbin.ReservedError
	var compile *engine.CompileError
	switch {
	case errors.As(err, &limit):
		return "limit " + limit.Limit
	case errors.As(err, &unsupported):
		return "unsupported " + unsupported.Feature
	case errors.As(err, &reserved):
		return "reserved name"
	case errors.As(err, &compile):
		return "compile " + compile.Reason
	case errors.Is(err, wasmbin.ErrComponent):
		return "component"
	case errors.Is(err, wasmbin.ErrMalformed), errors.Is(err, wasmbin.ErrNotWASM):
		return "malformed"
	case errors.Is(err, wasmbin.ErrDataBounds):
		return "data bounds"
	}
	return ""
}

// tally is the outcomes of a case, each once, in order of appearance.
type tally []string

func (t *tally) add(outcome string) {
	if !slices.Contains(*t, outcome) {
		*t = append(*t, outcome)
	}
}

// or lists a set for people.
func or(set []string) string { return strings.Join(set, " or ") }
