// Package rawjson checks, walks and rewrites JSON as the bytes it is, without
// decoding it into maps, so that numbers keep their spelling, members their
// order, and a document of megabytes costs no tree of values.
//
// Check decides whether bytes may enter the program at all: exactly the grammar
// of RFC 8259, and beyond it valid UTF-8, no lone surrogate in an escape, no two
// members of one object with the same name, and bounds on size and depth. It
// never recurses, so no input can exhaust the stack.
//
// Everything else in the package expects bytes that passed Check. On other
// bytes it neither panics nor loops, but what it returns means nothing. No
// function writes into the bytes it is given; the values it hands out are
// sub-slices of them without surrounding white space, and keys are copies.
// All functions are safe for concurrent use on the same bytes.
package rawjson

import "fmt"

// Limits used where a Limits field is zero.
const (
	DefaultMaxBytes = 64 << 20
	DefaultMaxDepth = 64
)

// Limits bounds what Check accepts. The zero value means the defaults.
type Limits struct {
	// MaxBytes is the longest document, in bytes; zero means DefaultMaxBytes.
	MaxBytes int
	// MaxDepth is how many arrays and objects may lie in one another; a scalar
	// has depth 0, [] has depth 1. Zero means DefaultMaxDepth.
	MaxDepth int
}

func (l Limits) withDefaults() Limits {
	if l.MaxBytes <= 0 {
		l.MaxBytes = DefaultMaxBytes
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = DefaultMaxDepth
	}
	return l
}

// Reason says which rule a document breaks.
type Reason string

// The reasons of an Error.
const (
	ReasonSyntax       Reason = "syntax"       // not JSON
	ReasonUTF8         Reason = "utf8"         // not UTF-8, or a lone surrogate escape
	ReasonDuplicateKey Reason = "duplicateKey" // two members of one name
	ReasonDepth        Reason = "depth"        // nested deeper than Limits.MaxDepth
	ReasonSize         Reason = "size"         // longer than Limits.MaxBytes
)

// Error is what Check returns for a document it refuses.
type Error struct {
	Reason Reason
	// Offset is the position of the offence in bytes from the start.
	Offset int
	// Pointer is the RFC 6901 pointer of the value where the offence lies, as
	// far as the text before it tells; "" is the root.
	Pointer string
	// Detail says in a few words what is wrong.
	Detail string
}

// Error returns one line with everything the fields say.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("%s at byte %d", e.Detail, e.Offset)
	}
	return fmt.Sprintf("%s at byte %d (%q)", e.Detail, e.Offset, e.Pointer)
}

// Kind is the type of a JSON value.
type Kind uint8

// The kinds of values. Invalid is the kind of bytes that begin no JSON value.
// (The function that reads a string is Unquote, since String is a kind.)
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String returns the name that JSON Schema has for the kind: "null", "boolean",
// "number", "string", "array", "object"; "invalid" for any other.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "invalid"
}

// KindOf returns the kind of the value that raw begins with, leading white
// space aside. It looks at one byte only.
func KindOf(raw []byte) Kind {
	i := skipSpace(raw, 0)
	if i == len(raw) {
		return Invalid
	}
	switch c := raw[i]; c {
	case 'n':
		return Null
	case 't', 'f':
		return Bool
	case '"':
		return String
	case '[':
		return Array
	case '{':
		return Object
	default:
		if c == '-' || '0' <= c && c <= '9' {
			return Number
		}
		return Invalid
	}
}
