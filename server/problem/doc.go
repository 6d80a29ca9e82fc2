// Package problem holds the answers of the server that are not tool results, as
// application/problem+json (RFC 9457).
//
// The type of a problem is stable: a program may branch on it. It is a relative
// reference below /problems/, and [Kinds] is the table of all of them, with the
// one status and the one title that each has. Everything else is for people, and
// may change.
//
// # Wire form
//
//	{
//	  "type": "/problems/invalid-json",
//	  "title": "The body is not valid JSON",
//	  "status": 400,
//	  "detail": "duplicate member \"a\" at byte 17",
//	  "instance": "/v1/human/tool",
//	  "requestId": "req_01JDZ3V7Q8K5M2N4P6R8T0W2Y4",
//	  "pointer": "/arguments/a"
//	}
//
// type, title and status are always there, the others where there is something
// to say. "retryAfterSeconds" tells when a refused request may be tried again;
// other members depend on the type and come after these, sorted.
//
// A problem never repeats a secret, an internal cause or a path of the machine:
// [Internal] and [Unauthorized] take no detail, so that none can slip in.
package problem
