package wasmbin

import "fmt"

// Limits bound what a module may hold. They are held against the binary before
// an engine sees it, since an engine allocates and compiles in proportion. Zero
// in a field means its default. The names in a [LimitError] are those of the
// fields, in lower camel case.
type Limits struct {
	ModuleBytes int64 // the whole binary; 128 MiB
	Types       int64 // function types; 1,000,000
	Params      int64 // parameters, and results, of one type; 1,000
	Imports     int64 // imports of every kind; 100,000
	Functions   int64 // functions that the module defines; 1,000,000
	Tables      int64 // tables that the module defines or imports; 64
	// TableElements bounds the elements of all tables together at the start, and
	// those to which each table may grow: tables lie outside the linear memory. 10,000,000.
	TableElements int64
	// MemoryPages bounds the memory in pages of 64 KiB: at the start, and with a
	// virtual size also later; 65,536.
	MemoryPages   int64
	Globals       int64 // globals that the module defines; 1,000,000
	Exports       int64 // 1,000,000
	Segments      int64 // data segments, and element segments; 100,000
	Elements      int64 // elements in all segments together; 10,000,000
	FunctionBytes int64 // the body of one function; 7,654,321
	Locals        int64 // locals of one function beside its parameters; 50,000
	Nesting       int64 // blocks within one another in a function; 50,000
}

// The defaults are mostly the limits of the WebAssembly JavaScript interface,
// which toolchains keep to since browsers enforce them.
func (l Limits) withDefaults() Limits {
	for _, field := range []struct {
		value    *int64
		standard int64
	}{
		{&l.ModuleBytes, 128 << 20}, {&l.Types, 1_000_000}, {&l.Params, 1_000}, {&l.Imports, 100_000},
		{&l.Functions, 1_000_000}, {&l.Tables, 64}, {&l.TableElements, 10_000_000}, {&l.MemoryPages, maxPages},
		{&l.Globals, 1_000_000}, {&l.Exports, 1_000_000}, {&l.Segments, 100_000}, {&l.Elements, 10_000_000},
		{&l.FunctionBytes, 7_654_321}, {&l.Locals, 50_000}, {&l.Nesting, 50_000},
	} {
		if *field.value == 0 {
			*field.value = field.standard
		}
	}
	return l
}

// maxPages is the size of a memory of 32 bits, in pages.
const maxPages = 65_536

// LimitError tells which limit a module is over. It is an [ErrLimit].
type LimitError struct {
	Limit     string // the field of [Limits] in lower camel case, or "bytes in a name"
	Need, Max int64
}

// Error names the limit, what the module needs and what is allowed.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %s is %d, and %d is allowed", ErrLimit, e.Limit, e.Need, e.Max)
}

// Is makes every LimitError an [ErrLimit].
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// UnsupportedError tells that a module uses a feature beyond version 2.0 of the
// core specification, or one that the rewriter does not carry through.
type UnsupportedError struct {
	Feature string // such as "threads", the name of the proposal
}

// Error names the feature.
func (e *UnsupportedError) Error() string {
	return "a WebAssembly binary that uses " + e.Feature + ", which is not supported"
}

// The features that are refused.
const (
	featureThreads       = "threads"
	featureExceptions    = "exceptions"
	featureTailCalls     = "tail calls"
	featureGC            = "typed references or garbage collection"
	featureMultiMemory   = "multiple memories"
	featureMemory64      = "64-bit memories or tables"
	featureExtendedConst = "extended constant expressions"
	featureRelaxedSIMD   = "relaxed SIMD"
	featureUnknown       = "an unknown instruction"
)
