package wasmbin

import "slices"

// Instructions that constant expressions use too.
const (
	opEnd       = 0x0b
	opGlobalGet = 0x23
	opGlobalSet = 0x24
	opI32Const  = 0x41
	opI64Const  = 0x42
	opF32Const  = 0x43
	opF64Const  = 0x44
	opRefNull   = 0xd0
	opRefFunc   = 0xd2
	opSIMD      = 0xfd
	opV128Const = 0x0c // behind opSIMD
)

// elementSegment reads a segment in one of the eight forms that its flags tell:
// bit 0 passive or declarative, bit 1 with a table or declarative, bit 2
// expressions instead of function indices.
func (r *reader) elementSegment() {
	flags := r.u32()
	if flags > 7 {
		r.malformed("elements of form %d", flags)
		return
	}
	segment := elementSegment{elementType: typeFunc, passive: flags&3 == 1}
	if flags&3 == 2 {
		r.u32() // table
	}
	if flags&1 == 0 {
		r.constant()
	}
	if flags&3 != 0 {
		if t := r.byte(); flags&4 != 0 { // otherwise a kind, of which there is one: functions
			segment.elementType = t
		}
	}
	n := r.count("elements", r.m.elementsLeft)
	r.m.elementsLeft -= int64(n)
	segment.length = uint32(n)
	r.flush()
	for range n {
		if r.err != nil {
			return
		}
		if flags&4 != 0 {
			r.constant()
		} else {
			r.function()
		}
	}
	r.m.elements = append(r.m.elements, segment)
}

// constant passes over a constant expression.
func (r *reader) constant() {
	instructions := 0
	for r.err == nil {
		op := r.byte()
		if op == opEnd {
			break
		}
		instructions++
		switch op {
		case opI32Const, opI64Const, opRefNull:
			r.skipLEB()
		case opGlobalGet:
			if i := r.u32(); r.m.rewriting {
				r.within("global", i, uint32(len(r.m.globals)))
			}
		case opRefFunc:
			r.function()
		case opF32Const:
			r.skip(4)
		case opF64Const:
			r.skip(8)
		case opSIMD:
			if r.byte() != opV128Const {
				r.malformed("an expression that is not constant")
			}
			r.skip(16)
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // add, sub, mul
			r.unsupported(featureExtendedConst)
		default:
			r.malformed("an expression that is not constant")
		}
	}
	if instructions != 1 && r.m.rewriting {
		r.malformed("a constant of %d instructions", instructions)
	}
}

// skipLEB passes over a number of any width and sign.
func (r *reader) skipLEB() {
	const longest = 10
	for range longest {
		if r.byte() < 0x80 {
			return
		}
	}
	r.malformed("a number without end")
}

// body reads the locals of a function and passes over its code.
func (r *reader) body() {
	code := r.sub()
	l := &r.m.limits
	if size := int64(code.rest()); size > l.FunctionBytes {
		r.fail(&LimitError{Limit: "functionBytes", Need: size, Max: l.FunctionBytes})
	}
	r.m.bodies = append(r.m.bodies, code.data[code.pos:])
	locals := int64(0)
	code.each("locals", l.Locals, func() {
		locals += int64(code.u32())
		code.valueType()
	})
	if locals > l.Locals {
		r.fail(&LimitError{Limit: "locals", Need: locals, Max: l.Locals})
	}
	r.take(code.err)
}

func (r *reader) dataSegment() {
	flags := r.u32()
	if flags > 2 {
		r.malformed("data of form %d", flags)
		return
	}
	if flags == 2 {
		if r.u32() != 0 {
			r.unsupported(featureMultiMemory)
		}
	}
	segment := dataSegment{passive: flags == 1}
	if !segment.passive {
		r.offset(&segment)
	}
	segment.content = r.bytes()
	if r.m.rewriting {
		r.m.data = append(r.m.data, segment)
	}
}

// offset reads where an active segment goes. An offset of another type than
// i32 is malformed here, since no engine sees the segment afterwards.
func (r *reader) offset(segment *dataSegment) {
	start := r.pos
	r.constant()
	if r.err != nil || !r.m.rewriting {
		return
	}
	e := &reader{data: r.data[:r.pos], pos: start + 1, m: r.m}
	switch r.data[start] {
	case opI32Const:
		value := e.signed(5)
		if value != int64(int32(value)) {
			e.malformed("a number of too many bits")
		}
		segment.offset = uint32(value)
	case opGlobalGet:
		segment.global, segment.fromGlobal = e.u32(), true
		if t := r.m.globals[segment.global]; segment.global >= r.m.importedGlobals || t.mutable || t.valueType != typeI32 {
			e.malformed("an offset from a global that is no imported constant i32")
		}
	default:
		e.malformed("an offset that is no i32")
	}
	r.take(e.err)
}

// nameSection is what is kept of the custom section of that name: the names of
// the module and of its functions, for stack traces.
type nameSection struct {
	module    string
	hasModule bool
	functions []functionName
}

type functionName struct {
	index uint32
	name  string
}

// custom reads a custom section; engines read the one with the names.
func (r *reader) custom() {
	if name := r.name(); name != "name" {
		r.skipRest()
		return
	}
	n := &nameSection{}
	for r.pos < len(r.data) && r.err == nil {
		id := r.byte()
		names := r.sub()
		switch id {
		case 0:
			n.module, n.hasModule = names.name(), true
		case 1:
			names.nameMap(func(index uint32, name string) {
				if r.m.rewriting {
					n.functions = append(n.functions, functionName{index, name})
				}
			})
		case 2:
			names.each("functions", r.m.limits.Functions, func() { names.u32(); names.nameMap(nil) })
		default:
			names.skipRest()
		}
		r.join(names)
	}
	r.m.names = n
}

func (r *reader) nameMap(keep func(index uint32, name string)) {
	r.each("names", r.m.limits.Functions, func() {
		index, name := r.u32(), r.name()
		if keep != nil && r.err == nil {
			keep(index, name)
		}
	})
}

// appendTo appends the section: the names that the module had, with the indices
// that they have now, and those of the added functions, in the order of indices.
func (n *nameSection) appendTo(out []byte, m *module, added []functionName) []byte {
	list := []functionName{{m.importedFunctions, ReservedPrefix + RefuelName}}
	if n != nil {
		for _, f := range n.functions {
			if f.index < m.functions() {
				list = append(list, functionName{m.shifted(f.index), f.name})
			}
		}
	}
	list = append(list, added...)
	slices.SortStableFunc(list, func(a, b functionName) int { return int(int64(a.index) - int64(b.index)) })
	list = slices.CompactFunc(list, func(a, b functionName) bool { return a.index == b.index })
	content := appendName(nil, "name")
	if n != nil && n.hasModule {
		content = appendSection(content, 0, appendName(nil, n.module))
	}
	names := appendU32(nil, uint32(len(list)))
	for _, f := range list {
		names = appendName(appendU32(names, f.index), f.name)
	}
	return appendSection(out, sectionCustom, appendSection(content, 1, names))
}

// appendSection appends a section, or a part of the name section, which has
// the same form.
func appendSection(out []byte, id byte, content []byte) []byte {
	return append(appendU32(append(out, id), uint32(len(content))), content...)
}
