// Package wasmbin reads WebAssembly binaries before anything is compiled, so
// that a module can be refused by name: what is no core module, what claims more
// than it holds, and what it imports beside functions and memories, which the
// engine's own listing leaves out.
//
// It promises to be safe on any input: it allocates nothing from a length that
// the input gives, and its work is linear in the length of the input.
package wasmbin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Errors that tell what a binary is when it is no core module.
var (
	// ErrNotWASM: the bytes do not begin like a WebAssembly binary.
	ErrNotWASM = errors.New("not a WebAssembly binary")
	// ErrComponent: a component of the component model, not a core module.
	ErrComponent = errors.New("a WebAssembly component, not a core module")
	// ErrMalformed: the binary breaks off or contradicts itself.
	ErrMalformed = errors.New("malformed WebAssembly binary")
	// ErrLimit: the binary holds more of something than a module may.
	ErrLimit = errors.New("a WebAssembly binary over a limit")
)

// Kind is the sort of an imported thing.
type Kind uint8

// The import kinds of the core specification.
const (
	Function Kind = iota
	Table
	Memory
	Global
	Tag
)

// String gives the name that the text format uses.
func (k Kind) String() string {
	names := [...]string{"func", "table", "memory", "global", "tag"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Import is one entry of the import section.
type Import struct {
	Module, Name string
	Kind         Kind
}

const headerBytes = 8

// Imports lists the imports of a core module in the order of the binary. It
// fails as [Check] does, but looks at no other section.
func Imports(bin []byte) ([]Import, error) {
	if err := checkHeader(bin); err != nil {
		return nil, err
	}
	r := &reader{data: bin, pos: headerBytes}
	for r.pos < len(r.data) {
		id := r.byte()
		section := r.sub()
		if r.bad {
			return nil, fmt.Errorf("%w: section %d ends beyond the file", ErrMalformed, id)
		}
		if id == sectionImport {
			return section.imports()
		}
	}
	return nil, nil
}

func checkHeader(bin []byte) error {
	if len(bin) < headerBytes || !bytes.HasPrefix(bin, []byte("\x00asm")) {
		return ErrNotWASM
	}
	version, layer := binary.LittleEndian.Uint16(bin[4:]), binary.LittleEndian.Uint16(bin[6:])
	switch {
	case layer == 1:
		return ErrComponent
	case layer != 0 || version != 1:
		return fmt.Errorf("%w: version %d of layer %d", ErrMalformed, version, layer)
	}
	return nil
}

// reader reads with a sticky error, so that a truncated binary needs one check
// at the end of each entry.
type reader struct {
	data []byte
	pos  int
	bad  bool

	over string // which limit was exceeded; bad is set with it
	left int    // elements of tables that may still come
}

func (r *reader) imports() ([]Import, error) {
	count := r.u32()
	var list []Import
	for i := uint32(0); i < count && !r.bad; i++ {
		entry := Import{Module: r.name(), Name: r.name(), Kind: Kind(r.byte())}
		r.skipType(entry.Kind)
		list = append(list, entry)
	}
	switch {
	case r.over != "":
		return nil, fmt.Errorf("%w: %s", ErrLimit, r.over)
	case r.bad:
		return nil, fmt.Errorf("%w: the import section breaks off", ErrMalformed)
	}
	return list, nil
}

// skipType passes over the type of an import: a type index, a reference type
// with limits, limits, a value type with mutability, or a tag's attribute and
// type index.
func (r *reader) skipType(kind Kind) {
	switch kind {
	case Function:
		r.u32()
	case Table:
		r.byte()
		r.skipLimits()
	case Memory:
		r.skipLimits()
	case Global:
		r.byte()
		r.byte()
	case Tag:
		r.byte()
		r.u32()
	default:
		r.bad = true
	}
}

func (r *reader) skipLimits() {
	flags := r.byte()
	r.u64()
	if flags&1 != 0 {
		r.u64()
	}
}

func (r *reader) byte() byte {
	if r.pos >= len(r.data) {
		r.bad = true
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

func (r *reader) u32() uint32 { return uint32(r.leb(5, 1<<32-1)) }
func (r *reader) u64() uint64 { return r.leb(10, 1<<64-1) }

func (r *reader) leb(maxBytes int, limit uint64) uint64 {
	var value uint64
	for i := range maxBytes {
		b := r.byte()
		value |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.bad = r.bad || value > limit
			return value
		}
	}
	r.bad = true
	return 0
}

func (r *reader) name() string {
	size := r.count("bytes in a name", maxNameBytes)
	if r.bad {
		return ""
	}
	raw := r.data[r.pos : r.pos+size]
	r.pos += size
	if !utf8.Valid(raw) {
		r.bad = true
	}
	return string(raw)
}
