package vcptext

import (
	"encoding/json"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// commandKey is the argument that chooses the command.
const commandKey = "command"

// Bounds on what one block may grow into.
const (
	// MaxChain is how many commands a chain may have.
	MaxChain = 64
	// MaxChainBytes bounds the arguments of all calls of a chain together, since
	// each of them has a copy of what they share.
	MaxChainBytes = 32 << 20
)

// Schema is what the block is matched with: the input schemas of one plugin. An
// empty command means that the block names none, so that the one of the tool's
// name ("TOOL.COMMAND") or the plugin's only one is meant. Commands come as they
// are written in the block.
type Schema interface {
	// InputNames lists the properties that the command's input schema names;
	// empty if there is none.
	InputNames(command string) []string
	// InputTypes lists the JSON Schema types ("string", "integer", "number",
	// "boolean", "array", "object", "null") that a property may have; empty if
	// the schema does not say.
	InputTypes(command, name string) []string
}

// Call is one call that a block asks for.
type Call struct {
	// Command is the value of the block's command, as it is written, also to be
	// found in Arguments; "" if there is none.
	Command string
	// Arguments is a JSON object without duplicate names.
	Arguments json.RawMessage
	// Step is the number of the command in its chain, from 1; 0 if the block is
	// no chain.
	Step int
}

// Calls makes the calls of a block, in the order in which they are to run. A nil
// schema is that of a plugin which has none that counts: it gets the keys and
// the values as they are, maid and valet among them, in one call.
//
// Otherwise a key is the property of exactly that name, else the only one that
// differs in nothing but the case of ASCII letters, '_' and '-'; a key that fits
// none or several stays as it is written, for the schema to judge. A value is a
// string, but a number, boolean or null where the schema has that type and no
// string; an array or object where the schema has that type, string or not; and
// in each case only if it is JSON of that type ("True" and "FALSE" also count).
// maid and valet are arguments if the schema names them.
//
// Keys command1 … commandN make a chain of N calls, unless the schema of one of
// the commands, or of no command, names such a key. The number at the end of
// another key says to which command it belongs (a '_' or '-' before it is
// allowed for in matching); numbers have no leading zeros. A key without such a
// number, or that a schema of the chain names as it stands, is shared: each
// command gets it that names it or whose schema names nothing at all, every
// command if none names it; a numbered key goes before a shared one.
//
// The error is a *SyntaxError: a chain with a gap, with more than MaxChain
// commands, that also has a plain command, that has a key for a command that is
// not there, or that grows beyond MaxChainBytes; two keys that mean the same
// property.
func Calls(block Block, schema Schema) ([]Call, error) {
	calls, fault := makeCalls(block, schema)
	if fault != nil {
		return nil, fault
	}
	return calls, nil
}

func makeCalls(block Block, schema Schema) ([]Call, *SyntaxError) {
	if schema == nil {
		return []Call{asWritten(block)}, nil
	}
	s := newSchemas(schema)
	links, fault := findChain(block, s)
	if fault != nil {
		return nil, fault
	}
	if links != nil {
		return links.calls(block, s)
	}
	command := s.command(block)
	w := newArguments(s.of(command))
	for i := range block.Fields {
		if fault := w.set(&block.Fields[i], block.Fields[i].Name); fault != nil {
			return nil, fault
		}
	}
	w.callers(block.Control)
	return []Call{{Command: command, Arguments: w.object()}}, nil
}

// asWritten is the call of a plugin without a schema.
func asWritten(block Block) Call {
	call := Call{}
	raw := []byte{'{'}
	add := func(name, value string) {
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = append(rawjson.Quote(raw, name), ':')
		raw = rawjson.Quote(raw, value)
	}
	for _, field := range block.Fields {
		if field.Name == commandKey {
			call.Command = field.Value
		}
		add(field.Name, field.Value)
	}
	if block.Control.Maid != "" {
		add("maid", block.Control.Maid)
	}
	if block.Control.Valet != "" {
		add("valet", block.Control.Valet)
	}
	call.Arguments = append(raw, '}')
	return call
}

// arguments builds the object of one call.
type arguments struct {
	names *names
	raw   []byte
	given map[string]string // the key as written by the name of the argument
}

func newArguments(n *names) *arguments {
	return &arguments{names: n, raw: []byte{'{'}, given: map[string]string{}}
}

// set adds a field under the name that its key, number cut off, stands for.
func (a *arguments) set(field *Field, key string) *SyntaxError {
	name, _ := a.names.match(key)
	if earlier, twice := a.given[name]; twice {
		return refuse(field.Position, "the keys %s and %s both mean the parameter %s",
			quoted(earlier), quoted(field.Name), quoted(name))
	}
	a.given[name] = field.Name
	a.append(name, field.Value)
	return nil
}

// callers adds who calls, if the schema wants to know.
func (a *arguments) callers(control Control) {
	for _, caller := range [...]struct{ name, value string }{{"maid", control.Maid}, {"valet", control.Valet}} {
		if _, given := a.given[caller.name]; !given && caller.value != "" && a.names.has(caller.name) {
			a.append(caller.name, caller.value)
		}
	}
}

func (a *arguments) append(name, value string) {
	if len(a.raw) > 1 {
		a.raw = append(a.raw, ',')
	}
	a.raw = append(rawjson.Quote(a.raw, name), ':')
	a.raw = appendTyped(a.raw, value, a.names.types(name))
}

func (a *arguments) object() json.RawMessage { return append(a.raw, '}') }

// command gives the value of the key that names the block's command: "command",
// else the only key like it which the schema has no other use for.
func (s *schemas) command(block Block) string {
	alike := -1
	for i, field := range block.Fields {
		if field.Name == commandKey {
			return field.Value
		}
		if abi.SameName(field.Name, commandKey) {
			if alike >= 0 {
				return ""
			}
			alike = i
		}
	}
	if alike < 0 {
		return ""
	}
	field := block.Fields[alike]
	name, _ := s.of(field.Value).match(field.Name)
	if name != commandKey || s.of("").has(field.Name) {
		return ""
	}
	return field.Value
}
