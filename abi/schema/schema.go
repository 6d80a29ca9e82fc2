// Package schema holds the documents that describe the VCP Tool Result Protocol
// 1.0 to other programs: JSON Schemas (2020-12) of what a plugin returns, of what
// the host makes of it, of a plugin's manifest and of a resource reference, and
// the table of error codes.
//
//	payload.schema.json   Plugin Result Payload (§5.2)
//	result.schema.json    Canonical Tool Result (§5.3)
//	manifest.schema.json  plugin-manifest.json (§9.3, §15)
//	resource.schema.json  Resource Reference (§5.6), known by the URI ResourceURI
//	codes.json            [{"code","category","retryable","hostOnly"}, …] (§6.3)
//
// The Go types of package abi are the same contract; tests hold the two against
// each other in both directions. References in the documents stay within the
// document, so each can be used alone. Where a rule cannot be stated in a schema
// (unique draft ids, limits in bytes, which status a plugin may use when), the
// document is the weaker of the two.
package schema

import (
	"bytes"
	_ "embed"
)

// ResourceURI is the name under which schemas refer to the schema of a resource
// reference: {"$ref":"vcp:resource"}. It is resolved from memory.
const ResourceURI = "vcp:resource"

var (
	//go:embed payload.schema.json
	payload []byte
	//go:embed result.schema.json
	result []byte
	//go:embed manifest.schema.json
	manifest []byte
	//go:embed resource.schema.json
	resource []byte
	//go:embed codes.json
	codes []byte
)

// Payload returns a copy of the schema of a Plugin Result Payload. It leaves out
// what depends on which answer of a plugin it is (§10).
func Payload() []byte { return bytes.Clone(payload) }

// Result returns a copy of the schema of a Canonical Tool Result.
func Result() []byte { return bytes.Clone(result) }

// Manifest returns a copy of the schema of a plugin's manifest. A manifest with
// toolResultProtocol is held to more than one without. Members that the schema
// does not name are allowed, except inside sandbox.
func Manifest() []byte { return bytes.Clone(manifest) }

// Resource returns a copy of the schema that ResourceURI names.
func Resource() []byte { return bytes.Clone(resource) }

// Codes returns a copy of the table of error codes, a JSON array in the order of
// §6.3 with the host's own codes after it.
func Codes() []byte { return bytes.Clone(codes) }
