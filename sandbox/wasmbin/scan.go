package wasmbin

import "fmt"

// scan is what the first reading of all code finds out, before the second
// writes it anew.
type scan struct {
	// weights of the regions in the order of their headers: for each function
	// its entry, and then its loops and where a long region is split.
	weights []uint64
	splits  []split
	grows   bool // some function has memory.grow
	lifted  bool // some function names a data segment that is lifted out
	// mutations are the instructions that change what cannot be restored, each
	// with the first function that has it.
	mutations map[opcode]uint32
}

// split is a place in the body of a function where a region has become too heavy
// and another begins.
type split struct {
	function uint32
	position int
}

// scanCode reads every function once.
func (m *module) scanCode() (*scan, error) {
	s := &scan{mutations: map[opcode]uint32{}}
	regions := []int{}
	for i, body := range m.bodies {
		c := &code{reader: reader{data: body, m: m}}
		c.locals()
		var err error
		if regions, err = s.function(c, regions[:0], uint32(i)); err != nil {
			return nil, fmt.Errorf("function %d: %w", m.importedFunctions+uint32(i), err)
		}
	}
	return s, nil
}

// locals passes over the declarations at the head of a body.
func (c *code) locals() {
	c.each("locals", c.m.limits.Locals, func() { c.u32(); c.byte() })
}

// function weighs one function. The stack holds, for each open block, the
// region that goes on after it: what comes after a block can be reached without
// what is in it, so it belongs to the region from before, whatever began inside.
func (s *scan) function(c *code, stack []int, index uint32) ([]int, error) {
	region := s.begin(entryWeight + uint64(c.m.values[c.m.functionTypes[c.m.importedFunctions+index]]))
	for c.err == nil {
		if s.weights[region] >= maxRegion {
			s.splits = append(s.splits, split{index, c.pos})
			region = s.begin(0)
		}
		c.next()
		switch c.op {
		case opEnd:
			if len(stack) == 0 {
				if c.err == nil && c.pos < len(c.data) {
					c.malformed("bytes after its end")
				}
				return stack, c.err
			}
			region, stack = stack[len(stack)-1], stack[:len(stack)-1]
		case opElse:
			if len(stack) > 0 {
				region = stack[len(stack)-1]
			}
		case opBlock, opIf, opLoop:
			stack = append(stack, region)
			if n := int64(len(stack)); n > c.m.limits.Nesting {
				c.fail(&LimitError{Limit: "nesting", Need: n, Max: c.m.limits.Nesting})
			}
			if c.op == opLoop {
				region = s.begin(0)
			}
		default:
			if c.err == nil {
				s.note(c, index)
			}
		}
		if c.err == nil {
			s.weights[region] += weight(c.op) + c.moved()
		}
	}
	return stack, c.err
}

// moved is the number of values that calls and blocks with many of them move,
// which may cost far more than the instruction: 0.9 ns each in a call.
func (c *code) moved() uint64 {
	switch c.op {
	case opCall:
		return uint64(c.m.values[c.m.functionTypes[c.a]])
	case opCallIndirect:
		return uint64(c.m.values[c.a])
	case opBlock, opLoop, opIf:
		return uint64(c.values)
	}
	return 0
}

// begin begins a region.
func (s *scan) begin(weight uint64) int {
	s.weights = append(s.weights, weight)
	return len(s.weights) - 1
}

// note checks the indices of an instruction and keeps what matters of it.
func (s *scan) note(c *code, function uint32) {
	m := c.m
	switch c.op {
	case opCall:
		c.within("function", c.a, m.functions())
	case opRefFunc:
		c.within("declared function", c.a, uint32(len(m.declared)))
		if c.err == nil && !m.declared[c.a] {
			c.malformed("ref.func of function %d, which is not declared", c.a)
		}
	case opCallIndirect:
		c.within("type", c.a, m.types)
		c.within("table", c.b, uint32(len(m.tables)))
	case opGlobalGet, opGlobalSet:
		c.within("global", c.a, uint32(len(m.globals)))
	case opMemorySize:
		c.within("memory", 0, uint32(len(m.memories)))
	case opMemoryGrow:
		c.within("memory", 0, uint32(len(m.memories)))
		s.grows = true
	case opMemoryInit, opDataDrop:
		s.noteData(c, function)
	case opMemoryCopy, opMemoryFill:
		c.within("memory", 0, uint32(len(m.memories)))
	case opTableInit, opTableCopy, opTableSet, opTableGrow, opTableFill, opElemDrop:
		s.noteTable(c, function)
	}
}

func (s *scan) noteData(c *code, function uint32) {
	m := c.m
	if c.op == opMemoryInit {
		c.within("memory", 0, uint32(len(m.memories)))
	}
	if !m.hasDataCount {
		c.malformed("a data segment is named without a count of them")
	}
	c.within("data segment", c.a, uint32(len(m.data)))
	switch {
	case c.err != nil:
	case !m.data[c.a].passive:
		s.lifted = true
	case c.op == opDataDrop:
		s.mutates(c.op, function)
	}
}

func (s *scan) noteTable(c *code, function uint32) {
	m := c.m
	tables, segments := uint32(len(m.tables)), uint32(len(m.elements))
	switch c.op {
	case opTableInit:
		c.within("element segment", c.a, segments)
		c.within("table", c.b, tables)
	case opTableCopy:
		c.within("table", c.a, tables)
		c.within("table", c.b, tables)
	case opElemDrop:
		c.within("element segment", c.a, segments)
		if c.err != nil || !m.elements[c.a].passive {
			return // it has been dropped when the instance began
		}
	default:
		c.within("table", c.a, tables)
	}
	s.mutates(c.op, function)
}

func (s *scan) mutates(op opcode, function uint32) {
	if _, known := s.mutations[op]; !known {
		s.mutations[op] = function
	}
}
