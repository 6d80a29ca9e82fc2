//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package engine

import "os/exec"

// separate leaves a process as it is: only the process itself is ended.
func separate(*exec.Cmd) {}

// confine has no limits of the system's to set: the process watches its memory,
// and the host its time.
func confine(limits childLimits, _ func(status int)) error {
	tune(limits.memory)
	return nil
}

// isMemory: the run-time notices first.
func isMemory(error) bool { return false }

// isSize: the host looks at the file once it is whole.
func isSize(error) bool { return false }
