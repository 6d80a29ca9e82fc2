//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime is what this process and the children that it has waited for
// have used of all processors, false where the system does not tell.
func processorTime() (time.Duration, bool) {
	var total int64
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var used syscall.Rusage
		if syscall.Getrusage(who, &used) != nil {
			return 0, false
		}
		total += used.Utime.Nano() + used.Stime.Nano()
	}
	return time.Duration(total), true
}
