package wasmbuild

import "slices"

const (
	opUnreachable = 0x00
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opEnd         = 0x0b
	opBr          = 0x0c
	opCall        = 0x10
	opDrop        = 0x1a
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
