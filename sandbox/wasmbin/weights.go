package wasmbin

// The weights of fuel. A unit is one simple instruction, a tenth to a third of a
// nanosecond, so that a number of units is roughly a length of time whatever the
// code does. Instructions that take many times as long weigh more, in the
// proportions that were measured on the engine's compiler.
const (
	entryWeight    = 1
	branchWeight   = 2 // of br_table
	callWeight     = 6
	indirectWeight = 12
	divideWeight   = 14 // div and rem of integers, div and sqrt of floats
	vectorWeight   = 2
	growWeight     = 100 // of a memory or a table, beside what a table's length costs
	refFuncWeight  = 1800
	bulkWeight     = 16 // of a bulk operation, beside what its length costs
)

// maxRegion is the weight at which a region ends and another begins, so that a
// function of megabytes without a loop is not one long stretch without a safe point.
const maxRegion = 1 << 16

// weight is what an instruction takes. The end of a block, which only marks a
// place, takes nothing.
func weight(op opcode) uint64 {
	switch {
	case op == opEnd, op == opElse:
		return 0
	case op == opCall:
		return callWeight
	case op == opCallIndirect:
		return indirectWeight
	case op == opBrTable:
		return branchWeight
	case op == opRefFunc:
		return refFuncWeight
	case op == opMemoryGrow, op == opTableGrow:
		return growWeight
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82: // div, rem of integers
		return divideWeight
	case op == 0x91, op == 0x95, op == 0x9f, op == 0xa3: // sqrt, div of floats
		return divideWeight
	case op >= simd:
		return vectorWeightOf(op &^ simd)
	case op >= opMemoryInit && op <= opTableFill && op != opTableSize:
		return bulkWeight
	}
	return 1
}

func vectorWeightOf(n opcode) uint64 {
	switch n {
	case 0xe3, 0xe7, 0xef, 0xf3: // sqrt, div
		return divideWeight
	case 0xcc, 0xd5, 0xf8, 0xf9, 0xfc, 0xfd: // i64x2.shr_s, i64x2.mul, truncations
		return divideWeight
	}
	return vectorWeight
}
