package wasmbin

import (
	"fmt"
	"strings"
)

// What the rewriter adds to a module has these names, which a guest must not
// use for its own.
const (
	// ReservedModule is the module of the added import; no other import may be of it.
	ReservedModule = "vcp_internal"
	// ReservedPrefix begins the name of every added export.
	ReservedPrefix = ReservedModule + "."
	// RefuelName is the name of the added import, a function that takes the fuel
	// that is left, an i64 below zero, and returns the fuel to go on with.
	RefuelName = "refuel"

	exportFuel    = ReservedPrefix + "fuel"
	exportSize    = ReservedPrefix + "memory_size"
	exportRefused = ReservedPrefix + "memory_refused"
	exportStart   = ReservedPrefix + "start"
)

func isReserved(name string) bool { return strings.HasPrefix(name, ReservedPrefix) }

// ReservedError tells that a guest uses a name which is the rewriter's.
type ReservedError struct{ Name string }

// Error names the name.
func (e *ReservedError) Error() string {
	return fmt.Sprintf("a WebAssembly binary that uses the reserved name %q", e.Name)
}

// RewriteOptions say what a module is made into. The zero value has the
// standard limits and a strict memory size.
type RewriteOptions struct {
	Limits Limits
	// VirtualMemory gives a memory that can grow all pages up to its cap from
	// the start, the smaller of its own maximum and Limits.MemoryPages, and
	// keeps its size in a global. The guest sees a size that is right, but what
	// lies between the size and the cap can be read and written.
	VirtualMemory bool
}

// Rewritten is a module as it is compiled, and what its host must know of it.
// It is read-only, and its byte slices may be those of the input.
type Rewritten struct {
	// Binary has no start function and no active data segments: an instance is
	// begun by writing Data into its memory and calling Start.
	Binary []byte
	// Start is the export that was the start function, "" if there was none.
	Start string
	// Data are the active data segments in their order.
	Data []DataSegment
	// Globals are all mutable globals whose value fits 64 bits, the added ones too.
	Globals []ExportedGlobal
	// Fuel is the exported i64 that holds the fuel, 0 at the start.
	Fuel string
	// MemorySize is the exported i32 that holds the size of a virtual memory in
	// pages, and MemoryRefused the exported i64 that holds the largest size
	// that it was refused; "" if the memory is not virtual.
	MemorySize, MemoryRefused string
	Memory                    MemoryPlan
	// Unrestorable says, for humans, why memory and globals are not the whole
	// state of an instance; nil if they are.
	Unrestorable []string
}

// ExportedGlobal is a mutable global under a reserved export name.
type ExportedGlobal struct {
	Name string
	Type byte // as the binary format has it: 0x7f i32, 0x7e i64, 0x7d f32, 0x7c f64
}

// MemoryPlan tells of the memory. The sizes are in pages of 64 KiB, and 0 if it
// is imported.
type MemoryPlan struct {
	Exists   bool   // the module defines or imports one
	Initial  uint32 // the size that the guest sees first
	Compiled uint32 // the size that an instance has first
	Virtual  bool   // MemorySize holds the size that the guest sees
}

// Rewrite makes a module into one that pays fuel, cannot hold its host in one
// long instruction, and whose state lies in its memory and its exported
// globals. The same binary and options give the same bytes. It fails as [Check]
// does, and with [UnsupportedError] or [ReservedError]; it does not validate the
// module, but what it makes of an invalid one is invalid, too.
func Rewrite(binary []byte, opts RewriteOptions) (*Rewritten, error) {
	m := &module{limits: opts.Limits.withDefaults(), rewriting: true}
	if err := m.walk(binary, func(byte) bool { return false }); err != nil {
		return nil, err
	}
	if err := m.whole(); err != nil {
		return nil, err
	}
	s, err := m.scanCode()
	if err != nil {
		return nil, err
	}
	e := newEmitter(m, s, opts.VirtualMemory)
	if err := e.code(); err != nil {
		return nil, err
	}
	return e.finish(len(binary)), nil
}

// whole checks what the sections say of one another, and the limits of sizes.
func (m *module) whole() error {
	switch {
	case int(m.functions()-m.importedFunctions) != len(m.bodies):
		return fmt.Errorf("%w: %d functions have %d bodies", ErrMalformed, m.functions()-m.importedFunctions, len(m.bodies))
	case m.hasStart && (m.startFunction >= m.functions() || m.values[m.functionTypes[m.startFunction]] > 0):
		return fmt.Errorf("%w: a start function that is none, or has parameters or results", ErrMalformed)
	case m.hasDataCount && int(m.dataCount) != len(m.data):
		return fmt.Errorf("%w: %d data segments are counted as %d", ErrMalformed, len(m.data), m.dataCount)
	case m.active() && len(m.memories) == 0:
		return fmt.Errorf("%w: data without a memory", ErrMalformed)
	}
	elements := int64(0)
	for _, t := range m.tables {
		elements += int64(t.limits.minimum)
		if t.limits.bounded && t.limits.maximum < t.limits.minimum {
			return fmt.Errorf("%w: a table from %d to %d", ErrMalformed, t.limits.minimum, t.limits.maximum)
		}
	}
	if elements > m.limits.TableElements {
		return &LimitError{Limit: "tableElements", Need: elements, Max: m.limits.TableElements}
	}
	for _, memory := range m.memories {
		switch l := memory.limits; {
		case l.minimum > maxPages || l.bounded && (l.maximum > maxPages || l.maximum < l.minimum):
			return fmt.Errorf("%w: a memory from %d to %d", ErrMalformed, l.minimum, l.maximum)
		case int64(l.minimum) > m.limits.MemoryPages:
			return &LimitError{Limit: "memoryPages", Need: int64(l.minimum), Max: m.limits.MemoryPages}
		}
	}
	return nil
}

// active tells whether a data segment is written when an instance begins.
func (m *module) active() bool {
	for _, d := range m.data {
		if !d.passive {
			return true
		}
	}
	return false
}

// unrestorable lists why an instance is more than its memory and globals.
func (e *emitter) unrestorable() []string {
	var reasons []string
	for _, op := range []opcode{opTableSet, opTableGrow, opTableInit, opTableCopy, opTableFill, opElemDrop, opDataDrop} {
		if function, ok := e.scan.mutations[op]; ok {
			reasons = append(reasons, fmt.Sprintf("%s in %s", op.name(), e.m.functionName(function)))
		}
	}
	names := map[byte]string{typeV128: "v128", typeFunc: "funcref", typeExtern: "externref"}
	for i, g := range e.m.globals {
		if name := names[g.valueType]; g.mutable && name != "" {
			reasons = append(reasons, fmt.Sprintf("global %d is a mutable %s", i, name))
		}
	}
	for _, i := range e.m.imports {
		if i.Kind == Memory || i.Kind == Table {
			reasons = append(reasons, fmt.Sprintf("it imports the %s %q of %q", i.Kind, i.Name, i.Module))
		}
	}
	return reasons
}

// functionName is the name of a function by its place among the module's own.
func (m *module) functionName(defined uint32) string {
	index := m.importedFunctions + defined
	if m.names != nil {
		for _, f := range m.names.functions {
			if f.index == index && f.name != "" {
				return fmt.Sprintf("function %d, %q", index, f.name)
			}
		}
	}
	return fmt.Sprintf("function %d", index)
}
