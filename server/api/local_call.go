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
	"vcphost/server/problem"
)

// maxLocalBytes bounds a call from the command line, whose arguments travel in
// base 64.
const maxLocalBytes = 2 * maxCallBytes

// localCallBody is a call as somebody typed it. Arguments and values are any
// bytes: what is wrong with them is told in the result.
type localCallBody struct {
	Tool      string       `json:"tool"`
	Arguments []byte       `json:"arguments"`
	Pairs     []localPair  `json:"pairs"`  // set in the arguments, each typed by the command's schema
	Inputs    []localInput `json:"inputs"` // set in the arguments as references
	TimeoutMs int64        `json:"timeoutMs"`
	// View "ai" asks for a second event with that projection.
	View          view `json:"view"`
	MaxCharacters int  `json:"maxCharacters"`
}

type localPair struct {
	Name  []byte `json:"name"`
	Value []byte `json:"value"`
}

type localInput struct {
	Name     []byte `json:"name"`
	Resource string `json:"resource"`
}

// localCall answers as events: "progress" while the call runs, one "result",
// which is always canonical, and for the view "ai" one "view" before it.
func (a *API) localCall(r *Request) error {
	raw, err := r.Body(maxLocalBytes)
	if err != nil {
		return err
	}
	var body localCallBody
	if err := decodeLocal(raw, &body); err != nil {
		return err
	}
	if body.View != viewCanonical && body.View != viewAI {
		return problem.BadRequest("there is no view %.40q here", body.View).At("/view")
	}
	r.source = abi.FromCLI
	call := callBody{tool: body.Tool, arguments: a.localArguments(&body), options: callOptions{
		view: body.View, budget: ai.Budget{MaxCharacters: body.MaxCharacters}, timeoutMs: body.TimeoutMs,
	}}
	who := r.Identity
	return a.stream(r, call, func(w *bufio.Writer, result *abi.Result) error {
		for _, event := range []struct {
			name string
			view view
		}{{"view", viewAI}, {"result", viewCanonical}} {
			if event.view == viewAI && body.View != viewAI {
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
func (a *API) localArguments(body *localCallBody) json.RawMessage {
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
func (a *API) inputTypes(tool string, arguments []byte, pairs []localPair) func(name string) registry.Input {
	plugin, command, ok := a.opts.Registry.Snapshot().Resolve(tool)
	if !ok {
		return func(string) registry.Input { return registry.Input{} }
	}
	if command == "" {
		command = chosenCommand(arguments, pairs)
	}
	return func(name string) registry.Input { return plugin.InputType(command, name) }
}

func chosenCommand(arguments []byte, pairs []localPair) string {
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
