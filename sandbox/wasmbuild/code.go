package wasmbuild

import "slices"

const (
	opUnreachable = 0x00
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opEnd         = 0x0b
	opElse        = 0x05
	opBr          = 0x0c
	opBrIf        = 0x0d
	opBrTable     = 0x0e
	opReturn      = 0x0f
	opCall        = 0x10
	opCallTable   = 0x11
	opDrop        = 0x1a
	opMisc        = 0xfc
	blockVoid     = 0x40
)

// I32Const pushes an i32.
func I32Const(v int32) []byte { return append([]byte{0x41}, S64(int64(v))...) }

// I64Const pushes an i64.
func I64Const(v int64) []byte { return append([]byte{0x42}, S64(v)...) }

// LocalGet pushes a parameter or a local.
func LocalGet(index uint32) []byte { return append([]byte{0x20}, U32(index)...) }

// LocalSet pops into a local.
func LocalSet(index uint32) []byte { return append([]byte{0x21}, U32(index)...) }

// GlobalGet pushes a global.
func GlobalGet(index uint32) []byte { return append([]byte{0x23}, U32(index)...) }

// GlobalSet pops into a global.
func GlobalSet(index uint32) []byte { return append([]byte{0x24}, U32(index)...) }

// Call calls a function.
func Call(index uint32) []byte { return append([]byte{opCall}, U32(index)...) }

// Drop pops a value.
func Drop() []byte { return []byte{opDrop} }

// Unreachable traps.
func Unreachable() []byte { return []byte{opUnreachable} }

// Loop repeats code for ever.
func Loop(code ...[]byte) []byte {
	return slices.Concat([]byte{opLoop, blockVoid}, slices.Concat(code...), []byte{opBr, 0x00, opEnd})
}

// If runs code when the popped i32 is not zero.
func If(code ...[]byte) []byte {
	return slices.Concat([]byte{opIf, blockVoid}, slices.Concat(code...), []byte{opEnd})
}

// IfElse runs yes when the popped i32 is not zero, else no.
func IfElse(yes, no []byte) []byte {
	return slices.Concat([]byte{opIf, blockVoid}, yes, []byte{opElse}, no, []byte{opEnd})
}

// While repeats code as long as it leaves an i32 that is not zero.
func While(code ...[]byte) []byte {
	return slices.Concat([]byte{opLoop, blockVoid}, slices.Concat(code...), []byte{opBrIf, 0x00, opEnd})
}

// Block encloses code, which branches can leave.
func Block(code ...[]byte) []byte {
	return slices.Concat([]byte{opBlock, blockVoid}, slices.Concat(code...), []byte{opEnd})
}

// BrTable branches to the target that the popped i32 names, or to the last.
func BrTable(targets ...uint32) []byte {
	last := len(targets) - 1
	return slices.Concat([]byte{opBrTable}, indices(targets[:last]), U32(targets[last]))
}

// Return ends the function.
func Return() []byte { return []byte{opReturn} }

// CallTable calls the function of a type that the popped i32 names in the first
// table.
func CallTable(typeIndex uint32) []byte {
	return append(append([]byte{opCallTable}, U32(typeIndex)...), 0x00)
}

// Op is instructions without immediates, by their bytes.
func Op(opcodes ...byte) []byte { return opcodes }

// I32Store stores an i32 at offset 0 of an address.
func I32Store() []byte { return []byte{0x36, 0x02, 0x00} }

// I64Store stores an i64 at offset 0 of an address, which need not be aligned.
func I64Store() []byte { return []byte{0x37, 0x00, 0x00} }

// I32Load loads an i32 at offset 0 of the popped address.
func I32Load() []byte { return []byte{0x28, 0x02, 0x00} }

// MemorySize pushes the size of the memory in pages.
func MemorySize() []byte { return []byte{0x3f, 0x00} }

// MemoryFill fills: address, byte, length.
func MemoryFill() []byte { return []byte{opMisc, 11, 0} }

// MemoryCopy copies: to, from, length.
func MemoryCopy() []byte { return []byte{opMisc, 10, 0, 0} }

// MemoryInit copies from a passive data segment: to, from, length.
func MemoryInit(segment uint32) []byte {
	return slices.Concat([]byte{opMisc, 8}, U32(segment), []byte{0})
}

// DataDrop drops a passive data segment.
func DataDrop(segment uint32) []byte { return append([]byte{opMisc, 9}, U32(segment)...) }

// TableGrow grows the first table: value, number of elements.
func TableGrow() []byte { return []byte{opMisc, 15, 0} }

// TableFill fills the first table: index, value, number of elements.
func TableFill() []byte { return []byte{opMisc, 17, 0} }

// TableSet sets an element of the first table: index, value.
func TableSet() []byte { return []byte{0x26, 0} }

// RefNull pushes the null reference to a function.
func RefNull() []byte { return []byte{0xd0, byte(FuncRef)} }

// RefFunc pushes a reference to a function, which an element segment or an
// export must name.
func RefFunc(index uint32) []byte { return append([]byte{0xd2}, U32(index)...) }

// I32Add adds two i32.
func I32Add() []byte { return []byte{0x6a} }

// I32Eqz tests for zero.
func I32Eqz() []byte { return []byte{0x45} }

// I64ExtendI32S widens with the sign.
func I64ExtendI32S() []byte { return []byte{0xac} }

// MemoryGrow grows the memory by the popped number of pages.
func MemoryGrow() []byte { return []byte{0x40, 0x00} }

// I32Store8 stores a byte at offset 0 of the popped address.
func I32Store8() []byte { return []byte{0x3a, 0x00, 0x00} }

// I32Load8U loads a byte at offset 0 of the popped address.
func I32Load8U() []byte { return []byte{0x2d, 0x00, 0x00} }
