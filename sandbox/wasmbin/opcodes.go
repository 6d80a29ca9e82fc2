package wasmbin

// opcode is an instruction: its byte, or its prefix and its number behind that.
type opcode uint32

// bulk and simd are the instructions behind a prefix.
const (
	bulk opcode = 0xfc << 16
	simd opcode = opSIMD << 16
)

// The instructions that the rewriter must know by name.
const (
	opUnreachable  opcode = 0x00
	opBlock        opcode = 0x02
	opLoop         opcode = 0x03
	opIf           opcode = 0x04
	opElse         opcode = 0x05
	opBrTable      opcode = 0x0e
	opReturn       opcode = 0x0f
	opCall         opcode = 0x10
	opCallIndirect opcode = 0x11
	opSelectTyped  opcode = 0x1c
	opLocalGet     opcode = 0x20
	opLocalSet     opcode = 0x21
	opTableGet     opcode = 0x25
	opTableSet     opcode = 0x26
	opMemorySize   opcode = 0x3f
	opMemoryGrow   opcode = 0x40
	opMemoryInit          = bulk | 8
	opDataDrop            = bulk | 9
	opMemoryCopy          = bulk | 10
	opMemoryFill          = bulk | 11
	opTableInit           = bulk | 12
	opElemDrop            = bulk | 13
	opTableCopy           = bulk | 14
	opTableGrow           = bulk | 15
	opTableSize           = bulk | 16
	opTableFill           = bulk | 17
)

// name is the instruction's name in the text format, for those that a module
// can be judged by.
func (op opcode) name() string {
	switch op {
	case opTableSet:
		return "table.set"
	case opDataDrop:
		return "data.drop"
	case opTableInit:
		return "table.init"
	case opElemDrop:
		return "elem.drop"
	case opTableCopy:
		return "table.copy"
	case opTableGrow:
		return "table.grow"
	case opTableFill:
		return "table.fill"
	case opMemoryInit:
		return "memory.init"
	case opMemoryCopy:
		return "memory.copy"
	case opMemoryFill:
		return "memory.fill"
	case opMemoryGrow:
		return "memory.grow"
	}
	return ""
}

// instruction is one instruction with those of its immediates that are indices.
type instruction struct {
	op   opcode
	a, b uint32
}

// code reads the instructions of one function.
type code struct {
	reader

	instruction
	values uint32 // parameters and results of a block
}

// next reads an instruction. It fails with what a module of the supported
// features cannot hold; whether the instruction is valid where it stands is the
// engine's work.
func (c *code) next() {
	b := c.byte()
	c.op = opcode(b)
	switch {
	case b >= 0x45 && b <= 0xc4: // operators, none has an immediate
	case b >= 0x20 && b <= 0x26: // of locals, globals and tables
		c.a = c.u32()
	case b >= 0x28 && b <= 0x3e: // loads and stores
		c.memoryArgument()
	case b == 0x3f || b == 0x40:
		c.zero()
	case b == opI32Const || b == opI64Const:
		c.skipLEB()
	case b == opF32Const:
		c.skip(4)
	case b == opF64Const:
		c.skip(8)
	case b <= 0x1c:
		c.control(b)
	case b >= 0xd0 && b <= 0xd2:
		c.reference(b)
	case b == 0xfc:
		c.op = bulk | opcode(c.u32())
		c.bulkImmediates()
	case b == opSIMD:
		c.simd()
	default:
		c.refuse(b)
	}
}

func (c *code) control(b byte) {
	switch b {
	case 0x00, 0x01, 0x05, opEnd, 0x0f, 0x1a, 0x1b: // unreachable, nop, else, end, return, drop, select
	case 0x02, 0x03, 0x04:
		c.blockType()
	case 0x0c, 0x0d: // br, br_if
		c.u32()
	case 0x0e:
		for range c.count("elements", maxLabels) + 1 {
			if c.err != nil {
				return
			}
			c.u32()
		}
	case 0x10:
		c.a = c.u32()
	case 0x11:
		c.a, c.b = c.u32(), c.u32() // type, table
	case 0x1c:
		c.each("elements", maxLabels, func() { c.valueType() })
	default:
		c.refuse(b)
	}
}

// blockType reads nothing, a value type, or the index of a type.
func (c *code) blockType() {
	t := c.signed(5)
	c.values = 0
	switch {
	case t >= 0:
		c.a = uint32(t)
		c.within("type", c.a, c.m.types)
		if c.err == nil {
			c.values = c.m.values[c.a]
		}
	case t == -64, t >= -5, t == -16, t == -17:
	default:
		c.fail(&UnsupportedError{Feature: featureGC})
	}
}

// maxLabels bounds the labels of one br_table; their bytes bound them, too.
const maxLabels = 1 << 32

func (c *code) reference(b byte) {
	switch b {
	case opRefNull:
		if t := c.byte(); t != typeFunc && t != typeExtern {
			c.fail(&UnsupportedError{Feature: featureGC})
		}
	case opRefFunc:
		c.a = c.u32()
	}
}

func (c *code) bulkImmediates() {
	switch n := c.op &^ bulk; {
	case n <= 7: // saturating conversions
	case n == 8: // memory.init
		c.a = c.u32()
		c.zero()
	case n == 9, n == 13, n == 15, n == 16, n == 17:
		c.a = c.u32()
	case n == 10: // memory.copy
		c.zero()
		c.zero()
	case n == 11: // memory.fill
		c.zero()
	case n == 12, n == 14: // table.init: segment, table; table.copy: to, from
		c.a, c.b = c.u32(), c.u32()
	default:
		c.fail(&UnsupportedError{Feature: featureUnknown})
	}
}

// simd reads an instruction on vectors. Its number must be in its shortest form:
// the engine takes a number of two bytes for the number 128 to 255 and a nop, and
// would read the immediates of a padded one as instructions.
func (c *code) simd() {
	n := opcode(c.byte())
	if n >= 0x80 {
		if high := c.byte(); high != 1 {
			c.fail(&UnsupportedError{Feature: featureRelaxedSIMD + " or a padded number of an instruction"})
		}
	}
	c.op = simd | n
	switch {
	case n <= 11 || n == 92 || n == 93: // loads and stores
		c.memoryArgument()
	case n == 12 || n == 13: // v128.const, i8x16.shuffle
		c.skip(16)
	case n >= 21 && n <= 34: // lanes
		c.skip(1)
	case n >= 84 && n <= 91: // loads and stores of lanes
		c.memoryArgument()
		c.skip(1)
	}
}

// memoryArgument reads an alignment and an offset. Bit 6 of the first would say
// that a memory's index follows.
func (c *code) memoryArgument() {
	if c.u32() >= 1<<6 {
		c.fail(&UnsupportedError{Feature: featureMultiMemory})
	}
	c.u32()
}

// zero reads the index of the one memory, a single byte.
func (c *code) zero() {
	if c.byte() != 0 {
		c.fail(&UnsupportedError{Feature: featureMultiMemory})
	}
}

func (c *code) refuse(b byte) {
	feature := featureUnknown
	switch {
	case b >= 0x06 && b <= 0x0a || b == 0x18 || b == 0x19 || b == 0x1f:
		feature = featureExceptions
	case b == 0x12 || b == 0x13:
		feature = featureTailCalls
	case b == 0x14 || b == 0x15 || b >= 0xd3 && b <= 0xd6 || b == 0xfb:
		feature = featureGC
	case b == 0xfe:
		feature = featureThreads
	}
	c.fail(&UnsupportedError{Feature: feature})
}
