// Package validate decides whether JSON may pass: schemas of plugins, arguments
// against their inputSchema, adopted data against its outputSchema, manifests,
// and the payloads that plugins return.
//
// It promises that nothing it is given can hang it, take it down or make it
// reach out: schemas and instances both come from strangers. A schema is checked
// keyword by keyword before it is compiled; references stay within the document
// or name vcp:resource, and nothing is ever loaded. A validation has a budget of
// work, so that a schema that doubles its work with every level is an error of
// the plugin and not an outage of the host. A refusal names the place as a JSON
// pointer, what was expected and what came.
//
// # JSON Schema
//
// The dialect is 2020-12. format is asserted; contentEncoding, contentMediaType
// and contentSchema are annotations, as the specification has it. Refused, so
// that no constraint is silently dropped: an unknown format, $dynamicRef and
// $dynamicAnchor, an $id below the root, keywords that only older dialects know,
// a pattern that RE2 cannot express, and a reference that comes back to itself
// without going down into the value.
//
// Numbers of any precision are compared exactly, but one with more than a
// thousand digits, or an exponent beyond a thousand, is refused: taking it apart
// would cost more than any plugin may ask for.
//
// # Details of an error
//
// The details of every error that this package makes are
//
//	{"pointer","expected","got","offset"?,"problems":[{"pointer","keyword","expected","got"}]?}
//
// where offset is a position in bytes in a text that is no JSON, and problems
// lists what else is wrong. Values in got are cut at 80 code points.
package validate
