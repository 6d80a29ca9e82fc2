// Package wasmbuild assembles small WebAssembly modules in Go, so that hostile
// guests need no toolchain and no committed binary. It is an assembler, not a
// validator: it writes what it is told, also what no engine would accept.
package wasmbuild

import "slices"

// ValueType is a value type of the binary format.
type ValueType byte

// The value types: those that the guest ABI uses, and others for hostile modules.
const (
	I32     ValueType = 0x7f
	I64     ValueType = 0x7e
	F64     ValueType = 0x7c
	V128    ValueType = 0x7b
	FuncRef ValueType = 0x70
)

// Signature is the type of a function.
type Signature struct{ Params, Results []ValueType }

// Module is a module under construction. Imports must be added before the
// first function, since they come first in the index space. The zero value is
// an empty module.
type Module struct {
	types     [][]byte
	imports   [][]byte
	functions []function
	tables    [][]byte
	memories  [][]byte
	exports   [][]byte
	globals   [][]byte
	elements  [][]byte
	data      [][]byte
	custom    [][]byte
	names     [][]byte // of functions, in the order of their indices
	start     []byte
	countData bool
	imported  uint32 // functions
}

type function struct {
	typeIndex uint32
	locals    []ValueType
	code      []byte
}

func (m *Module) typeIndex(s Signature) uint32 {
	entry := append([]byte{0x60}, vector(bytesOf(s.Params))...)
	entry = append(entry, vector(bytesOf(s.Results))...)
	for i, known := range m.types {
		if slices.Equal(known, entry) {
			return uint32(i)
		}
	}
	m.types = append(m.types, entry)
	return uint32(len(m.types) - 1)
}

func bytesOf(types []ValueType) [][]byte {
	list := make([][]byte, len(types))
	for i, t := range types {
		list[i] = []byte{byte(t)}
	}
	return list
}

// ImportFunction adds an imported function and returns its index.
func (m *Module) ImportFunction(module, name string, s Signature) uint32 {
	m.Import(module, name, 0x00, U32(m.typeIndex(s)))
	m.imported++
	return m.imported - 1
}

// Import adds an import of any kind, with its description as raw bytes.
func (m *Module) Import(module, name string, kind byte, description []byte) {
	entry := append(Name(module), Name(name)...)
	m.imports = append(m.imports, append(append(entry, kind), description...))
}

// Type adds the type of a function, for indirect calls, and returns its index.
func (m *Module) Type(s Signature) uint32 { return m.typeIndex(s) }

// Function adds a function with the given locals; code is its body without the
// final end. It returns the function's index.
func (m *Module) Function(s Signature, locals []ValueType, code ...[]byte) uint32 {
	m.functions = append(m.functions, function{m.typeIndex(s), locals, slices.Concat(code...)})
	return m.imported + uint32(len(m.functions)) - 1
}

// SetBody replaces the code of a function, such as one that needs its own index.
func (m *Module) SetBody(index uint32, code ...[]byte) {
	m.functions[index-m.imported].code = slices.Concat(code...)
}

// Memory adds a memory of pages of 64 KiB; maxPages 0 means no maximum.
func (m *Module) Memory(minPages, maxPages uint32) {
	m.memories = append(m.memories, limits(minPages, maxPages))
}

// Table adds a table of function references.
func (m *Module) Table(minElements, maxElements uint32) {
	m.tables = append(m.tables, append([]byte{byte(FuncRef)}, limits(minElements, maxElements)...))
}

func limits(minimum, maximum uint32) []byte {
	if maximum == 0 {
		return append([]byte{0x00}, U32(minimum)...)
	}
	return append(append([]byte{0x01}, U32(minimum)...), U32(maximum)...)
}

// Global adds a mutable i32 global and returns its index.
func (m *Module) Global(initial int32) uint32 {
	m.globals = append(m.globals, append(append([]byte{byte(I32), 0x01}, I32Const(initial)...), opEnd))
	return uint32(len(m.globals) - 1)
}

// GlobalOf adds a mutable global of any type; initial is the constant expression
// without its end. It returns the global's index.
func (m *Module) GlobalOf(valueType ValueType, initial []byte) uint32 {
	m.globals = append(m.globals, slices.Concat([]byte{byte(valueType), 0x01}, initial, []byte{opEnd}))
	return uint32(len(m.globals) - 1)
}

// Elements places functions in the first table when an instance starts.
func (m *Module) Elements(offset uint32, functions ...uint32) {
	m.elements = append(m.elements, slices.Concat([]byte{0x00}, I32Const(int32(offset)), []byte{opEnd}, indices(functions)))
}

// PassiveElements adds functions that table.init places, and returns the
// segment's index.
func (m *Module) PassiveElements(functions ...uint32) uint32 {
	m.elements = append(m.elements, slices.Concat([]byte{0x01, 0x00}, indices(functions)))
	return uint32(len(m.elements) - 1)
}

func indices(list []uint32) []byte {
	out := U32(uint32(len(list)))
	for _, index := range list {
		out = append(out, U32(index)...)
	}
	return out
}

// ExportFunction exports a function.
func (m *Module) ExportFunction(name string, index uint32) { m.export(name, 0x00, index) }

// ExportMemory exports the first memory.
func (m *Module) ExportMemory(name string) { m.export(name, 0x02, 0) }

// ExportGlobal exports a global.
func (m *Module) ExportGlobal(name string, index uint32) { m.export(name, 0x03, index) }

func (m *Module) export(name string, kind byte, index uint32) {
	m.exports = append(m.exports, append(append(Name(name), kind), U32(index)...))
}

// Data places bytes in the first memory when an instance starts.
func (m *Module) Data(offset uint32, content []byte) {
	entry := append(append([]byte{0x00}, I32Const(int32(offset))...), opEnd)
	m.data = append(m.data, append(append(entry, U32(uint32(len(content)))...), content...))
}

// PassiveData adds bytes that memory.init places, and returns the segment's
// index. The module then tells the number of its data segments before its code,
// as such instructions need.
func (m *Module) PassiveData(content []byte) uint32 {
	m.data = append(m.data, slices.Concat([]byte{0x01}, U32(uint32(len(content))), content))
	m.countData = true
	return uint32(len(m.data) - 1)
}

// FunctionName adds a line to the name section: what a function is called in
// stacks. Names are added in the order of indices.
func (m *Module) FunctionName(index uint32, name string) {
	m.names = append(m.names, append(U32(index), Name(name)...))
}

// Start makes a function run when an instance starts.
func (m *Module) Start(index uint32) { m.start = U32(index) }

// Custom adds a custom section.
func (m *Module) Custom(name string, content []byte) {
	m.custom = append(m.custom, append(Name(name), content...))
}

// Bytes writes the module in the binary format.
func (m *Module) Bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	declared, bodies := make([][]byte, len(m.functions)), make([][]byte, len(m.functions))
	for i, f := range m.functions {
		declared[i], bodies[i] = U32(f.typeIndex), f.body()
	}
	for _, s := range []struct {
		id      byte
		entries [][]byte
	}{{1, m.types}, {2, m.imports}, {3, declared}, {4, m.tables}, {5, m.memories}, {6, m.globals}, {7, m.exports}} {
		if len(s.entries) > 0 {
			out = append(out, section(s.id, vector(s.entries))...)
		}
	}
	if m.start != nil {
		out = append(out, section(8, m.start)...)
	}
	if len(m.elements) > 0 {
		out = append(out, section(9, vector(m.elements))...)
	}
	if m.countData {
		out = append(out, section(12, U32(uint32(len(m.data))))...)
	}
	if len(bodies) > 0 {
		out = append(out, section(10, vector(bodies))...)
	}
	if len(m.data) > 0 {
		out = append(out, section(11, vector(m.data))...)
	}
	return append(out, m.customSections()...)
}

func (m *Module) customSections() []byte {
	var out []byte
	for _, content := range m.custom {
		out = append(out, section(0, content)...)
	}
	if len(m.names) > 0 {
		const functionNames = 1
		out = append(out, section(0, append(Name("name"), section(functionNames, vector(m.names))...))...)
	}
	return out
}

func (f function) body() []byte {
	var groups [][]byte
	for rest := f.locals; len(rest) > 0; {
		alike := 1
		for alike < len(rest) && rest[alike] == rest[0] {
			alike++
		}
		groups = append(groups, append(U32(uint32(alike)), byte(rest[0])))
		rest = rest[alike:]
	}
	code := append(append(vector(groups), f.code...), opEnd)
	return append(U32(uint32(len(code))), code...)
}

func section(id byte, content []byte) []byte {
	return append(append([]byte{id}, U32(uint32(len(content)))...), content...)
}

func vector(entries [][]byte) []byte {
	return append(U32(uint32(len(entries))), slices.Concat(entries...)...)
}

// Name encodes a name: its length and its bytes.
func Name(s string) []byte { return append(U32(uint32(len(s))), s...) }

// U32 encodes an unsigned number as LEB128.
func U32(v uint32) []byte {
	var out []byte
	for v >= 0x80 {
		out = append(out, byte(v)|0x80)
		v >>= 7
	}
	return append(out, byte(v))
}

// S64 encodes a signed number as LEB128.
func S64(v int64) []byte {
	var out []byte
	for {
		b := byte(v & 0x7f)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
