package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every verb has examples, and they are command lines that the program takes.
func TestEveryVerbHasExamplesThatParse(t *testing.T) {
	program := &Program{Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}
	verbs := 0
	var visit func(command *cobra.Command)
	visit = func(command *cobra.Command) {
		for _, below := range command.Commands() {
			visit(below)
		}
		if command.HasSubCommands() || command.Hidden {
			return
		}
		verbs++
		if command.Example == "" || command.Short == "" {
			t.Errorf("%s has no example, or does not say what it does", command.CommandPath())
		}
		for line := range strings.Lines(command.Example) {
			parse(t, program, command.CommandPath(), strings.TrimSpace(line))
		}
	}
	visit(program.command())
	if verbs < 6 {
		t.Errorf("found %d verbs", verbs)
	}
}

// parse takes an example line as far as its flags and the number of arguments.
func parse(t *testing.T, program *Program, path, line string) {
	t.Helper()
	if _, after, piped := strings.Cut(line, " | vcphost "); piped {
		line = "vcphost " + after
	}
	line, _, _ = strings.Cut(line, " | ")
	words, err := shellWords(line)
	if err != nil || len(words) == 0 || words[0] != "vcphost" {
		t.Errorf("%s: the example %q is no command line, %v", path, line, err)
		return
	}
	command, args, err := program.command().Find(words[1:])
	if err == nil {
		err = command.ParseFlags(args)
	}
	if err == nil {
		err = command.ValidateArgs(command.Flags().Args())
	}
	if err != nil || command.CommandPath() != path {
		t.Errorf("%s: the example %q calls %s, %v", path, line, command.CommandPath(), err)
	}
}

// What a plugin logs goes to stderr under its name: warnings always, the rest
// with -v.
func TestPluginsLogToStderr(t *testing.T) {
	const quiet, loud = "said in passing", "said in alarm"
	b := badInput{module: runs(`{"status":"success","data":null}`, map[uint32]string{draftAddress: quiet, lineAddress: loud},
		vcp("log", 0, draftAddress, int32(len(quiet))), vcp("log", 2, lineAddress, int32(len(loud))))}.set(t)
	for _, test := range []struct {
		args  []string
		quiet bool
	}{{b.args, false}, {append([]string{"-v"}, b.args...), true}} {
		got := invocation{args: test.args}.run(t)
		if !strings.Contains(got.stderr, loud) || !strings.Contains(got.stderr, "plugin=Bad") || strings.Contains(got.stderr, quiet) != test.quiet {
			t.Errorf("%v: stderr is\n%s", test.args, got.stderr)
		}
		if strings.Contains(got.stdout, "said") {
			t.Errorf("%v: a log is on stdout:\n%s", test.args, got.stdout)
		}
	}
}
