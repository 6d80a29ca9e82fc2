//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestInterruptibleReadsEverything(t *testing.T) {
	want := strings.Repeat("0123456789", 100_000)
	got, err := io.ReadAll(&interruptible{ctx: t.Context(), from: strings.NewReader(want)})
	if err != nil || string(got) != want {
		t.Errorf("read %d bytes, %v; want %d", len(got), err, len(want))
	}
}

// TestTheFirstInterruptEndsACallThatWaitsForInput holds standard input and a
// named pipe open without ever writing to them.
func TestTheFirstInterruptEndsACallThatWaitsForInput(t *testing.T) {
	silent, writer := io.Pipe()
	defer writer.Close()
	for _, test := range []struct {
		name string
		args []string
	}{
		{"standard input", []string{"call", "Any", "--json", "-"}},
		{"named pipe", []string{"call", "Any", "--input", "data=@" + namedPipe(t)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancelCause(t.Context())
			time.AfterFunc(300*time.Millisecond, func() { interrupt(errors.New("SIGINT")) })
			var stderr bytes.Buffer
			program := &Program{
				Args: append(test.args, "--data", t.TempDir()), Stdin: silent, Stdout: io.Discard, Stderr: &stderr,
				LookupEnv: func(string) (string, bool) { return "", false },
			}
			status := make(chan int, 1)
			go func() { status <- program.Run(ctx) }()
			select {
			case got := <-status:
				if got != exitNoResult || !strings.Contains(stderr.String(), "context canceled") {
					t.Errorf("exit status %d, %s", got, stderr.String())
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the call goes on waiting")
			}
		})
	}
}

func namedPipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
