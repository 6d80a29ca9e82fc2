package wasmbin

import (
	"slices"
	"strconv"
)

// The largest piece of a bulk operation, in bytes of memory or elements of a
// table, which take 8 bytes each.
const (
	pieceBytes    = 1 << 20
	pieceElements = pieceBytes / 8
)

// maxHelpers bounds the added functions: a module may have as many as it has
// pairs of a segment and a table, and no toolchain needs more than a few.
const maxHelpers = 10_000

// helperSet are the functions that the rewriter adds to a module.
type helperSet struct {
	list  []helper
	known map[instruction]uint32 // places in the list
}

type helper struct {
	name      string
	typeIndex uint32
	code      []byte // locals included
}

func (h *helperSet) names(first uint32) []functionName {
	list := make([]functionName, len(h.list))
	for i, f := range h.list {
		list[i] = functionName{first + uint32(i), ReservedPrefix + f.name}
	}
	return list
}

// addedType is the index of a type that the rewriter needs, added to those of
// the module once.
func (e *emitter) addedType(params, results []byte) uint32 {
	entry := append(appendU32([]byte{formFunction}, uint32(len(params))), params...)
	entry = append(appendU32(entry, uint32(len(results))), results...)
	for i, known := range e.typeEntries {
		if slices.Equal(known, entry) {
			return e.m.types + uint32(i)
		}
	}
	e.typeEntries = append(e.typeEntries, entry)
	e.types.add(entry)
	return e.types.count - 1
}

func (e *emitter) refuelType() uint32 { return e.addedType([]byte{typeI64}, []byte{typeI64}) }

// bulk is the index of the function that stands for an instruction.
func (e *emitter) bulk(i instruction) uint32 {
	first := e.m.functions() + 1
	switch i.op {
	case opMemoryInit:
		i.a = e.data[i.a]
	case opMemoryCopy, opMemoryFill, opMemoryGrow:
		i.a, i.b = 0, 0
	}
	if place, ok := e.helpers.known[i]; ok {
		return first + place
	}
	place := uint32(len(e.helpers.list))
	if place == maxHelpers && e.err == nil {
		e.err = &LimitError{Limit: "different bulk operations", Need: maxHelpers + 1, Max: maxHelpers}
	}
	if e.err != nil {
		return 0
	}
	e.helpers.known[i] = place
	e.helpers.list = append(e.helpers.list, e.helper(i))
	return first + place
}

// helper writes the function that stands for an instruction.
func (e *emitter) helper(i instruction) helper {
	h := helper{name: i.op.name()}
	three := []byte{typeI32, typeI32, typeI32}
	switch i.op {
	case opMemoryGrow:
		h.typeIndex = e.addedType([]byte{typeI32}, []byte{typeI32})
		h.code = e.growMemory()
		return h
	case opTableGrow:
		element := e.m.tables[i.a].elementType
		h.name += "." + strconv.Itoa(int(i.a))
		h.typeIndex = e.addedType([]byte{element, typeI32}, []byte{typeI32})
		h.code = e.growTable(i.a)
		return h
	case opTableFill:
		three[1] = e.m.tables[i.a].elementType
		h.name += "." + strconv.Itoa(int(i.a))
	case opTableCopy, opTableInit:
		h.name += "." + strconv.Itoa(int(i.a)) + "." + strconv.Itoa(int(i.b))
	case opMemoryInit:
		h.name += "." + strconv.Itoa(int(i.a))
	}
	h.typeIndex = e.addedType(three, nil)
	h.code = e.pieces(i)
	return h
}

// The parameters of a bulk operation: where to, from where or with what, and
// how much.
const (
	paramTo = iota
	paramFrom
	paramLength
)

// pieces writes a bulk operation as one that works in pieces. A long one checks
// its bounds first, so that it does nothing at all when it is out of bounds; a
// short one leaves that to the instruction itself, unless the memory's size is
// virtual.
func (e *emitter) pieces(i instruction) []byte {
	piece := int32(pieceBytes)
	if i.isTable() {
		piece = pieceElements
	}
	a := asm{0} // no locals
	if e.virtual && !i.isTable() {
		a = e.checkBounds(a, i)
	}
	a = a.get(paramLength).i32(piece).op(opI32GtU, byte(opIf), blockVoid)
	if !e.virtual || i.isTable() {
		a = e.checkBounds(a, i)
	}
	if i.op == opMemoryInit || i.op == opTableInit {
		a = e.checkSegment(a, i)
	}
	if i.op == opMemoryCopy || i.op == opTableCopy {
		a = a.get(paramTo).get(paramFrom).op(opI32LeU, byte(opIf), blockVoid)
		a = e.forward(a, i, piece).op(byte(opElse))
		a = e.backward(a, i, piece).op(opEnd)
	} else {
		a = e.forward(a, i, piece)
	}
	a = a.op(opEnd)
	a = e.pay(a, price(i, asm{}.get(paramLength).op(opI64ExtendI32U)))
	return i.append(a.get(paramTo).get(paramFrom).get(paramLength)).op(opEnd)
}

func (i instruction) isTable() bool {
	return i.op == opTableFill || i.op == opTableCopy || i.op == opTableInit || i.op == opTableGrow
}

// price turns a length, an i64, into fuel: an element of a table is one unit, and two
// bytes of memory are one, between what they cost in a cache and on new pages.
func price(i instruction, length asm) asm {
	if i.isTable() {
		return length
	}
	return length.i64(1).op(opI64ShrU)
}

// append writes the instruction itself.
func (i instruction) append(a asm) asm {
	a = a.op(0xfc, byte(i.op))
	switch i.op {
	case opMemoryInit:
		return a.index(i.a).op(0)
	case opMemoryCopy:
		return a.op(0, 0)
	case opMemoryFill:
		return a.op(0)
	case opTableFill, opTableGrow:
		return a.index(i.a)
	}
	return a.index(i.a).index(i.b)
}

// checkBounds traps if the operation would leave a memory or a table.
func (e *emitter) checkBounds(a asm, i instruction) asm {
	a = a.end(paramTo)
	switch i.op {
	case opTableFill, opTableCopy:
		a = a.tableSize(i.a)
	case opTableInit:
		a = a.tableSize(i.b)
	default:
		a = e.memoryBytes(a)
	}
	a = a.op(opI64GtU)
	switch i.op {
	case opMemoryCopy:
		a = e.memoryBytes(a.end(paramFrom)).op(opI64GtU, opI32Or)
	case opTableCopy:
		a = a.end(paramFrom).tableSize(i.b).op(opI64GtU, opI32Or)
	}
	return e.trap(a, i)
}

// checkSegment traps if the operation would leave a segment as long as it is
// before it is dropped; afterwards the first piece traps.
func (e *emitter) checkSegment(a asm, i instruction) asm {
	var length uint32
	if i.op == opTableInit {
		length = e.m.elements[i.a].length
	} else {
		length = e.passive[i.a]
	}
	return e.trap(a.end(paramFrom).i64(int64(length)).op(opI64GtU), i)
}

// trap executes the instruction where it is out of bounds, if the condition on
// the stack holds: the trap is the one that the module would have met.
func (e *emitter) trap(a asm, i instruction) asm {
	a = a.op(byte(opIf), blockVoid).i32(-1)
	if i.op == opTableFill {
		a = a.get(paramFrom)
	} else {
		a = a.i32(-1)
	}
	return i.append(a.i32(-1)).op(byte(opUnreachable), opEnd)
}

// forward works off pieces from the first on, and leaves the parameters at the rest.
func (e *emitter) forward(a asm, i instruction, piece int32) asm {
	a = a.op(byte(opLoop), blockVoid)
	a = e.pay(a, price(i, asm{}.i64(int64(piece))))
	a = i.append(a.get(paramTo).get(paramFrom).i32(piece))
	a = a.get(paramTo).i32(piece).op(opI32Add).set(paramTo)
	if i.op != opMemoryFill && i.op != opTableFill {
		a = a.get(paramFrom).i32(piece).op(opI32Add).set(paramFrom)
	}
	a = a.get(paramLength).i32(piece).op(opI32Sub).set(paramLength)
	return a.get(paramLength).i32(piece).op(opI32GtU, opBrIf, 0, opEnd)
}

// backward works off pieces from the last on, for a copy to behind its source,
// and leaves the length at the rest, which is at the beginning.
func (e *emitter) backward(a asm, i instruction, piece int32) asm {
	a = a.op(byte(opLoop), blockVoid)
	a = e.pay(a, price(i, asm{}.i64(int64(piece))))
	a = a.get(paramLength).i32(piece).op(opI32Sub).set(paramLength)
	a = a.get(paramTo).get(paramLength).op(opI32Add)
	a = a.get(paramFrom).get(paramLength).op(opI32Add)
	a = i.append(a.i32(piece))
	return a.get(paramLength).i32(piece).op(opI32GtU, opBrIf, 0, opEnd)
}

// growTable pays for the elements that it may add, and no more than a table can have.
func (e *emitter) growTable(table uint32) []byte {
	most := int32(min(e.m.limits.TableElements, 1<<31-1))
	a := asm{0}
	amount := asm{}.get(1).i32(most).get(1).i32(most).op(opI32LtU, opSelect, opI64ExtendI32U)
	a = e.pay(a, amount).get(0).get(1)
	return instruction{op: opTableGrow, a: table}.append(a).op(opEnd)
}

// growMemory raises the virtual size, or keeps the size that it refuses.
func (e *emitter) growMemory() []byte {
	const pages, old = 0, 1
	a := asm{1, 1, typeI32}.global(e.size).set(old)
	a = a.get(pages).i32(int32(e.cap)).get(old).op(opI32Sub, opI32GtU, byte(opIf), blockVoid)
	wanted := func(a asm) asm { return a.get(pages).op(opI64ExtendI32U).get(old).op(opI64ExtendI32U, opI64Add) }
	a = wanted(a).global(e.refused).op(opI64GtU, byte(opIf), blockVoid)
	a = wanted(a).setGlobal(e.refused).op(opEnd)
	a = a.i32(-1).op(byte(opReturn), opEnd)
	return a.get(old).get(pages).op(opI32Add).setGlobal(e.size).get(old).op(opEnd)
}

// memoryBytes pushes the size of the memory in bytes, an i64.
func (e *emitter) memoryBytes(a asm) asm {
	if e.virtual {
		a = a.global(e.size)
	} else {
		a = a.op(byte(opMemorySize), 0)
	}
	return a.op(opI64ExtendI32U).i64(16).op(opI64Shl)
}
