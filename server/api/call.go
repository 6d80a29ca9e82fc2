package api

import (
	"context"
	"strconv"

	"vcphost/abi"
	"vcphost/internal/ids"
	"vcphost/internal/rawjson"
	"vcphost/server/problem"
)

func (a *API) callRoutes() []Route {
	answers := map[int]Content{200: {jsonType, "Answer"}, 500: {jsonType, "LegacyAnswer"}}
	return []Route{
		{
			Method: "POST", Path: "/v1/human/tool", PerTool: true, MaxBody: maxCallBytes, Limited: true, OperationID: "callTool",
			Summary: "Call a tool and answer with the canonical result, or with the view that options ask for",
			Doc: Doc{
				Parameters:   textParameters(),
				RequestTypes: map[string]string{jsonType: "Call", "text/plain": "CallText"},
				Responses:    map[int]Content{200: {jsonType, "Answers"}, 500: {jsonType, "LegacyAnswer"}}, Streams: true,
			},
			Handle: a.humanTool,
		},
		{
			Method: "POST", Path: "/v1/tools/{tool}/{command}", PerTool: true, MaxBody: maxCallBytes, Limited: true, OperationID: "callCommand",
			Summary: "Call one command; the body is its arguments",
			Doc: Doc{
				Parameters: append([]Parameter{
					{Name: "tool", In: "path", Type: "string", Required: true, Description: "name of the tool"},
					{Name: "command", In: "path", Type: "string", Required: true, Description: "name of the command"},
				}, optionParameters()...),
				RequestTypes: map[string]string{jsonType: "Arguments"}, Responses: answers, Streams: true,
			},
			Handle: a.callCommand,
		},
		{
			Method: "POST", Path: "/v1/interrupt", PerTool: true, MaxBody: 64 << 10, OperationID: "interrupt",
			Summary: "Stop running calls by requestId or invocationId",
			Doc:     Doc{RequestTypes: map[string]string{jsonType: "Interrupt"}, Responses: map[int]Content{200: {jsonType, "Interrupted"}}},
			Handle:  a.interrupt,
		},
	}
}

// aboveZero is the schema of a count.
const aboveZero = `{"type":"integer","minimum":1,"maximum":2147483647}`

// optionParameters are the options that a query can hold.
func optionParameters() []Parameter {
	return []Parameter{
		viewParameter(),
		{Name: "maxCharacters", In: "query", Schema: aboveZero, Description: "budget of the ai view in code points"},
		{Name: "maxResources", In: "query", Schema: aboveZero, Description: "how many resources the ai view shows"},
		{Name: "timeoutMs", In: "query", Schema: aboveZero, Description: "shortens the deadline of the call"},
	}
}

// textParameters are the same of an endpoint where a body of JSON has them in
// itself.
func textParameters() []Parameter {
	list := optionParameters()
	for i := range list {
		list[i].Description += "; of a text/plain body only, a JSON body has it in options"
	}
	return list
}

func viewParameter() Parameter {
	return Parameter{
		Name: "view", In: "query", Schema: `{"enum":["canonical","ai","legacy"]}`,
		Description: "form of the answer; canonical where it is left out",
	}
}

func (a *API) humanTool(r *Request) error {
	switch kind := r.ContentType(); kind {
	case jsonType:
		body, err := r.Body()
		if err != nil {
			return err
		}
		call, err := parseCall(body)
		if err != nil {
			return err
		}
		return a.answerCall(r, call)
	case "text/plain":
		return a.humanText(r)
	default:
		return problem.UnsupportedMediaType("%.80q is not taken here; send application/json or text/plain", kind)
	}
}

func (a *API) callCommand(r *Request) error {
	if kind := r.ContentType(); kind != jsonType {
		return problem.UnsupportedMediaType("%.80q is not taken here; send application/json", kind)
	}
	body, err := r.Body()
	if err != nil {
		return err
	}
	if err := checkJSON(body); err != nil {
		return err
	}
	call := callBody{tool: r.Param("tool") + "." + r.Param("command"), arguments: body, options: callOptions{view: viewCanonical}}
	if err := call.options.query(r); err != nil {
		return err
	}
	return a.answerCall(r, call)
}

func (o *callOptions) query(r *Request) (err error) {
	if asked := r.Query("view"); asked != "" {
		if o.view, err = parseView(asked, ""); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		name string
		set  func(n int)
	}{
		{"maxCharacters", func(n int) { o.budget.MaxCharacters = n }},
		{"maxResources", func(n int) { o.budget.MaxResources = n }},
		{"timeoutMs", func(n int) { o.timeoutMs = int64(n) }},
	} {
		asked := r.Query(p.name)
		if asked == "" {
			continue
		}
		n, err := strconv.ParseUint(asked, 10, 31)
		if err != nil || n < 1 {
			return problem.BadRequest("the query parameter %s must be a whole number above zero", p.name)
		}
		p.set(int(n))
	}
	return nil
}

// mayCall checks the one scope that depends on what is called. Which tool and
// command that is, the registry says; a name that it does not know is a call
// that any key with a tools:call scope may make, and the host answers it.
func (a *API) mayCall(r *Request, call callBody) error {
	tool, command := call.tool, ""
	if plugin, named, ok := a.opts.Registry.Snapshot().Resolve(call.tool); ok {
		tool, command = plugin.Name, named
		found, _, err := plugin.Command(argumentsOf(call), named)
		if err == nil && found != nil {
			command = found.Identifier
		}
	}
	if !r.Identity.Scopes.AllowTool(tool, command) {
		return problem.Forbidden("the key has no scope tools:call for %s", tool)
	}
	return nil
}

// argumentsOf gives arguments that can be read, {} where they cannot.
func argumentsOf(call callBody) []byte {
	if rawjson.KindOf(call.arguments) != rawjson.Object {
		return []byte("{}")
	}
	return call.arguments
}

// answerCall runs one call and answers with its result in the view asked for.
func (a *API) answerCall(r *Request, call callBody) error {
	if err := a.mayCall(r, call); err != nil {
		return err
	}
	if r.wantsEvents() {
		return a.streamCall(r, call)
	}
	ctx, stop := r.untilClientLeaves()
	defer stop()
	result := a.execute(ctx, r.invocation(call), nil)
	status, body, err := present(result, r.Identity, call.options)
	if err != nil {
		return err
	}
	return r.JSON(status, body)
}

// invocation is the call as the host gets it, with nothing of the request's
// own memory in it.
func (r *Request) invocation(call callBody) *abi.Call { return r.invocationFrom(call, r.remoteIP()) }

// invocationFrom is the same, for when the handler may have returned.
func (r *Request) invocationFrom(call callBody, remoteIP string) *abi.Call {
	id := r.api.opts.IDs.New(ids.Invocation)
	r.watch.called(id)
	return &abi.Call{
		Tool: call.tool, Arguments: call.arguments,
		Options: abi.CallOptions{TimeoutMs: call.options.timeoutMs, NoRecord: call.options.noRecord},
		Context: abi.CallContext{
			Owner: r.Identity.Owner, Actor: r.actor(call.maid), Source: r.source,
			RequestID: r.ID, InvocationID: id, RequestIP: remoteIP,
		},
	}
}

// actor is who makes the call, under the name that callers of older systems
// give where the call has one.
func (r *Request) actor(maid string) *abi.Actor {
	actor := r.Identity.Actor()
	if maid != "" {
		named := *actor
		named.Maid = &maid
		actor = &named
	}
	return actor
}

// execute runs a call under the ids by which it can be interrupted.
func (a *API) execute(ctx context.Context, call *abi.Call, progress abi.ProgressReporter) *abi.Result {
	ctx, end := a.running.begin(ctx, call.Context.Owner, call.Context.RequestID, call.Context.InvocationID)
	defer end()
	call.Context.Progress = progress
	return a.opts.Host.Execute(ctx, call)
}

func (r *Request) remoteIP() string {
	if ip := r.fiber.Context().RemoteIP(); ip != nil && !ip.IsUnspecified() {
		return ip.String()
	}
	return ""
}

// interrupted names the calls that were told to stop, by their invocation ids.
type interrupted struct {
	Interrupted []string `json:"interrupted"`
}

func (a *API) interrupt(r *Request) error {
	if kind := r.ContentType(); kind != jsonType {
		return problem.UnsupportedMediaType("%.80q is not taken here; send application/json", kind)
	}
	body, err := r.Body()
	if err != nil {
		return err
	}
	if err := checkJSON(body); err != nil {
		return err
	}
	if kind := rawjson.KindOf(body); kind != rawjson.Object {
		return problem.BadRequest("the body is a JSON %s, and an object is expected", kind)
	}
	var requestID, invocationID string
	for name, value := range rawjson.Members(body) {
		switch name {
		case "requestId":
			requestID, err = text(value, "/requestId")
		case "invocationId":
			invocationID, err = text(value, "/invocationId")
		default:
			err = unknownMember(rawjson.AppendPointer("", name))
		}
		if err != nil {
			return err
		}
	}
	if requestID == "" && invocationID == "" {
		return problem.BadRequest("requestId or invocationId is needed")
	}
	return r.Encode(interrupted{a.running.interrupt(r.Identity, requestID, invocationID)})
}
