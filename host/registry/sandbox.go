package registry

import (
	"encoding/json"

	"vcphost/internal/rawjson"
)

// Isolation says what survives between two calls of a guest.
type Isolation string

// The isolations.
const (
	IsolationCall   Isolation = "call"   // restored after every call; the default
	IsolationFresh  Isolation = "fresh"  // a new instance and a new start for every call
	IsolationShared Isolation = "shared" // state survives, where the administrator allows it
)

// SandboxConfig is what a sandboxed plugin asks for. The limits always hold a
// value: the manifest's or the default that its comment names. It is a wish; what
// is granted is not in the manifest.
type SandboxConfig struct {
	Isolation        Isolation
	MemoryMiB        int64 // linear memory; default 64
	TableElements    int64 // all tables together; default 10,000
	Fuel             int64 // units of a call; 0, the default, is no budget
	MaxInputBytes    int64 // of an invocation; default 8 MiB
	MaxOutputBytes   int64 // of a payload; default 8 MiB
	MaxResources     int64 // output resources of a call; default 16
	MaxResourceBytes int64 // of all output resources of a call; default 64 MiB
	MaxLogBytes      int64 // of a call; default 64 KiB
	Permissions      []Permission
	Prepare          []PrepareCall
}

// PrepareCall is a call that warms a guest before its snapshot is taken.
type PrepareCall struct {
	// Command is the true identifier of the command; "" where the plugin has none.
	Command string
	// Arguments passed the command's input schema. A reference in them,
	// {"$resource":"file:NAME"}, names a file of the plugin's folder.
	Arguments json.RawMessage
	// Files lists the names that the arguments refer to, without "file:".
	Files []string
}

// DefaultSandbox is the configuration of a sandboxed plugin whose manifest says
// nothing.
func DefaultSandbox() SandboxConfig {
	return SandboxConfig{
		Isolation: IsolationCall, MemoryMiB: 64, TableElements: 10_000,
		MaxInputBytes: 8 << 20, MaxOutputBytes: 8 << 20,
		MaxResources: 16, MaxResourceBytes: 64 << 20, MaxLogBytes: 64 << 10,
	}
}

// Bounds of what a manifest may ask for; beyond them a number is a mistake.
const (
	mostMemoryMiB     = 4096 // all that a 32-bit guest can address
	mostTableElements = 10_000_000
	mostMessageBytes  = 1 << 30
	mostResources     = 65_536
	mostResourceBytes = 1 << 40
	mostLogBytes      = 1 << 30
)

func (r *reader) readSandbox(v value) {
	s := &r.manifest.Sandbox
	*s = DefaultSandbox()
	if !v.is(rawjson.Object) {
		return
	}
	if !r.manifest.Sandboxed() {
		v.notice(v.pointer, "has no effect: the plugin does not run as WebAssembly")
	}
	v.unknown(true, "isolation", "prepare", "memoryMiB", "tableElements", "fuel", "maxInputBytes", "maxOutputBytes",
		"maxResources", "maxResourceBytes", "maxLogBytes", "permissions")
	if isolation := oneOf(v.member("isolation"), IsolationCall, IsolationFresh, IsolationShared); isolation != "" {
		s.Isolation = isolation
	}
	limits := []struct {
		key         string
		field       *int64
		least, most int64
	}{
		{"memoryMiB", &s.MemoryMiB, 1, mostMemoryMiB},
		{"tableElements", &s.TableElements, 0, mostTableElements},
		{"fuel", &s.Fuel, 0, unbounded},
		{"maxInputBytes", &s.MaxInputBytes, 1, mostMessageBytes},
		{"maxOutputBytes", &s.MaxOutputBytes, 1, mostMessageBytes},
		{"maxResources", &s.MaxResources, 0, mostResources},
		{"maxResourceBytes", &s.MaxResourceBytes, 0, mostResourceBytes},
		{"maxLogBytes", &s.MaxLogBytes, 0, mostLogBytes},
	}
	for _, limit := range limits {
		*limit.field = v.member(limit.key).integer(span{*limit.field, limit.least, limit.most})
	}
	r.readPermissions(v.member("permissions"))
}
