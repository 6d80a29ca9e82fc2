package wasmbin

// The weights of fuel. A unit is about what one simple instruction costs, so
// that a number of units is a length of time, roughly, whatever the code does.
// Instructions that take many times as long weigh more.
const (
	entryWeight    = 1
	callWeight     = 3
	indirectWeight = 6
	divideWeight   = 8
	rootWeight     = 6
	growWeight     = 500 // of a memory or a table, beside what its length costs
	bulkWeight     = 8   // of a bulk operation, beside what its length costs
)

// weight is what an instruction takes. The end of a block, which only marks a
// place, takes nothing.
func weight(op opcode) uint64 {
	switch {
	case op == opCall:
		return callWeight
	case op == opCallIndirect:
		return indirectWeight
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82: // div, rem of integers
		return divideWeight
	case op == 0x91, op == 0x95, op == 0x9f, op == 0xa3: // sqrt, div of floats
		return rootWeight
	case op == opMemoryGrow, op == opTableGrow:
		return growWeight
	case op >= bulk|8 && op <= bulk|17 && op != opTableSize:
		return bulkWeight
	case op == opElse, op == opEnd:
		return 0
	}
	return 1
}
