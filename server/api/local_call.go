package api

import (
	"bufio"
	"encoding/json"
	"slices"
	"strings"

	"vcphost/abi"
	"vcphost/host/registry"
	"vcphost/internal/rawjson"
	"vcphost/presenters/ai"
	"vcphost/server/local"
	"vcphost/server/problem"
)

// maxLocalBytes bounds a call from the command line, whose arguments travel in
// base 64.
const maxLocalBytes = 2 * maxCallBytes

// localCall answers as events: "progress" while the call runs, one "result",
// which is always canonical, and for the view "ai" one "view" before it.
func (a *API) localCall(r *Request) error {
	raw, err := r.bodyWithin(maxLocalBytes)
	if err != nil {
		return err
	}
	var body local.Call
	if err := decodeLocal(raw, &body); err != nil {
		return err
	}
	asked := view(body.View)
	if asked != viewCanonical && asked != viewAI {
		return problem.BadRequest("there is no view %.40q here", body.View).At("/view")
	}
	r.source = abi.FromCLI
	call := callBody{tool: body.Tool, arguments: a.localArguments(&body), options: callOptions{
		view: asked, budget: ai.Budget{MaxCharacters: body.MaxCharacters}, timeoutMs: body.TimeoutMs,
	}}
	who := r.Identity
	return a.streamOne(r, call, func(w *bufio.Writer, result *abi.Result) error {
		for _, event := range []struct {
			name string
			view view
		}{{"view", viewAI}, {"result", viewCanonical}} {
			if event.view == viewAI && asked != viewAI {
				continue
			}
			options := call.options
			options.view = event.view
			_, presented, err := present(result, who, options)
			if err != nil {
				return err
			}
			if err := writeEvent(w, event.name, presented); err != nil {
				return err
			}
		}
		return nil
	})
}

// localArguments puts the arguments together. Those that are no JSON object are
// left as they are.
func (a *API) localArguments(body *local.Call) json.RawMessage {
	arguments := json.RawMessage(body.Arguments)
	if len(body.Pairs)+len(body.Inputs) == 0 || rawjson.Check(arguments, rawjson.Limits{}) != nil {
		return arguments
	}
	typed := a.inputTypes(body.Tool, arguments, body.Pairs)
	for _, p := range body.Pairs {
		arguments = rawjson.SetMember(arguments, string(p.Name), typedValue(string(p.Value), typed(string(p.Name))))
	}
	for _, in := range body.Inputs {
		reference, _ := json.Marshal(abi.Reference{Resource: in.Resource}) // a string cannot fail
		arguments = rawjson.SetMember(arguments, string(in.Name), reference)
	}
	return arguments
}

// inputTypes tells what the schema of the command that is being called says of
// an argument.
func (a *API) inputTypes(tool string, arguments []byte, pairs []local.Pair) func(name string) registry.Input {
	plugin, command, ok := a.opts.Registry.Snapshot().Resolve(tool)
	if !ok {
		return func(string) registry.Input { return registry.Input{} }
	}
	if command == "" {
		command = chosenCommand(arguments, pairs)
	}
	return func(name string) registry.Input { return plugin.InputType(command, name) }
}

func chosenCommand(arguments []byte, pairs []local.Pair) string {
	for _, p := range pairs {
		if string(p.Name) == "command" {
			return string(p.Value)
		}
	}
	value, _ := rawjson.At(arguments, "/command")
	command, _ := rawjson.Unquote(value)
	return command
}

// typedValue reads a value as what the schema says it is: "42" is a number only
// where the schema has one. A value that is not of that type stays a string,
// and the schema then tells what is wrong with it.
func typedValue(value string, input registry.Input) []byte {
	raw := []byte(strings.TrimSpace(value))
	if rawjson.Check(raw, rawjson.Limits{}) == nil {
		kind := rawjson.KindOf(raw).String()
		number := kind == "number" && slices.Contains(input.Types, "integer")
		if kind != "string" && (slices.Contains(input.Types, kind) || number) {
			return raw
		}
	}
	return rawjson.Quote(nil, value)
}
