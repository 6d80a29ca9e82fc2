// Package record is the canonical store of results (VCP Tool Result Protocol 1.0
// §5.3): what was kept is read back whole, as the very bytes it was kept as.
//
// A result belongs to its owner, and [abi.Viewer.MayRead] decides who else may
// read it; a foreign result answers like an absent one. Results live for a
// retention period and then go, together with nothing else: resources have a
// life of their own.
//
// # Key schema
//
//	rec/r/<result id>                      header, line feed, result
//	rec/t/<time>/<result id>               id of the blob, empty if inline
//
// The header is one line of JSON: format version "v", owner, time, size in bytes,
// and the id of the blob that holds the result where it is too long to follow
// inline. The result is its canonical JSON, byte for byte. <time> is when it was
// kept, in milliseconds since 1970 as 16 hexadecimal digits, so that the oldest
// come first and expiry reads no further than it deletes. A reader refuses
// versions that it does not know.
package record
