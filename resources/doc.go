// Package resources keeps the bytes of calls: what a plugin produces, what a
// user uploads, and the descriptors by which both are known (VCP Tool Result
// Protocol 1.0 §7).
//
// # Promises
//
// Bytes are streamed: they are counted against the limits of the call before
// they are stored, hashed and sniffed on the way, and never whole in memory.
// What a call finished becomes readable all at once, when its session is
// published; what it left unfinished, and everything of a call that failed,
// leaves nothing behind, not even after a crash. The facts of a descriptor
// (size, hash, media type, dimensions) come from the bytes; the words (name,
// role, metadata) come from the plugin and are cleaned.
//
// Content is stored once: resources with the same SHA-256 share their bytes and
// nothing else. Each has an id, an owner and a descriptor of its own, and
// [abi.Viewer.MayRead] decides on each alone; a foreign resource answers like an
// absent one.
//
// Published means visible and atomic, not synced to the disk: whoever needs that
// calls Sync of the database once for the whole call.
//
// # Key schema
//
// One process owns the database. All values but the empty ones are JSON with a
// format version "v"; a reader refuses versions that it does not know, and a
// change that old rows do not satisfy takes the next version.
//
//	res/d/<resource id>            descriptor, owner, id of the blob, time
//	res/s/<sha256>/<resource id>   id of the blob: who shares this content
//	res/p/<blob id>                empty: bytes that no published resource owns yet
//
// A blob has its res/p row from the batch that completes it to the batch that
// publishes or deletes it, so that [Open] finds what a dead process left.
package resources
