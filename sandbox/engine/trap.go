package engine

import (
	"errors"
	"strings"

	"github.com/tetratelabs/wazero/sys"
)

// Exit is the error by which a guest ends itself: what proc_exit panics with.
func Exit(code uint32) error { return sys.NewExitError(code) }

// ExitCode tells the code that a guest ended itself with, false where err is of
// another kind.
func ExitCode(err error) (code uint32, ok bool) {
	var exit *sys.ExitError
	if !errors.As(err, &exit) {
		return 0, false
	}
	return exit.ExitCode(), true
}

// TrapStackOverflow is how the engine names the one trap that has a code of its
// own. It keeps its trap errors to itself, so their text is all there is; a test
// provokes a real overflow and fails if the text ever changes.
const TrapStackOverflow = "stack overflow"

// Trap gives the name of the trap, or the text of the error, at the bottom of
// the chain.
func Trap(err error) string {
	for {
		switch wrapped := err.(type) {
		case interface{ Unwrap() error }:
			if next := wrapped.Unwrap(); next != nil {
				err = next
				continue
			}
		case interface{ Unwrap() []error }:
			if all := wrapped.Unwrap(); len(all) > 0 {
				err = all[0]
				continue
			}
		}
		line, _, _ := strings.Cut(err.Error(), "\n")
		return line
	}
}

const maxStackFrames = 16

// Stack lists the guest's functions that were running, innermost first, as the
// error of a call tells them. It holds nothing of the host's own stack.
func Stack(err error) []string {
	_, trace, found := strings.Cut(err.Error(), "wasm stack trace:\n")
	frames := []string{}
	if !found {
		return frames
	}
	for line := range strings.Lines(trace) {
		frame, isFrame := strings.CutPrefix(line, "\t")
		if !isFrame || len(frames) == maxStackFrames {
			break
		}
		if name, _, _ := strings.Cut(strings.TrimSpace(frame), "("); name != "" && !strings.HasPrefix(name, "0x") {
			frames = append(frames, strings.TrimPrefix(name, "."))
		}
	}
	return frames
}
