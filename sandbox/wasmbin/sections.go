package wasmbin

import "fmt"

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
	sectionKinds
)

// The types of values and the form of a function's type.
const (
	typeI32      = 0x7f
	typeI64      = 0x7e
	typeF32      = 0x7d
	typeF64      = 0x7c
	typeV128     = 0x7b
	typeFunc     = 0x70
	typeExtern   = 0x6f
	formFunction = 0x60
)

// module is what is known of a module: the sizes of its index spaces, what the
// rewriter must know of their entries, and the content of its sections as they
// go into the rewritten module.
type module struct {
	limits    Limits
	rewriting bool // refuse what cannot be rewritten, and keep content

	parts [sectionKinds]part

	imports           []Import
	importedFunctions uint32
	importedGlobals   uint32
	types             uint32
	values            []uint32 // of each type, parameters and results together
	functionTypes     []uint32 // of the imported functions, and then of the others
	declared          []bool   // functions that are named outside of code
	globals           []globalType
	tables            []tableType
	memories          []memoryType
	startFunction     uint32
	hasStart          bool
	bodies            [][]byte
	elements          []elementSegment
	elementsLeft      int64
	data              []dataSegment
	dataCount         uint32
	hasDataCount      bool
	names             *nameSection
}

// part is the content of a section: a number of entries and their bytes.
type part struct {
	count uint32
	body  []byte
}

type globalType struct {
	valueType byte
	mutable   bool
}

type tableType struct {
	elementType byte
	limits      sizeLimits
	imported    bool
}

type memoryType struct {
	limits   sizeLimits
	imported bool
}

type sizeLimits struct {
	minimum, maximum uint32
	bounded          bool // maximum counts
}

type elementSegment struct {
	elementType byte
	length      uint32
	passive     bool
}

type dataSegment struct {
	passive bool
	offset  uint32
	global  uint32 // holds the offset instead, if fromGlobal
	content []byte

	fromGlobal bool
}

// functions is the size of the index space of functions.
func (m *module) functions() uint32 { return uint32(len(m.functionTypes)) }

// declare keeps that a function is named outside of code, without which ref.func
// must not name it: the added export of the start function must not declare it.
func (m *module) declare(index uint32) {
	if m.declared == nil {
		m.declared = make([]bool, m.functions())
	}
	if index < uint32(len(m.declared)) {
		m.declared[index] = true
	}
}

// shifted is the index of a function in the rewritten module.
func (m *module) shifted(index uint32) uint32 {
	if index >= m.importedFunctions {
		return index + 1
	}
	return index
}

// walk reads the sections in the order of the binary until one says to stop.
func (m *module) walk(bin []byte, stop func(id byte) bool) error {
	if err := checkHeader(bin); err != nil {
		return err
	}
	if int64(len(bin)) > m.limits.ModuleBytes {
		return &LimitError{Limit: "moduleBytes", Need: int64(len(bin)), Max: m.limits.ModuleBytes}
	}
	r := &reader{data: bin, pos: headerBytes, m: m}
	last := 0
	for r.pos < len(r.data) {
		id := r.byte()
		content := r.sub()
		if r.err != nil {
			return fmt.Errorf("section %d ends beyond the file: %w", id, r.err)
		}
		if m.rewriting && id != sectionCustom {
			if rank := sectionRank(id); rank <= last {
				return fmt.Errorf("%w: section %d comes twice or too late", ErrMalformed, id)
			} else {
				last = rank
			}
		}
		if err := m.read(id, content); err != nil {
			return err
		}
		if stop(id) {
			return nil
		}
	}
	return nil
}

// sectionRank is the place of a section among the others.
func sectionRank(id byte) int {
	switch id {
	case sectionDataCount:
		return 2*sectionElement + 1
	case sectionTag:
		return 2*sectionMemory + 1
	}
	return 2 * int(id)
}

func (m *module) read(id byte, content *reader) error {
	content.mark = content.pos
	switch id {
	case sectionCustom, sectionCode, sectionData: // written anew
	default:
		content.copy = m.rewriting
	}
	count := content.section(id)
	if content.err == nil && content.pos < len(content.data) {
		content.malformed("bytes after its entries")
	}
	if content.err != nil {
		return fmt.Errorf("section %d: %w", id, content.err)
	}
	if content.copy {
		content.flush()
		m.parts[id] = part{count: count, body: content.out}
	}
	return nil
}

// section walks the content of one section to its end and returns the number of
// its entries.
func (r *reader) section(id byte) uint32 {
	l := &r.m.limits
	switch id {
	case sectionCustom:
		r.custom()
	case sectionType:
		r.m.types = r.entries("types", l.Types, r.functionType)
		return r.m.types
	case sectionImport:
		return r.entries("imports", l.Imports, r.importEntry)
	case sectionFunction:
		return r.entries("functions", l.Functions, r.typeIndex)
	case sectionTable:
		return r.entries("tables", l.Tables, func() { r.tableType(false) })
	case sectionMemory:
		return r.entries("memories", l.Tables, func() { r.memoryType(false) })
	case sectionGlobal:
		return r.entries("globals", l.Globals, func() { r.globalType(); r.constant() })
	case sectionExport:
		return r.entries("exports", l.Exports, r.export)
	case sectionStart:
		r.m.startFunction, r.m.hasStart = r.u32(), true
	case sectionElement:
		r.m.elementsLeft = l.Elements
		return r.entries("segments", l.Segments, r.elementSegment)
	case sectionDataCount:
		r.m.dataCount, r.m.hasDataCount = r.u32(), true
	case sectionCode:
		return r.entries("functions", l.Functions, r.body)
	case sectionData:
		return r.entries("segments", l.Segments, r.dataSegment)
	case sectionTag:
		r.unsupported(featureExceptions)
		r.count("types", l.Types)
		r.skipRest()
	default:
		r.malformed("an unknown section")
	}
	return 0
}

// entries reads a vector whose length is not copied with it.
func (r *reader) entries(limit string, maximum int64, entry func()) uint32 {
	n := r.count(limit, maximum)
	r.mark = r.pos
	for range n {
		if r.err != nil {
			break
		}
		entry()
	}
	return uint32(n)
}

// unsupported fails if the module is to be rewritten.
func (r *reader) unsupported(feature string) {
	if r.m.rewriting {
		r.fail(&UnsupportedError{Feature: feature})
	}
}

func (r *reader) typeIndex() {
	i := r.u32()
	if r.m.rewriting {
		r.within("type", i, r.m.types)
	}
	r.m.functionTypes = append(r.m.functionTypes, i)
}

func (r *reader) functionType() {
	switch r.byte() {
	case formFunction:
	case 0x5f, 0x5e, 0x50, 0x4f, 0x4e: // struct, array, sub, sub final, rec
		r.unsupported(featureGC)
		fallthrough
	default:
		r.malformed("a type that is no function's")
	}
	values := uint32(0)
	for range 2 {
		values += r.each("params", r.m.limits.Params, func() { r.valueType() })
	}
	r.m.values = append(r.m.values, values)
}

func (r *reader) valueType() byte {
	t := r.byte()
	switch t {
	case typeI32, typeI64, typeF32, typeF64, typeV128, typeFunc, typeExtern:
	case 0x63, 0x64, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x71, 0x72, 0x73, 0x74:
		r.unsupported(featureGC)
		fallthrough
	default:
		r.malformed("an unknown type of values")
	}
	return t
}

func (r *reader) importEntry() {
	m := r.m
	entry := Import{Module: r.name(), Name: r.name(), Kind: Kind(r.byte())}
	if m.rewriting && entry.Module == ReservedModule {
		r.fail(&ReservedError{Name: entry.Module})
	}
	switch entry.Kind {
	case Function:
		r.typeIndex()
		m.importedFunctions++
	case Table:
		r.tableType(true)
	case Memory:
		r.memoryType(true)
	case Global:
		r.globalType()
		m.importedGlobals++
	case Tag:
		r.unsupported(featureExceptions)
		r.byte()
		r.u32()
	default:
		r.malformed("an import of kind %d", uint8(entry.Kind))
	}
	if r.err == nil {
		m.imports = append(m.imports, entry)
	}
}

func (r *reader) tableType(imported bool) {
	t := tableType{elementType: r.byte(), imported: imported}
	if t.elementType != typeFunc && t.elementType != typeExtern {
		r.unsupported(featureGC)
	}
	t.limits = r.sizeLimits()
	r.m.tables = append(r.m.tables, t)
	if n := int64(len(r.m.tables)); n > r.m.limits.Tables {
		r.fail(&LimitError{Limit: "tables", Need: n, Max: r.m.limits.Tables})
	}
}

func (r *reader) memoryType(imported bool) {
	r.m.memories = append(r.m.memories, memoryType{limits: r.sizeLimits(), imported: imported})
	if len(r.m.memories) > 1 {
		r.unsupported(featureMultiMemory)
	}
}

// sizeLimits reads the limits of a memory or a table; those of the forms that
// Check alone lets pass are not kept.
func (r *reader) sizeLimits() sizeLimits {
	flags := r.byte()
	switch {
	case flags&^0x07 != 0:
		r.malformed("limits of form %d", flags)
	case flags&2 != 0:
		r.unsupported(featureThreads)
	case flags&4 != 0:
		r.unsupported(featureMemory64)
	}
	if flags > 1 {
		r.u64()
		if flags&1 != 0 {
			r.u64()
		}
		return sizeLimits{}
	}
	l := sizeLimits{minimum: r.u32()}
	if flags == 1 {
		l.maximum, l.bounded = r.u32(), true
	}
	return l
}

func (r *reader) globalType() {
	t := globalType{valueType: r.valueType()}
	switch r.byte() {
	case 0:
	case 1:
		t.mutable = true
	default:
		r.unsupported(featureThreads)
	}
	r.m.globals = append(r.m.globals, t)
}

func (r *reader) export() {
	name := r.name()
	if r.m.rewriting && isReserved(name) {
		r.fail(&ReservedError{Name: name})
	}
	kind := Kind(r.byte())
	if !r.m.rewriting {
		r.u32()
		return
	}
	switch kind {
	case Function:
		r.function()
	case Table:
		r.index("table", uint32(len(r.m.tables)))
	case Memory:
		r.index("memory", uint32(len(r.m.memories)))
	case Global:
		r.index("global", uint32(len(r.m.globals)))
	case Tag:
		r.unsupported(featureExceptions)
	default:
		r.malformed("an export of kind %d", uint8(kind))
	}
}
