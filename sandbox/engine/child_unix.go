//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// separate gives a process a group of its own, so that signals meant for the
// host's do not reach it, and lets the end of its context end the group.
func separate(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error {
		err := syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

// niceness lets calls that run beside a compilation go first.
const niceness = 5

// confine sets the limits of this process, for good. When the processor time is
// over, the system says so by a signal, and a second later without a word.
func confine(limits childLimits, exit func(status int)) error {
	over := make(chan os.Signal, 1)
	signal.Notify(over, syscall.SIGXCPU)
	go func() {
		<-over
		exit(childTime)
	}()
	signal.Ignore(syscall.SIGXFSZ) // the write fails instead
	closeInherited()
	tune(limits.memory)
	memory, seconds, file := uint64(limits.memory), uint64(limits.seconds), uint64(limits.file)
	if syscall.Getpgrp() == os.Getpid() { // of all threads, which the group has and the process has not
		_ = syscall.Setpriority(syscall.PRIO_PGRP, 0, niceness)
	}
	errs := []error{
		lower(syscall.RLIMIT_CORE, 0, 0),
		lower(syscall.RLIMIT_CPU, seconds, seconds+1),
		lower(syscall.RLIMIT_FSIZE, file, file),
	}
	if held, ok := dataHeld(); ok {
		errs = append(errs, lower(syscall.RLIMIT_DATA, held+memory, held+memory))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("limit the process that compiles: %w", err)
	}
	return nil
}

// isMemory tells a system call that found no memory.
func isMemory(err error) bool { return errors.Is(err, syscall.ENOMEM) }

// isSize tells a file that would become larger than allowed.
func isSize(err error) bool { return errors.Is(err, syscall.EFBIG) }

// lower sets a limit, or leaves a lower one.
func lower(what int, soft, maximum uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(what, &limit); err != nil {
		return err
	}
	atMost(&limit.Cur, min(soft, maximum))
	atMost(&limit.Max, maximum)
	return syscall.Setrlimit(what, &limit)
}

// atMost lowers a field, whose type is not the same on all systems.
func atMost[T int64 | uint64](field *T, value uint64) { *field = T(min(uint64(*field), value)) }
