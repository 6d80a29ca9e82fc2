// Package wasmbin reads WebAssembly binaries before anything is compiled and
// rewrites core modules into a form that cannot hold its host.
//
// [Check] and [Imports] refuse a module by name: what is no core module, what
// claims more than it holds, and what it imports beside functions and memories,
// which the engine's own listing leaves out.
//
// [Rewrite] makes a module into one that
//   - pays fuel: at each function's entry and each loop's head, code takes the
//     weight of the region that begins there (its instructions, those of loops
//     within it excepted) from a global, and calls the added import
//     vcp_internal.refuel when that is below zero. A region that grows too heavy
//     is split, so that code without loops has safe points, too;
//   - does bulk operations in pieces of at most 1 MiB, paid by length;
//   - has a memory whose size is virtual, if that is asked for: growth is a
//     change of a global, and its undoing, too;
//   - exports its mutable globals, and begins by hand: its active data segments
//     and its start function are lifted out.
//
// It keeps the meaning of the module, which the core specification's own test
// suite holds, but for one thing that is switchable: with a virtual size, what
// lies between size and cap can be accessed. What it does not understand it
// refuses ([UnsupportedError]).
//
// Features: version 2.0 of the core specification (sign extension, saturating
// conversions, bulk memory, reference types, multiple values, SIMD).
//
// It promises to be safe on any input: it allocates nothing from a length that
// the input gives, its work is linear in the length of the input, and it writes
// no more than a fixed multiple of it. All of it is safe for concurrent use.
package wasmbin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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
// fails as [Check] does, but looks at nothing behind the imports.
func Imports(bin []byte) ([]Import, error) {
	m := &module{limits: Limits{}.withDefaults()}
	if err := m.walk(bin, func(id byte) bool { return id == sectionImport }); err != nil {
		return nil, err
	}
	return m.imports, nil
}

// Check walks a core module and refuses one that claims more than it holds, or
// more than a module may hold: an engine allocates from such claims before it
// finds them false, so that 30 bytes can ask for 32 GiB. It does not validate
// the module; that is the engine's work. It fails with [ErrNotWASM],
// [ErrComponent], [ErrMalformed] or a [LimitError].
func Check(bin []byte) error {
	m := &module{limits: Limits{}.withDefaults()}
	return m.walk(bin, func(byte) bool { return false })
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
