package openapi

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// commandNote tells what a schema cannot.
type commandNote struct {
	Tool         string   `json:"tool"`
	Command      string   `json:"command"`
	ErrorCodes   []string `json:"errorCodes"`
	Asynchronous bool     `json:"asynchronous"`
	Idempotent   bool     `json:"idempotent"`
	ReadOnly     bool     `json:"readOnly"`
}

// CommandPath is the path of a command, and whether it has one: a name that
// holds a slash, or that is nothing but dots, does not stay one segment of a
// path on its way to a server.
func CommandPath(tool, command string) (path string, ok bool) {
	for _, name := range []string{tool, command} {
		if strings.Trim(name, ".") == "" || strings.ContainsAny(name, `/\`) {
			return "", false
		}
	}
	return "/v1/tools/" + segment(tool) + "/" + segment(command), true
}

// segment escapes a name as one segment of a path; braces would be a parameter.
func segment(name string) string {
	return strings.NewReplacer("{", "%7B", "}", "%7D").Replace(url.PathEscape(name))
}

// tool adds the commands of a tool.
func (b *builder) tool(t *Tool) error {
	described := false
	for i := range t.Commands {
		command := &t.Commands[i]
		path, ok := CommandPath(t.Name, command.Name)
		if !ok {
			continue
		}
		if err := b.place("POST", path, b.command(t, command)); err != nil {
			return err
		}
		described = true
	}
	if described {
		b.doc.Tags = append(b.doc.Tags, tag{t.Name, t.Description})
	}
	return nil
}

// command is the operation of one command.
func (b *builder) command(t *Tool, c *Command) *operation {
	name := t.Name + "." + c.Name
	input := b.component(name+".Input", withoutCommand(objectSchema(c.Input)))
	result := ResultSchema
	if len(c.Output) > 0 && string(c.Output) != "true" {
		result = b.component(name+".Result", narrowed(b.component(name+".Output", c.Output)))
	}
	o := &operation{
		Tags: []string{t.Name}, Summary: c.Description, OperationID: b.operationID(t.Name + "_" + c.Name),
		Parameters: []any{&Parameter{
			Name: "timeoutMs", In: "query", Description: "shortens the deadline of the call",
			Schema: json.RawMessage(`{"type":"integer","minimum":1}`),
		}},
		RequestBody: &body{Required: true, Content: b.contents([]Content{{jsonType, input}})},
		Responses:   map[string]any{},
		Command: &commandNote{
			Tool: t.Name, Command: c.Name, ErrorCodes: append([]string{}, c.ErrorCodes...),
			Asynchronous: c.Asynchronous, Idempotent: c.Idempotent, ReadOnly: c.ReadOnly,
		},
	}
	if first, rest, ok := strings.Cut(c.Description, "\n"); ok {
		o.Summary, o.Description = first, strings.TrimSpace(rest)
	}
	b.respond(o, "POST", Response{200, Content{jsonType, result}})
	known, _ := o.Responses["200"].(*response)
	known.Description = "The canonical result. A tool that failed is a result too; status tells."
	return o
}

// component adds a schema under the nearest name that is free.
func (b *builder) component(wanted string, raw []byte) string {
	name := b.components.name(wanted)
	b.components.add(name, raw)
	return name
}

// operationID makes a name that clients can use in code and that is free.
func (b *builder) operationID(wanted string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, wanted)
	id := clean
	for b.ids[id] {
		id += "_"
	}
	return id
}

// narrowed is the schema of a result whose data is of an output schema. Only an
// outcome is: data of an error may be anything.
func narrowed(output string) []byte {
	raw, err := abi.Encode(map[string]any{"allOf": []any{
		reference{componentPrefix + ResultSchema},
		map[string]any{
			"if": map[string]any{
				"properties": map[string]any{"status": map[string]any{"enum": []abi.Status{abi.StatusSuccess, abi.StatusPartial}}},
				"required":   []string{"status"},
			},
			"then": map[string]any{"properties": map[string]any{"data": reference{componentPrefix + output}}},
		},
	}})
	if err != nil {
		return []byte(`{}`) // maps of texts always encode
	}
	return raw
}

// objectSchema is the input schema of a command that may have none: arguments
// are an object in any case.
func objectSchema(raw []byte) []byte {
	if rawjson.KindOf(raw) == rawjson.Object && rawjson.Len(raw) > 0 {
		return raw
	}
	return []byte(`{"type":"object"}`)
}

// withoutCommand takes the member "command" off what is required: the path of
// the operation says it already.
func withoutCommand(schema []byte) []byte {
	required, ok := rawjson.At(schema, "/required")
	if !ok {
		return schema
	}
	var names []string
	if json.Unmarshal(required, &names) != nil || !slices.Contains(names, "command") {
		return schema
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "command" })
	raw, err := abi.Encode(names)
	if err != nil {
		return schema
	}
	return rawjson.SetMember(schema, "required", raw)
}
