//go:build !race

package engine

// raced tells that the race detector is on.
const raced = false
