package wasmbin

// Instructions that only the added code needs by name.
const (
	blockVoid       = 0x40
	opBrIf          = 0x0d
	opSelect        = 0x1b
	opI32LtU        = 0x49
	opI32GtU        = 0x4b
	opI32LeU        = 0x4d
	opI64GeS        = 0x59
	opI64GtU        = 0x56
	opI32Add        = 0x6a
	opI32Sub        = 0x6b
	opI32Or         = 0x72
	opI64Add        = 0x7c
	opI64Sub        = 0x7d
	opI64Shl        = 0x86
	opI64ShrU       = 0x88
	opI64ExtendI32U = 0xad
)

// asm is code under construction. Each method returns it with more at its end.
type asm []byte

func (a asm) op(bytes ...byte) asm       { return append(a, bytes...) }
func (a asm) index(i uint32) asm         { return appendU32(a, i) }
func (a asm) get(local uint32) asm       { return appendU32(append(a, byte(opLocalGet)), local) }
func (a asm) set(local uint32) asm       { return appendU32(append(a, byte(opLocalSet)), local) }
func (a asm) global(index uint32) asm    { return appendU32(append(a, opGlobalGet), index) }
func (a asm) setGlobal(index uint32) asm { return appendU32(append(a, opGlobalSet), index) }
func (a asm) i32(v int32) asm            { return appendS64(append(a, opI32Const), int64(v)) }
func (a asm) i64(v int64) asm            { return appendS64(append(a, opI64Const), v) }

// end pushes the sum of a parameter and the length, an i64.
func (a asm) end(param uint32) asm {
	return a.get(param).op(opI64ExtendI32U).get(paramLength).op(opI64ExtendI32U, opI64Add)
}

// tableSize pushes the size of a table, an i64.
func (a asm) tableSize(table uint32) asm {
	return a.op(0xfc, 16).index(table).op(opI64ExtendI32U)
}
