// Command vcphost runs AI-tool plugins that nobody has reason to trust in a
// WebAssembly sandbox and prints what each call came to as one validated
// Canonical Tool Result.
//
// Exit status: 0 for a result of status success, partial or accepted; 1 for any
// other result; 2 where there is none.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"vcphost/examples"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal cancels the call; from then on signals act as usual, so
	// that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	program := &Program{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, LookupEnv: os.LookupEnv,
		Environ: os.Environ(),
		Bundled: examples.Bundled(),
	}
	if self, err := os.Executable(); err == nil {
		program.Compile = []string{self, compileVerb}
	}
	os.Exit(program.Run(ctx))
}
