package sandbox

import (
	"encoding/json"

	"vcphost/sandbox/wasmbin"
)

const (
	pageBytes = 64 << 10
	mebibyte  = 1 << 20
)

// Limits of a plugin; a zero field means its default.
type Limits struct {
	MemoryMiB      int   // linear memory; default 64
	TableElements  int   // all tables together; default 10,000
	Fuel           int64 // units of one call; 0 is no budget but the deadline
	MaxInputBytes  int64 // the invocation; default 8 MiB
	MaxOutputBytes int64 // the payload; default 8 MiB
	MaxLogBytes    int   // all lines of one call; default 64 KiB, below zero none
}

func (l Limits) withDefaults() Limits {
	if l.MemoryMiB <= 0 {
		l.MemoryMiB = 64
	}
	if l.TableElements <= 0 {
		l.TableElements = 10_000
	}
	if l.MaxInputBytes <= 0 {
		l.MaxInputBytes = 8 * mebibyte
	}
	if l.MaxOutputBytes <= 0 {
		l.MaxOutputBytes = 8 * mebibyte
	}
	return l
}

// binary gives the limits that hold before a module is compiled.
func (l Limits) binary() wasmbin.Limits {
	return wasmbin.Limits{
		MemoryPages:   int64(l.MemoryMiB) * (mebibyte / pageBytes),
		TableElements: int64(l.TableElements),
	}
}

// Isolation says what survives between two calls of a plugin.
type Isolation string

// The isolations. A module that cannot be restored is run as if it asked for
// IsolationFresh; [Plugin.Unrestorable] says why.
const (
	IsolationCall   Isolation = "call"   // memory and globals are put back after every call; the default
	IsolationFresh  Isolation = "fresh"  // every call has an instance that was started for it
	IsolationShared Isolation = "shared" // what one call leaves, the next one finds
)

// Prepare is a call that warms a guest before its snapshot is taken. While it
// runs, the host functions are inert: the guest's store is empty and forgotten,
// its resources are thrown away.
type Prepare struct {
	Command   string
	Arguments json.RawMessage
	// Files are what the arguments refer to as {"$resource":"file:NAME"}, by NAME.
	Files map[string][]byte
}

// Module is what a plugin brings and what it was granted.
type Module struct {
	Name      string // of the plugin
	Binary    []byte
	Limits    Limits
	Isolation Isolation // "" means IsolationCall
	Prepare   []Prepare
	Config    map[string]string // values that it may read; nil when not granted
	KVBytes   int64             // quota of its store in bytes; 0 when not granted
}
