// Package identity tells who calls: it makes, keeps, revokes and checks the API
// keys of the server.
//
// A secret reads vcp_<ULID>_<43 characters> and is shown once, when its key is
// made. The ULID is that of the key's id; the characters are 256 bits from
// crypto/rand in the URL alphabet of base 64. Because a secret is random in full,
// one SHA-256 of it, without salt or stretching, is all that is kept.
//
// Promises:
//
//   - [Store.Authenticate] reads no disk and takes no lock: it looks into an
//     immutable snapshot in memory, which every change replaces as a whole. A key
//     is refused by every check that begins after [Store.Revoke] was called and
//     changed the snapshot, also where the store then cannot be written.
//   - Secrets are compared by their hashes in constant time. An unknown key costs
//     the same comparison as a known one. That a key was revoked or has expired
//     learns only who has its secret.
//   - No secret and no hash is in a [Key], an [Identity], an error, a log line or
//     the output of fmt.
//   - Access is denied by default: [Scopes] allow what they list and nothing else.
//
// # Key schema
//
//	key/<key id>                           a key
//
// The value is one JSON object with the format version "v", now 1: what [Key]
// has, and the SHA-256 of the secret. A reader refuses versions that it does not
// know, so a change that old rows do not satisfy takes the next number. Revoked
// and expired keys stay, until [MaxKeys] forces the oldest of them out.
package identity
