package registry

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"vcphost/abi"
	"vcphost/host/validate"
	"vcphost/internal/rawjson"
)

func (r *reader) readCommands(capabilities value) {
	if capabilities.present() && !capabilities.is(rawjson.Object) {
		return
	}
	capabilities.unknown(false, "invocationCommands", "systemPromptPlaceholders", "services", "responseFormatToAI")
	list := capabilities.member("invocationCommands")
	for element := range list.elements() {
		if !element.is(rawjson.Object) {
			continue
		}
		command := r.readCommand(element)
		r.refuseTwice(element, command)
		r.manifest.Commands = append(r.manifest.Commands, command)
	}
	called := r.manifest.PluginType == TypeSynchronous || r.manifest.PluginType == TypeAsynchronous
	if r.manifest.Strict() && called && len(r.manifest.Commands) == 0 {
		list.refuse("a plugin of type %q must declare at least one command", r.manifest.PluginType)
	}
}

// refuseTwice refuses a command whose identifier an earlier one has.
func (r *reader) refuseTwice(v value, command *Command) {
	for _, earlier := range r.manifest.Commands {
		if command.Identifier != "" && earlier.Identifier == command.Identifier {
			v.member("commandIdentifier").complain("two commands have the identifier %s", quoted(command.Identifier))
			return
		}
	}
}

func (r *reader) readCommand(v value) *Command {
	v.unknown(false, "commandIdentifier", "command", "description", "parameters", "inputSchema", "outputSchema",
		"resourceOutputs", "errorCodes", "presentation", "aiAdvice", "asynchronous", "idempotent", "readOnly",
		"export", "example")
	c := &Command{
		Identifier:  r.readIdentifier(v),
		Description: v.member("description").text(),
		Export:      v.member("export").text(),
		Example:     v.member("example").text(),
		Idempotent:  v.member("idempotent").flag(false),
		ReadOnly:    v.member("readOnly").flag(false),
	}
	c.Asynchronous = v.member("asynchronous").flag(r.manifest.PluginType == TypeAsynchronous)
	if strings.ContainsRune(c.Export, 0) {
		v.member("export").refuse("holds a zero byte")
	}
	c.Input, c.InputRaw = r.readSchema(v.member("inputSchema"))
	c.Output, c.OutputRaw = r.readSchema(v.member("outputSchema"))
	c.takesCommand = takesMember(c.InputRaw, "command")
	c.ResourceOutputs = readResourceOutputs(v.member("resourceOutputs"))
	c.ErrorCodes = readErrorCodes(v.member("errorCodes"))
	c.Presentation = readPresentation(v.member("presentation"))
	c.AIAdvice = readAdvice(v.member("aiAdvice"))
	return c
}

// readIdentifier reads the name of a command; a legacy manifest may have it
// under "command", or not at all.
func (r *reader) readIdentifier(v value) string {
	at := v.member("commandIdentifier")
	if !at.present() && !r.manifest.Strict() {
		at = v.member("command")
	}
	if !at.present() {
		if r.manifest.Strict() {
			at.refuse("is required")
		}
		return ""
	}
	name := at.requiredText()
	if len(name) > maxNameBytes || hasControl(name) || strings.TrimSpace(name) != name {
		at.complain("must have at most %d bytes, no control characters and no space around it", maxNameBytes)
		return ""
	}
	return name
}

// readSchema compiles a schema; a strict command must have it.
func (r *reader) readSchema(v value) (*validate.Schema, json.RawMessage) {
	if !v.present() {
		if r.manifest.Strict() {
			v.refuse("is required where toolResultProtocol is declared")
		}
		return nil, nil
	}
	schema, err := r.compiler.Compile(v.raw)
	if err == nil {
		return schema, v.raw
	}
	var bad *validate.SchemaError
	if errors.As(err, &bad) {
		v.findings.refuse(v.pointer+bad.Pointer, "the schema cannot be used: %s", bad.Reason)
	} else {
		v.refuse("the schema cannot be used: %v", err)
	}
	return nil, nil
}

func readResourceOutputs(v value) []ResourceOutput {
	var list []ResourceOutput
	for element := range v.elements() {
		if !element.is(rawjson.Object) {
			continue
		}
		element.unknown(false, "field", "kind", "role", "mimeTypes")
		field := element.member("field")
		output := ResourceOutput{
			Field: field.text(),
			Kind:  oneOf(element.member("kind"), abi.ResourceKinds()...),
			Role:  oneOf(element.member("role"), abi.ResourceRoles()...),

			MIMETypes: element.member("mimeTypes").texts(),
		}
		if output.Role == "" {
			output.Role = abi.RoleOutput
		}
		if !field.present() {
			field.complain("is required")
		} else if !validPointer(output.Field) {
			field.complain("%s is no JSON pointer (RFC 6901)", quoted(output.Field))
		}
		list = append(list, output)
	}
	return list
}

// validPointer reports whether s is an RFC 6901 pointer.
func validPointer(s string) bool {
	if s != "" && s[0] != '/' {
		return false
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return false
		}
	}
	return true
}

func readErrorCodes(v value) []string {
	var codes []string
	for element := range v.elements() {
		code := element.requiredText()
		switch {
		case code == "":
			continue
		case !abi.ValidCode(code):
			element.complain("%s is no error code; write upper-case words, such as CSV.MALFORMED", quoted(code))
		case abi.LookupCode(code).HostOnly:
			element.notice(element.pointer, "%s is the host's; from a plugin it becomes PLUGIN.%s", code, code)
		}
		codes = append(codes, code)
	}
	return codes
}

func readPresentation(v value) *abi.Presentation {
	if !v.is(rawjson.Object) {
		return nil
	}
	v.unknown(false, "summary", "preferredView", "title", "primaryResourceId")
	return &abi.Presentation{
		Summary:           v.member("summary").orNull().text(),
		PreferredView:     v.member("preferredView").orNull().text(),
		Title:             v.member("title").orNull().text(),
		PrimaryResourceID: v.member("primaryResourceId").orNull().text(),
	}
}

func readAdvice(v value) *abi.AIAdvice {
	if !v.is(rawjson.Object) {
		return nil
	}
	v.unknown(false, "intent", "message", "resourceIds", "renderHint", "priority")
	intent, message := v.member("intent"), v.member("message").orNull()
	if !intent.present() {
		intent.complain("is required")
	}
	advice := &abi.AIAdvice{
		Intent:      oneOf(intent, abi.Intents()...),
		Message:     message.text(),
		ResourceIDs: v.member("resourceIds").texts(),
		RenderHint:  oneOf(v.member("renderHint").orNull(), abi.RenderHints()...),
		Priority:    oneOf(v.member("priority"), abi.Priorities()...),
	}
	if utf8.RuneCountInString(advice.Message) > abi.MaxAdviceRunes {
		message.complain("is longer than %d characters", abi.MaxAdviceRunes)
	}
	if advice.Priority == "" {
		advice.Priority = abi.PriorityNormal
	}
	return advice
}
