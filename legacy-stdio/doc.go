// Package legacystdio is the home of child-process plugins, in Python, Node or
// native code: one-shot over stdio, and resident ("direct"). For the host they
// are a transport like the sandbox: an invocation in, one reply out, and the
// conformance suite of package hosttest to pass.
//
// What such a plugin needs to be known by is here; a manifest that names one of
// [EntryTypes] loads, is listed and can be inspected, and a call of it is
// answered TOOL_DISABLED with details.reason "unsupported" wherever no
// transport is registered for it.
package legacystdio

import "slices"

// EntryType is a value of the manifest's entryPoint.type that means a child
// process.
type EntryType string

// The entry types of child processes.
const (
	Python EntryType = "python"
	NodeJS EntryType = "nodejs"
	Native EntryType = "native"
)

// EntryTypes lists every entry type that means a child process.
func EntryTypes() []EntryType { return []EntryType{Python, NodeJS, Native} }

// IsChildProcess reports whether plugins of this entryPoint.type run as child
// processes, which are confined only as far as the system allows, and so need
// to be trusted by name.
func IsChildProcess(entryPointType string) bool {
	return slices.Contains(EntryTypes(), EntryType(entryPointType))
}
