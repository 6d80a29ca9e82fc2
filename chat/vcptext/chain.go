package vcptext

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"vcphost/abi"
)

// chain is a block that is cut into one call a command.
type chain struct {
	// commands holds the field of each step's command; step n is at n-1.
	commands []*Field
	// names holds what the schema of each of them names, each set once.
	names []*names
	// keys says of each field of the block where it goes.
	keys []link
}

// link is where a field of a chain goes.
type link struct {
	step int    // 0: shared
	key  string // the key without its number
}

// numbered cuts the number off a key; ok is false if the key has none, only a
// number, or one that is zero, has leading zeros or more than six digits.
func numbered(key string) (base string, number int, ok bool) {
	base = strings.TrimRight(key, "0123456789")
	digits := key[len(base):]
	if base == "" || digits == "" || len(digits) > 6 || digits[0] == '0' {
		return base, 0, false
	}
	number, err := strconv.Atoi(digits)
	return base, number, err == nil
}

// isLink reports whether a key is a command with a number, be it a wrong one.
func isLink(key string) bool {
	base, _, _ := numbered(key)
	return len(base) < len(key) && abi.SameName(base, commandKey)
}

// findChain gives the chain that the block is, nil if it is none.
func findChain(block Block, s *schemas) (*chain, *SyntaxError) {
	var heads []*Field
	for i := range block.Fields {
		if isLink(block.Fields[i].Name) {
			heads = append(heads, &block.Fields[i])
		}
	}
	if len(heads) == 0 {
		return nil, nil
	}
	if len(heads) > MaxChain {
		return nil, refuse(heads[MaxChain].Position, "a chain has at most %d commands, this one has %d", MaxChain, len(heads))
	}
	if namesLink(block, s, heads) {
		return nil, nil
	}
	commands, fault := order(heads)
	if fault != nil {
		return nil, fault
	}
	c := &chain{commands: commands}
	for _, command := range commands {
		if n := s.of(command.Value); !slices.Contains(c.names, n) {
			c.names = append(c.names, n)
		}
	}
	return c, c.assign(block)
}

// namesLink reports whether a schema that the block may mean has a numbered
// command among its parameters.
func namesLink(block Block, s *schemas, heads []*Field) bool {
	sets := []*names{s.of(""), s.of(s.command(block))}
	for _, head := range heads {
		sets = append(sets, s.of(head.Value))
	}
	return slices.ContainsFunc(heads, func(head *Field) bool { return anyNames(sets, head.Name) })
}

// anyNames reports whether one of the sets has a parameter that key means.
func anyNames(sets []*names, key string) bool {
	folded := fold(key)
	return slices.ContainsFunc(sets, func(n *names) bool {
		_, known := n.matchFolded(key, folded)
		return known
	})
}

// order puts the commands of a chain into the places that their numbers give.
func order(heads []*Field) ([]*Field, *SyntaxError) {
	commands := make([]*Field, len(heads))
	var beyond *Field
	for _, head := range heads {
		_, number, ok := numbered(head.Name)
		if !ok {
			return nil, refuse(head.Position, "the commands of a chain are numbered from command1 on without leading zeros, not %s",
				quoted(head.Name))
		}
		if number > len(heads) {
			beyond = head
			continue
		}
		if earlier := commands[number-1]; earlier != nil {
			return nil, refuse(head.Position, "the keys %s and %s are both command %d of the chain",
				quoted(earlier.Name), quoted(head.Name), number)
		}
		commands[number-1] = head
	}
	for i, command := range commands {
		if command == nil { // then a number is too high, since none comes twice
			return nil, refuse(beyond.Position, "a gap in the chain: there is %s, but no command%d", quoted(beyond.Name), i+1)
		}
	}
	return commands, nil
}

// assign finds out where each field goes.
func (c *chain) assign(block Block) *SyntaxError {
	c.keys = make([]link, len(block.Fields))
	for i := range block.Fields {
		field := &block.Fields[i]
		base, number, isNumbered := numbered(field.Name)
		switch {
		case isLink(field.Name):
			c.keys[i] = link{number, commandKey}
		case abi.SameName(field.Name, commandKey):
			return refuse(field.Position, "the block has a chain from command1 to command%d, and the key %s beside it",
				len(c.commands), quoted(field.Name))
		case !isNumbered || anyNames(c.names, field.Name):
			c.keys[i] = link{0, field.Name}
		case number <= len(c.commands):
			c.keys[i] = link{number, base}
		case anyNames(c.names, base):
			return refuse(field.Position, "the key %s belongs to no command: the chain ends with command%d",
				quoted(field.Name), len(c.commands))
		default:
			c.keys[i] = link{0, field.Name}
		}
	}
	return nil
}

// unclaimed tells which shared fields no command names, so that each gets them,
// and how many bytes they take at least.
func (c *chain) unclaimed(block Block) (fields []bool, size int) {
	fields = make([]bool, len(block.Fields))
	for i, key := range c.keys {
		if key.step == 0 && !anyNames(c.names, key.key) {
			fields[i] = true
			size += len(`"":"",`) + len(key.key) + len(block.Fields[i].Value)
		}
	}
	return fields, size
}

func tooLarge(block Block) *SyntaxError {
	return refuse(block.Position, "the arguments of the chain take more than %d bytes", MaxChainBytes)
}

func (c *chain) calls(block Block, s *schemas) ([]Call, *SyntaxError) {
	unclaimed, size := c.unclaimed(block)
	if size > MaxChainBytes/len(c.commands) { // told before the work, not after it
		return nil, tooLarge(block)
	}
	calls := make([]Call, 0, len(c.commands))
	total := 0
	for i, command := range c.commands {
		w := newArguments(s.of(command.Value))
		if fault := c.fill(w, block, i+1, unclaimed); fault != nil {
			return nil, fault
		}
		call := Call{Command: command.Value, Arguments: w.object(), Step: i + 1}
		if total += len(call.Arguments); total > MaxChainBytes {
			return nil, tooLarge(block)
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// fill sets the arguments of one step: its own, then the shared ones.
func (c *chain) fill(w *arguments, block Block, step int, unclaimed []bool) *SyntaxError {
	for i, key := range c.keys {
		if key.step == step {
			if fault := w.set(&block.Fields[i], key.key); fault != nil {
				return fault
			}
		}
	}
	own := maps.Clone(w.given)
	for i, key := range c.keys {
		if key.step != 0 {
			continue
		}
		name, known := w.names.match(key.key)
		if _, mine := own[name]; mine || !known && !unclaimed[i] && !w.names.open {
			continue
		}
		if fault := w.set(&block.Fields[i], key.key); fault != nil {
			return fault
		}
	}
	w.callers(block.Control)
	return nil
}
