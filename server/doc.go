// Package server is the HTTP server: one door through which people and programs
// call tools. It owns Fiber, listeners and their limits, and stopping; what the
// routes do is in package api below it, who may is in package identity.
//
// A connection that waits for its next request for more than a second is parked:
// it keeps its place and its idle time, and nothing else of what serving takes.
package server
