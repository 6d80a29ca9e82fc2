// Package limit bounds how much of the server's work runs at a time, and how
// much of it one key may have.
//
// # What it promises
//
// Two bounds are a key's own, and a request beyond them is answered at once with
// 429 and Retry-After: so many requests a second with a burst, and so many at a
// time, those that wait included.
//
// One bound is the server's: so many requests at a time over all keys. A request
// that finds the server full waits. Those that wait are let in key by key, in
// turn, and within a key in the order in which they came: a key with a thousand
// waiting requests delays another by one of its own, not by a thousand. Waiting
// is bounded in number, for each key and in total, and in time; what does not
// get in is answered with 503 and Retry-After.
//
// A place that was given is given back exactly once, whatever happens: a caller
// that goes away while it waits neither keeps a place nor loses one.
//
// What is known of a key is forgotten when none of its requests is here and its
// bucket is full again, which is when forgetting makes no difference.
package limit
