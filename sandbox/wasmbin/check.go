package wasmbin

import "fmt"

// Limits of a module, those of the WebAssembly JavaScript interface, which
// toolchains keep to since browsers enforce them.
const (
	maxTypes     = 1_000_000
	maxFunctions = 1_000_000
	maxImports   = 1_000_000
	maxExports   = 1_000_000
	maxGlobals   = 1_000_000
	maxTables    = 100_000
	maxMemories  = 100
	maxSegments  = 100_000
	maxElements  = 10_000_000 // of all segments together
	maxParams    = 1_000
	maxLocals    = 50_000 // of one function, parameters excepted
	maxBodyBytes = 7_654_321
	maxNameBytes = 100_000
)

// The sections of the core specification; 13 holds the tags of the exception
// handling proposal.
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
	sectionTag
)

// Check walks a core module and refuses one that claims more than it holds, or
// more than a module may hold: an engine allocates from such claims before it
// finds them false, so that 30 bytes can ask for 32 GiB. It does not validate
// the module; that is the engine's work. It fails with [ErrNotWASM],
// [ErrComponent], [ErrMalformed] or [ErrLimit].
func Check(bin []byte) error {
	if err := checkHeader(bin); err != nil {
		return err
	}
	r := &reader{data: bin, pos: headerBytes}
	for r.pos < len(r.data) {
		id := r.byte()
		content := r.sub()
		if r.bad {
			return fmt.Errorf("%w: section %d ends beyond the file", ErrMalformed, id)
		}
		content.section(id)
		switch {
		case content.over != "":
			return fmt.Errorf("%w: %s", ErrLimit, content.over)
		case content.bad || content.pos < len(content.data):
			return fmt.Errorf("%w: section %d holds other than it says", ErrMalformed, id)
		}
	}
	return nil
}

// section walks the content of one section to its end.
func (r *reader) section(id byte) {
	switch id {
	case sectionCustom:
		r.custom()
	case sectionType:
		r.each("types", maxTypes, r.functionType)
	case sectionImport:
		r.each("imports", maxImports, r.importEntry)
	case sectionFunction:
		r.each("functions", maxFunctions, func() { r.u32() })
	case sectionExport:
		r.each("exports", maxExports, func() { r.name(); r.byte(); r.u32() })
	case sectionElement:
		r.left = maxElements
		r.each("element segments", maxElements, r.elementSegment)
	case sectionCode:
		r.each("functions", maxFunctions, r.body)
	case sectionData:
		r.each("data segments", maxSegments, r.dataSegment)
	case sectionTable:
		r.counted("tables", maxTables)
	case sectionMemory:
		r.counted("memories", maxMemories)
	case sectionGlobal:
		r.counted("globals", maxGlobals)
	case sectionTag:
		r.counted("tags", maxTypes)
	case sectionStart, sectionDataCount:
		r.u32()
	default:
		r.bad = true
	}
}

// count reads the length of a vector whose entries take a byte or more each.
func (r *reader) count(what string, limit int) int {
	n := r.u32()
	switch {
	case int64(n) > int64(limit):
		r.exceed("%d %s, and %d are allowed", n, what, limit)
	case int64(n) > int64(len(r.data)-r.pos):
		r.bad = true
	}
	if r.bad {
		return 0
	}
	return int(n)
}

func (r *reader) exceed(format string, args ...any) {
	if !r.bad {
		r.over, r.bad = fmt.Sprintf(format, args...), true
	}
}

// each reads a vector entry by entry.
func (r *reader) each(what string, limit int, entry func()) {
	for range r.count(what, limit) {
		if r.bad {
			return
		}
		entry()
	}
}

// counted reads the length of a vector whose entries claim nothing themselves.
func (r *reader) counted(what string, limit int) {
	r.count(what, limit)
	r.skipRest()
}

func (r *reader) functionType() {
	if r.byte() != 0x60 {
		r.bad = true // a type of a proposal
		return
	}
	for range 2 {
		r.each("parameters or results of a function", maxParams, r.valueType)
	}
}

func (r *reader) valueType() {
	switch r.byte() {
	case 0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f:
	default:
		r.bad = true
	}
}

func (r *reader) importEntry() {
	r.name()
	r.name()
	r.skipType(Kind(r.byte()))
}

// elementSegment reads a segment in one of the eight forms that its flags tell:
// bit 0 passive or declarative, bit 1 with a table or declarative, bit 2
// expressions instead of function indices.
func (r *reader) elementSegment() {
	flags := r.u32()
	if flags > 7 {
		r.bad = true
		return
	}
	if flags&3 == 2 {
		r.u32() // table
	}
	if flags&1 == 0 {
		r.constant()
	}
	if flags&3 != 0 {
		r.byte() // kind or type of the elements
	}
	n := r.count("elements of tables", r.left)
	r.left -= n
	for range n {
		if r.bad {
			return
		}
		if flags&4 != 0 {
			r.constant()
		} else {
			r.u32()
		}
	}
}

// body reads the locals of a function and passes over its code.
func (r *reader) body() {
	code := r.sub()
	if size := len(code.data) - code.pos; size > maxBodyBytes {
		r.exceed("a function of %d bytes, and %d are allowed", size, maxBodyBytes)
	}
	locals := uint64(0)
	code.each("groups of locals", maxLocals, func() {
		locals += uint64(code.u32())
		code.valueType()
	})
	if locals > maxLocals {
		r.exceed("a function with %d locals, and %d are allowed", locals, maxLocals)
	}
	r.join(code)
}

func (r *reader) dataSegment() {
	flags := r.u32()
	if flags > 2 {
		r.bad = true
		return
	}
	if flags == 2 {
		r.u32() // memory
	}
	if flags != 1 {
		r.constant()
	}
	r.sub()
}

// constant passes over a constant expression.
func (r *reader) constant() {
	for !r.bad {
		switch r.byte() {
		case 0x0b: // end
			return
		case 0x41, 0x42, 0x23, 0xd0, 0xd2: // i32.const, i64.const, global.get, ref.null, ref.func
			r.skipLEB()
		case 0x43: // f32.const
			r.skip(4)
		case 0x44: // f64.const
			r.skip(8)
		case 0xfd: // v128.const, the only one of its prefix
			if r.byte() != 0x0c {
				r.bad = true
			}
			r.skip(16)
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // add, sub, mul
		default:
			r.bad = true
		}
	}
}

// custom reads a custom section; engines read the one with the names.
func (r *reader) custom() {
	if name := r.name(); name != "name" {
		r.skipRest()
		return
	}
	for r.pos < len(r.data) && !r.bad {
		id := r.byte()
		names := r.sub()
		switch id {
		case 0:
			names.name()
		case 1:
			names.nameMap()
		case 2:
			names.each("functions with names", maxFunctions, func() { names.u32(); names.nameMap() })
		default:
			names.skipRest()
		}
		if names.pos < len(names.data) {
			names.bad = true
		}
		r.join(names)
	}
}

func (r *reader) nameMap() {
	r.each("names", maxFunctions, func() { r.u32(); r.name() })
}

// sub reads a length and gives a reader of so many bytes, which it passes over.
func (r *reader) sub() *reader {
	size := r.u32()
	if int64(size) > int64(len(r.data)-r.pos) {
		r.bad = true
	}
	if r.bad {
		return &reader{bad: true}
	}
	inner := &reader{data: r.data[:r.pos+int(size)], pos: r.pos, left: r.left}
	r.pos += int(size)
	return inner
}

// join takes over what an inner reader found.
func (r *reader) join(inner *reader) {
	if inner.over != "" {
		r.exceed("%s", inner.over)
	}
	r.bad = r.bad || inner.bad
}

func (r *reader) skip(n int) {
	if n > len(r.data)-r.pos {
		r.bad = true
		return
	}
	r.pos += n
}

func (r *reader) skipRest() { r.pos = len(r.data) }

// skipLEB passes over a number of any width and sign.
func (r *reader) skipLEB() {
	const longest = 10
	for range longest {
		if r.byte() < 0x80 {
			return
		}
	}
	r.bad = true
}
