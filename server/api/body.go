package api

import (
	"encoding/json"
	"errors"
	"strconv"

	"vcphost/internal/rawjson"
	"vcphost/presenters/ai"
	"vcphost/server/problem"
)

// maxCallBytes bounds the body of a call. A plugin's own limit on its input is
// lower and is the host's to tell.
const maxCallBytes = 64 << 20

// callBody is what a caller asks for: a tool, its arguments, and how the result
// is to be shown.
type callBody struct {
	tool      string
	arguments json.RawMessage
	options   callOptions
	maid      string // of a text block; "" without
}

// callOptions are the members of options (§9.1).
type callOptions struct {
	view      view
	budget    ai.Budget
	timeoutMs int64
	noRecord  bool
}

// view is a form in which a result can be asked for.
type view string

const (
	viewCanonical view = "canonical"
	viewAI        view = "ai"
	viewLegacy    view = "legacy"
)

func views() []view { return []view{viewCanonical, viewAI, viewLegacy} }

// checkJSON holds a body against the rules for JSON that enters the host.
func checkJSON(body []byte) error {
	err := rawjson.Check(body, rawjson.Limits{MaxBytes: maxCallBytes})
	if err == nil {
		return nil
	}
	told := problem.InvalidJSON("%s", err)
	var at *rawjson.Error
	if errors.As(err, &at) {
		told = told.At(at.Pointer)
	}
	return told
}

// parseCall reads the body of a call. Unknown members are refused, so that a
// misspelt option does not pass for one.
func parseCall(body []byte) (callBody, error) {
	call := callBody{options: callOptions{view: viewCanonical}}
	if err := checkJSON(body); err != nil {
		return call, err
	}
	if kind := rawjson.KindOf(body); kind != rawjson.Object {
		return call, problem.BadRequest("the body is a JSON %s, and an object is expected", kind)
	}
	for name, value := range rawjson.Members(body) {
		var err error
		switch name {
		case "tool":
			call.tool, err = text(value, "/tool")
		case "arguments":
			call.arguments = value
		case "options":
			err = call.options.parse(value, "/options")
		default:
			err = unknownMember(rawjson.AppendPointer("", name))
		}
		if err != nil {
			return call, err
		}
	}
	if call.tool == "" {
		return call, problem.BadRequest("the body names no tool").At("/tool")
	}
	return call, nil
}

func (o *callOptions) parse(raw []byte, pointer string) error {
	if kind := rawjson.KindOf(raw); kind != rawjson.Object {
		return problem.BadRequest("options are a JSON %s, and an object is expected", kind).At(pointer)
	}
	for name, value := range rawjson.Members(raw) {
		at := rawjson.AppendPointer(pointer, name)
		var err error
		switch name {
		case "view":
			var asked string
			if asked, err = text(value, at); err == nil {
				o.view, err = parseView(asked, at)
			}
		case "maxCharacters":
			o.budget.MaxCharacters, err = count(value, at)
		case "maxResources":
			o.budget.MaxResources, err = count(value, at)
		case "includeExecutionMetadata":
			o.budget.IncludeExecutionMetadata, err = boolean(value, at)
		case "timeoutMs":
			var ms int
			ms, err = count(value, at)
			o.timeoutMs = int64(ms)
		case "record":
			var record bool
			record, err = boolean(value, at)
			o.noRecord = !record
		default:
			err = unknownMember(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func parseView(asked, pointer string) (view, error) {
	var list string
	for i, known := range views() {
		if string(known) == asked {
			return known, nil
		}
		if i > 0 {
			list += ", "
		}
		list += string(known)
	}
	return "", problem.BadRequest("there is no view %.40q; there are %s", asked, list).At(pointer)
}

func unknownMember(pointer string) error {
	return problem.BadRequest("there is no such member").At(pointer)
}

func text(value []byte, pointer string) (string, error) {
	s, ok := rawjson.Unquote(value)
	if !ok {
		return "", problem.BadRequest("a string is expected").At(pointer)
	}
	return s, nil
}

func count(value []byte, pointer string) (int, error) {
	n, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil || n < 1 {
		return 0, problem.BadRequest("a whole number above zero is expected").At(pointer)
	}
	return int(n), nil
}

func boolean(value []byte, pointer string) (bool, error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, problem.BadRequest("true or false is expected").At(pointer)
}
