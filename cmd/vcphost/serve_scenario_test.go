package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

// besideServer runs do while a server runs on the data directory that an
// invocation means, started with what the invocation says of plugins, trust and
// data. Where no server comes up, do runs without one.
func (i invocation) besideServer(t *testing.T, do func()) {
	t.Helper()
	if !hasSocket || !i.asksServer() {
		do()
		return
	}
	var stdout, stderr bytes.Buffer
	server := &Program{
		Args: append([]string{"serve", "--addr", "127.0.0.1:0"}, i.settingFlags()...), Stdin: strings.NewReader(""),
		Stdout: &stdout, Stderr: &stderr, Bundled: i.bundled, LookupEnv: i.lookupEnv,
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan int, 1)
	go func() { ended <- server.Run(ctx) }()
	if i.awaitServer(t, ended) {
		do()
		stop()
		if status := <-ended; status != exitOK {
			t.Errorf("the server beside %q ends with status %d: %s", i.args, status, &stderr)
		}
		return
	}
	do()
}

func (i invocation) lookupEnv(name string) (string, bool) {
	value, ok := i.env[name]
	return value, ok
}

// asksServer reports whether the verb goes through a server if there is one.
func (i invocation) asksServer() bool {
	verbs := []string{"call", "plugin", "resource", "result", "key"}
	return slices.ContainsFunc(i.args, func(arg string) bool { return slices.Contains(verbs, arg) }) &&
		!slices.Contains(i.args, "--help") && !slices.Contains(i.args, "__complete")
}

// settingFlags are the flags among the arguments that a server has as well.
func (i invocation) settingFlags() []string {
	var flags []string
	for n, arg := range i.args {
		name, _, joined := strings.Cut(arg, "=")
		switch {
		case name != "--plugins" && name != "--trust" && name != "--data":
		case joined:
			flags = append(flags, arg)
		case n+1 < len(i.args):
			flags = append(flags, arg, i.args[n+1])
		}
	}
	return flags
}

// awaitServer waits until the server answers, and reports false if it ended
// before.
func (i invocation) awaitServer(t *testing.T, ended chan int) bool {
	t.Helper()
	// Flags are parsed by a program of its own, which is asked where its data lies.
	program := &Program{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, LookupEnv: i.lookupEnv}
	if err := program.command().ParseFlags(i.settingFlags()); err != nil {
		return false
	}
	dir, err := program.dataDir()
	if err != nil {
		return false
	}
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(2 * time.Millisecond) {
		if socketAnswers(t.Context(), dir) {
			return true
		}
		select {
		case <-ended:
			return false
		default:
		}
	}
	t.Fatal("the server does not come up")
	return false
}
