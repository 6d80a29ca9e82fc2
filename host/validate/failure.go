package validate

import (
	"errors"
	"fmt"
	"strings"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// details is the wire form of the details of every error of this package.
type details struct {
	Pointer  string    `json:"pointer"`
	Expected string    `json:"expected"`
	Got      string    `json:"got"`
	Offset   *int      `json:"offset,omitempty"` // bytes
	Problems []Problem `json:"problems,omitempty"`
}

// Arguments checks the arguments of a call, JSON that passed rawjson.Check. A
// required argument that is absent gives MISSING_ARGUMENT, anything else
// INVALID_ARGUMENT. The target is the name of the argument, or the JSON pointer
// where the trouble lies deeper; the details list all problems.
func Arguments(s *Schema, args []byte) *abi.Error {
	problems := s.Problems(args)
	if len(problems) == 0 {
		return nil
	}
	code, first := abi.CodeInvalidArgument, problems[0]
	for _, problem := range problems {
		if absent(problem) && strings.Count(problem.Pointer, "/") == 1 {
			code, first = abi.CodeMissingArgument, problem
			break
		}
	}
	target := argumentName(first.Pointer)
	var err *abi.Error
	if code == abi.CodeMissingArgument {
		err = abi.NewError(code, "the argument %s is missing", target)
	} else {
		err = abi.NewError(code, "%s: expected %s, got %s", describe("the argument", target), first.Expected, first.Got)
	}
	return err.WithTarget(target).WithDetails(details{Pointer: first.Pointer, Expected: first.Expected, Got: first.Got, Problems: problems})
}

func absent(p Problem) bool { return p.Keyword == "required" || p.Keyword == "dependentRequired" }

// argumentName is the name of a top-level argument, the pointer of anything else.
func argumentName(pointer string) string {
	if strings.Count(pointer, "/") != 1 {
		return pointer
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer[1:])
}

func describe(what, target string) string {
	if target == "" {
		return what + "s"
	}
	return what + " " + target
}

// Data checks the data that consumers will see, after its resources have been
// adopted, JSON that passed rawjson.Check. What does not match is the plugin's
// fault: INVALID_TOOL_RESULT, with pointers that begin with /data.
func Data(s *Schema, data []byte) *abi.Error {
	problems := s.Problems(data)
	if len(problems) == 0 {
		return nil
	}
	for i := range problems {
		problems[i].Pointer = "/data" + problems[i].Pointer
	}
	first := problems[0]
	err := invalidResult(first.Pointer, first.Expected, first.Got, "the result does not match the command's output schema")
	return err.WithDetails(details{Pointer: first.Pointer, Expected: first.Expected, Got: first.Got, Problems: problems})
}

// invalidResult makes the error that every broken payload gets.
func invalidResult(pointer, expected, got, why string) *abi.Error {
	where := pointer
	if where == "" {
		where = "the payload"
	}
	return abi.NewError(abi.CodeInvalidToolResult, "%s: %s: expected %s, got %s", where, why, expected, got).
		WithTarget(pointer).
		WithDetails(details{Pointer: pointer, Expected: expected, Got: got})
}

// jsonError gives the *rawjson.Error that rawjson.Check returned.
func jsonError(err error) *rawjson.Error {
	var found *rawjson.Error
	if !errors.As(err, &found) {
		return &rawjson.Error{Reason: rawjson.ReasonSyntax, Detail: err.Error()}
	}
	return found
}

// notJSON turns a refusal of the bytes themselves into the payload's error.
func notJSON(err error, limits rawjson.Limits) *abi.Error {
	found := jsonError(err)
	expected := "JSON"
	switch found.Reason {
	case rawjson.ReasonUTF8:
		expected = "UTF-8"
	case rawjson.ReasonDuplicateKey:
		expected = "each member once"
	case rawjson.ReasonDepth:
		expected = fmt.Sprintf("at most %d levels", orDefault(limits.MaxDepth, rawjson.DefaultMaxDepth))
	case rawjson.ReasonSize:
		expected = fmt.Sprintf("at most %d bytes", orDefault(limits.MaxBytes, rawjson.DefaultMaxBytes))
	}
	return abi.NewError(abi.CodeInvalidToolResult, "the payload cannot be read: %s at byte %d", found.Detail, found.Offset).
		WithTarget(found.Pointer).
		WithDetails(details{Pointer: found.Pointer, Expected: expected, Got: found.Detail, Offset: &found.Offset})
}

func orDefault(n, fallback int) int {
	if n <= 0 {
		return fallback
	}
	return n
}
