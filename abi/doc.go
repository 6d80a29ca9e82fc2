// Package abi holds the types and the rules of the VCP Tool Result Protocol 1.0:
// what a plugin returns ([Payload]), what every consumer is shown a view of
// ([Result]), and the codes, enums, limits and status rules that join the two.
//
// It depends on the standard library alone, so that a guest compiled to
// WebAssembly can use the very same types and run the very same checks
// ([CheckStatus]) before it answers.
//
// # Payload and result
//
// A plugin returns a Payload. The host checks it, adopts its resources and
// builds one Result around it. What the core owns (id, protocol, tool,
// execution, actor, origin, policy) does not exist on Payload, so a plugin
// cannot forge it; what only the host may know (local paths) does not exist on
// [Resource], so no view can leak it.
//
// # Immutability
//
// A Result is read-only once the host has built it. It is shared by presenters
// that run side by side; whoever needs another shape makes a copy.
//
// # Raw JSON
//
// Business data is [encoding/json.RawMessage] all the way: it is checked and
// walked, and references in it are rewritten, but it is not decoded into maps.
package abi

// ProtocolName is the name under which the result protocol goes in every
// result, manifest and negotiation.
const ProtocolName = "vcp.tool-result"

// ProtocolVersion is the one version of the protocol that this module speaks.
const ProtocolVersion = "1.0"

// Protocol names a protocol and its version (§5.3).
type Protocol struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// CurrentProtocol is the protocol value of every result made by this module.
func CurrentProtocol() Protocol {
	return Protocol{Name: ProtocolName, Version: ProtocolVersion}
}
