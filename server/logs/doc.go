// Package logs makes the log of a server: one JSON object a line, in which no
// secret ever stands.
//
// # Promises
//
// [Mask] wraps any [slog.Handler]. What it passes on has "***" in place of
//
//   - the value of an attribute whose name speaks of a secret: authorization,
//     secret, token, password, cookie and the like, in any spelling;
//   - API keys (vcp_…) and the values of Bearer and Basic credentials in every
//     text: messages, names, values, errors, and what lies in structures;
//   - texts that it was told of, such as a key from the environment.
//
// An attribute that tells of a key without being one, such as keyId, is left.
package logs
