package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"
)

// Exit statuses of a process that compiles.
const (
	childDone    = 0
	childThrown  = 2 // of Go's run-time, which found no memory or no more stack
	childMisused = 70
	childInvalid = 71
	childMemory  = 72
	childTime    = 73
	childSize    = 74
	childStorage = 75
	childCrashed = 76
)

// ChildMain is the main function of a process that compiles one module for a
// [Cache] (see [CacheOptions.Command]) and returns its exit status. args are
// those that follow the command: the directory for the compiled form, the length
// of the module, and the limits of memory, processor time and the compiled form,
// in bytes and seconds. The module is read from stdin, and what is wrong
// with it is written to stderr. It sets limits on the process for good and ends
// it when stdin ends, and so must be all that the process does.
func ChildMain(args []string, stdin io.Reader, stderr io.Writer) int {
	dir, limits, err := parseChild(args)
	if err == nil {
		err = confine(limits, func(status int) { os.Exit(status) })
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return childMisused
	}
	binary := make([]byte, limits.module)
	if _, err := io.ReadFull(stdin, binary); err != nil {
		fmt.Fprintln(stderr, "read the module:", err)
		return childMisused
	}
	if pipe, ok := stdin.(*os.File); ok {
		go func() {
			_, _ = io.Copy(io.Discard, pipe)
			os.Exit(childCrashed) // nobody waits any more
		}()
	}
	go watchMemory(limits.memory, func() { os.Exit(childMemory) })
	status, said := compileChild(dir, binary)
	if said != "" {
		fmt.Fprintln(stderr, said)
	}
	return status
}

func parseChild(args []string) (dir string, limits childLimits, err error) {
	fields := limits.fields()
	if len(args) != 1+len(fields) {
		return "", limits, errors.New("this compiles a module for the host, which starts it, and takes a directory and four numbers")
	}
	for i, field := range fields {
		if *field, err = strconv.ParseInt(args[1+i], 10, 64); err != nil || *field < min(1, int64(i)) {
			return "", limits, fmt.Errorf("%q is no length and no limit", args[1+i])
		}
	}
	if limits.module > maxModule {
		return "", limits, fmt.Errorf("a module of %d bytes is too long", limits.module)
	}
	return args[0], limits, nil
}

// maxModule is more than the format allows: its sections have lengths of 32 bits.
const maxModule = 1 << 31

// compileChild compiles and says how it went.
func compileChild(dir string, binary []byte) (status int, said string) {
	defer func() {
		if broken := recover(); broken != nil {
			status, said = childCrashed, fmt.Sprint("panic: ", broken)
			if err, ok := broken.(error); ok && isMemory(err) {
				status = childMemory
			}
		}
	}()
	err := compileInto(context.Background(), dir, binary)
	switch {
	case err == nil:
		return childDone, ""
	case isMemory(err):
		status = childMemory
	case isSize(err):
		status = childSize
	case isStorage(err):
		status = childStorage
	default:
		status = childInvalid
	}
	return status, detail(err.Error())
}

// Settings of Go's run-time in a process that compiles.
const (
	// childProcs lets the garbage collector run beside the compiler, which is one
	// goroutine.
	childProcs = 2
	// watchEvery is how often the memory is looked at.
	watchEvery = 5 * time.Millisecond
)

// tune fits the run-time to a short life within a limit of memory.
func tune(memory int64) {
	runtime.GOMAXPROCS(min(childProcs, runtime.GOMAXPROCS(0)))
	debug.SetMemoryLimit(memory / 8 * 7)
	// The stack doubles by copying, so that twice this is what it may take.
	debug.SetMaxStack(int(memory / 4))
}

// watchMemory calls over when the run-time holds more memory than allowed. It
// never returns.
func watchMemory(allowed int64, over func()) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	for ticker := time.NewTicker(watchEvery); ; <-ticker.C {
		metrics.Read(samples)
		if used := samples[0].Value.Uint64() - samples[1].Value.Uint64(); int64(used) > allowed {
			over()
		}
	}
}
