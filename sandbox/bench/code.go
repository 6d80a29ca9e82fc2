package main

import (
	"slices"

	"vcphost/sandbox/wasmbuild"
)

// Instructions that the guests of this benchmark need beside those of package
// wasmbuild. Memory accesses have no offset and claim no alignment.

func i32Load() []byte    { return []byte{0x28, 0x00, 0x00} }
func i64Load() []byte    { return []byte{0x29, 0x00, 0x00} }
func i32Store() []byte   { return []byte{0x36, 0x00, 0x00} }
func i64Store() []byte   { return []byte{0x37, 0x00, 0x00} }
func i32Ne() []byte      { return []byte{0x47} }
func i32LtU() []byte     { return []byte{0x49} }
func i32Sub() []byte     { return []byte{0x6b} }
func i32Mul() []byte     { return []byte{0x6c} }
func i32DivU() []byte    { return []byte{0x6e} }
func i32RemU() []byte    { return []byte{0x70} }
func i32And() []byte     { return []byte{0x71} }
func i32Xor() []byte     { return []byte{0x73} }
func i64Or() []byte      { return []byte{0x84} }
func i64Shl() []byte     { return []byte{0x86} }
func i32WrapI64() []byte { return []byte{0xa7} }
func extendU() []byte    { return []byte{0xad} } // i64.extend_i32_u

func tee(local uint32) []byte { return append([]byte{0x22}, wasmbuild.U32(local)...) }

// again is a branch to the loop that is depth blocks further out.
func again(depth uint32) []byte { return append([]byte{0x0c}, wasmbuild.U32(depth)...) }

// leave ends the function with the value on the stack.
func leave() []byte { return []byte{0x0f} }

// loop runs code once; [again] inside repeats it.
func loop(code ...[]byte) []byte {
	return slices.Concat([]byte{0x03, 0x40}, slices.Concat(code...), []byte{0x0b})
}

// add adds a constant to a local.
func add(local uint32, n int32) []byte {
	return slices.Concat(wasmbuild.LocalGet(local), wasmbuild.I32Const(n), wasmbuild.I32Add(), wasmbuild.LocalSet(local))
}

// i32s is a list of i32 types.
func i32s(n int) []wasmbuild.ValueType { return slices.Repeat([]wasmbuild.ValueType{wasmbuild.I32}, n) }

// i64s is a list of i64 types.
func i64s(n int) []wasmbuild.ValueType { return slices.Repeat([]wasmbuild.ValueType{wasmbuild.I64}, n) }
