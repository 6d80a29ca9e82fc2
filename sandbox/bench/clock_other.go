//go:build !unix

package main

import "time"

// processorTime is not told by this system.
func processorTime() (time.Duration, bool) { return 0, false }
