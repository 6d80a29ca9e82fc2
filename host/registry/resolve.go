package registry

import (
	"strconv"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// commandMember is the argument that chooses the command (§9.1).
const commandMember = "command"

// Command finds the command that arguments choose, and gives the arguments as
// they go to the input schema and to the plugin. arguments must have passed
// rawjson.Check; empty means {}. hint is the COMMAND of "TOOL.COMMAND", "" where
// the caller gave none. The state of the plugin does not matter here.
//
// arguments.command is compared exactly, then but for case, '_' and '-' if that
// is unambiguous; where it is absent, hint counts, then the plugin's only
// command. The true identifier is written into the arguments. Only where the
// input schema is closed and knows no "command" is it taken out instead: the
// choice was for the host, the schema describes the rest, and the plugin still
// sees its command in the invocation.
//
// Errors: INVALID_ARGUMENT where arguments is no object, command is no string,
// or command and hint are not the same command; MISSING_ARGUMENT and
// UNKNOWN_COMMAND with details.commands.
//
// A plugin that is not strict may take anything: no match is no error there, the
// command is nil, and the arguments pass through, with hint in them if they had
// no command of their own.
func (p *Plugin) Command(arguments []byte, hint string) (*Command, []byte, *abi.Error) {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if kind := rawjson.KindOf(arguments); kind != rawjson.Object {
		return nil, nil, abi.NewError(abi.CodeInvalidArgument, "arguments must be an object, not %s", kind)
	}
	raw, given := rawjson.At(arguments, "/"+commandMember)
	chosen, isText := rawjson.Unquote(raw)
	if p.Manifest == nil || !p.Manifest.Strict() {
		return p.legacyCommand(arguments, hint, chosen, given)
	}
	if given && !isText {
		return nil, nil, abi.NewError(abi.CodeInvalidArgument, "command must be a string, not %s", rawjson.KindOf(raw)).
			WithTarget(commandMember).WithDetails(p.commandList())
	}
	command, fault := p.choose(chosen, hint, given)
	if fault != nil {
		return nil, nil, fault
	}
	if command.takesCommand {
		if chosen != command.Identifier {
			arguments = rawjson.SetMember(arguments, commandMember, rawjson.Quote(nil, command.Identifier))
		}
	} else if given {
		arguments = without(arguments, commandMember)
	}
	return command, arguments, nil
}

// choose picks the command of a strict plugin.
func (p *Plugin) choose(chosen, hint string, given bool) (*Command, *abi.Error) {
	commands := p.Manifest.Commands
	if !given && hint == "" {
		if len(commands) == 1 {
			return commands[0], nil
		}
		return nil, abi.NewError(abi.CodeMissingArgument, "command is missing; %s has %d commands", p.Name, len(commands)).
			WithTarget(commandMember).WithDetails(p.commandList())
	}
	name := hint
	if given {
		name = chosen
	}
	command := p.find(name)
	if given && hint != "" && (command == nil || p.find(hint) != command) && !abi.SameName(chosen, hint) {
		return nil, contradiction(chosen, hint)
	}
	if command == nil {
		return nil, abi.NewError(abi.CodeUnknownCommand, "%s has no command %s", p.Name, quoted(name)).
			WithTarget(commandMember).WithDetails(p.commandList())
	}
	return command, nil
}

func contradiction(chosen, hint string) *abi.Error {
	return abi.NewError(abi.CodeInvalidArgument, "the tool's name asks for the command %s, the arguments for %s",
		quoted(hint), quoted(chosen)).WithTarget(commandMember)
}

// legacyCommand finds the command of a plugin whose own business the command is.
func (p *Plugin) legacyCommand(arguments []byte, hint, chosen string, given bool) (*Command, []byte, *abi.Error) {
	switch {
	case given && hint != "" && !abi.SameName(chosen, hint):
		return nil, nil, contradiction(chosen, hint)
	case !given && hint != "":
		chosen = hint
		if command := p.find(hint); command != nil {
			chosen = command.Identifier
		}
		arguments = rawjson.SetMember(arguments, commandMember, rawjson.Quote(nil, chosen))
	case !given && p.Manifest != nil && len(p.Manifest.Commands) == 1:
		return p.Manifest.Commands[0], arguments, nil
	}
	return p.find(chosen), arguments, nil
}

// find gives the command of a name: the exact one, else the only one that is
// alike, else nil.
func (p *Plugin) find(name string) *Command {
	if p.Manifest == nil || name == "" {
		return nil
	}
	var alike *Command
	count := 0
	for _, command := range p.Manifest.Commands {
		if command.Identifier == name {
			return command
		}
		if command.Identifier != "" && abi.SameName(command.Identifier, name) {
			alike = command
			count++
		}
	}
	if count == 1 {
		return alike
	}
	return nil
}

// commandList is the details of an error about a command.
func (p *Plugin) commandList() map[string][]string {
	names := make([]string, 0, len(p.Manifest.Commands))
	for _, command := range p.Manifest.Commands {
		names = append(names, command.Identifier)
	}
	return map[string][]string{"commands": names}
}

// without gives the object less one member.
func without(object []byte, key string) []byte {
	out := []byte{'{'}
	for name, raw := range rawjson.Members(object) {
		if name == key {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(rawjson.Quote(out, name), ':')
		out = append(out, raw...)
	}
	return append(out, '}')
}

// takesMember reports whether a schema lets an object have the member: it is
// open, or names the member somewhere at its top.
func takesMember(schema []byte, key string) bool {
	if schema == nil || rawjson.KindOf(schema) != rawjson.Object {
		return true
	}
	if len(subSchemas(schema, key)) > 0 {
		return true
	}
	open := true
	eachBranch(schema, schema, maxSchemaHops, func(branch []byte) {
		for _, keyword := range []string{"additionalProperties", "unevaluatedProperties"} {
			if raw, ok := rawjson.At(branch, "/"+keyword); ok && string(raw) == strconv.FormatBool(false) {
				open = false
			}
		}
	})
	return open
}
