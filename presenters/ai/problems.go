package ai

import (
	"bytes"
	"encoding/json"
	"strings"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// unrepeated is the details of an error without what the reader is told anyway.
// Those of a failed validation have the members of one problem, which stands in
// the list of all problems again; and of a problem that is the only one, the
// message has most. Other details stay as they are.
func unrepeated(e *abi.Error) json.RawMessage {
	problems, found := rawjson.At(e.Details, "/problems")
	if !found || rawjson.KindOf(problems) != rawjson.Array || !repeats(problems, e.Details) {
		return e.Details
	}
	if rawjson.Len(problems) == 1 {
		problem, _ := rawjson.At(problems, "/0")
		problems = append(append([]byte{'['}, untold(problem, e.Message)...), ']')
	}
	return rawjson.SetMember([]byte("{}"), "problems", problems)
}

// repeats reports whether one of the problems has all members that the details
// have beside them.
func repeats(problems, details []byte) bool {
	for _, problem := range rawjson.Elements(problems) {
		if rawjson.KindOf(problem) == rawjson.Object && includes(problem, details) {
			return true
		}
	}
	return false
}

func includes(problem, details []byte) bool {
	for name, value := range rawjson.Members(details) {
		if name == "problems" {
			continue
		}
		again, found := rawjson.At(problem, rawjson.AppendPointer("", name))
		if !found || !bytes.Equal(again, value) {
			return false
		}
	}
	return true
}

// untold is a problem without what the message says of it in the same words.
func untold(problem []byte, message string) []byte {
	left := []byte("{}")
	for name, value := range rawjson.Members(problem) {
		text, isText := rawjson.Unquote(value)
		if isText && (name == "expected" || name == "got") && strings.Contains(message, text) {
			continue
		}
		left = rawjson.SetMember(left, name, value)
	}
	return left
}
