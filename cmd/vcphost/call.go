package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"vcphost/abi"
	"vcphost/host/registry"
	"vcphost/internal/rawjson"
)

// callFlags are the flags of the verb call.
type callFlags struct {
	json          string
	inputs        []string
	view          string
	maxCharacters int
	out           string
	timeout       time.Duration
}

func (p *Program) callCommand() *cobra.Command {
	var flags callFlags
	command := &cobra.Command{
		Use:   "call TOOL[.COMMAND] [name=value …]",
		Short: "Call a tool and print the canonical result",
		Long: `Call a tool and print its Canonical Tool Result as JSON, or the view that a
model would see as Markdown. Logs and progress go to standard error.

Exit status: 0 for success, partial and accepted, 1 for any other result,
2 where there is none, or where its resources could not be written to --out.`,
		Example: `  vcphost call CsvChart.Plot --input data=@prices.csv column=close --out out
  vcphost call ScheduleManager.AddSchedule time=2026-07-12T10:00:00+08:00 content="Project meeting"
  vcphost call ScheduleManager --json '{"command":"ListSchedules"}' --view ai
  echo '{"command":"ListSchedules"}' | vcphost call ScheduleManager --json -`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: p.completeTool,
		RunE: func(command *cobra.Command, args []string) error {
			return p.call(command.Context(), args[0], args[1:], flags)
		},
	}
	set := command.Flags()
	set.StringVar(&flags.json, "json", "", `the whole arguments object, "-" reads it from standard input`)
	set.StringArrayVar(&flags.inputs, "input", nil, "name=@FILE: store a file as a resource and pass a reference to it; repeatable")
	set.StringVar(&flags.view, "view", "canonical", "canonical or ai")
	set.IntVar(&flags.maxCharacters, "max-characters", 0, "budget of the ai view in code points (default 30000)")
	set.StringVar(&flags.out, "out", "", "write the result's resources into this directory")
	set.DurationVar(&flags.timeout, "timeout", 0, "shorten the call's deadline, such as 5s")
	return command
}

func (f callFlags) check() error {
	switch {
	case f.view != "canonical" && f.view != "ai":
		return usage("--view %q is neither canonical nor ai", f.view)
	case f.maxCharacters < 0:
		return usage("--max-characters %d is negative", f.maxCharacters)
	case f.timeout < 0 || f.timeout > 0 && f.timeout < time.Millisecond:
		return usage("--timeout %v is shorter than a millisecond", f.timeout)
	}
	return nil
}

func (p *Program) call(ctx context.Context, tool string, args []string, flags callFlags) (err error) {
	if err := flags.check(); err != nil {
		return err
	}
	pairs, err := parsePairs(args)
	if err != nil {
		return err
	}
	inputs, err := parseInputs(flags.inputs, pairs)
	if err != nil {
		return err
	}
	arguments, err := baseArguments(flags.json, &interruptible{ctx: ctx, from: p.Stdin})
	if err != nil {
		return err
	}
	out, err := openOut(flags.out)
	if err != nil {
		return err
	}
	defer out.close()
	app, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.close(context.WithoutCancel(ctx))) }()

	arguments = withPairs(arguments, pairs, app.inputTypes(tool, arguments, pairs))
	if arguments, err = app.withInputs(ctx, arguments, inputs); err != nil {
		return err
	}
	result := app.host.Execute(ctx, p.localCall(tool, arguments, flags.timeout))
	if !result.Status.OK() {
		p.status = exitResult
	}
	// The plugin has done its work: its result is printed whatever else fails.
	written := app.writeResources(ctx, result, out, p.Stderr)
	return errors.Join(p.printResult(result, flags.view, flags.maxCharacters), written)
}

// localCall is the call as the command line makes it.
func (p *Program) localCall(tool string, arguments []byte, timeout time.Duration) *abi.Call {
	owner := localOwner()
	return &abi.Call{
		Tool: tool, Arguments: arguments, Options: abi.CallOptions{TimeoutMs: timeout.Milliseconds()},
		Context: abi.CallContext{
			Owner: owner, Source: abi.FromCLI,
			Actor:    &abi.Actor{Type: abi.ActorUser, ID: &owner.Actor, Name: &owner.Actor},
			Progress: p.printProgress,
		},
	}
}

func (p *Program) printProgress(event abi.Progress) {
	fraction := ""
	if event.Progress != nil {
		fraction = fmt.Sprintf(" %3.0f%%", *event.Progress*100)
	}
	fmt.Fprintf(p.Stderr, "progress: %s%s %s\n", printable(event.Stage), fraction, printable(event.Message))
}

// inputTypes tells what the schema of the command that is being called says of
// an argument.
func (a *application) inputTypes(tool string, arguments []byte, pairs []pair) func(string) registry.Input {
	plugin, command, ok := a.registry.Snapshot().Resolve(tool)
	if !ok {
		return func(string) registry.Input { return registry.Input{} }
	}
	if command == "" {
		command = chosenCommand(arguments, pairs)
	}
	return func(name string) registry.Input { return plugin.InputType(command, name) }
}

func chosenCommand(arguments []byte, pairs []pair) string {
	for _, p := range pairs {
		if p.name == "command" {
			return p.value
		}
	}
	if rawjson.Check(arguments, rawjson.Limits{}) != nil {
		return ""
	}
	value, _ := rawjson.At(arguments, "/command")
	command, _ := rawjson.Unquote(value)
	return command
}

// maxImportBytes bounds one file that the command line hands to a plugin.
const maxImportBytes = 4 << 30

// withInputs stores the file of each input as a resource and passes a reference
// to it.
func (a *application) withInputs(ctx context.Context, arguments []byte, inputs []pair) ([]byte, error) {
	for _, input := range inputs {
		resource, err := a.importFile(ctx, input.value)
		if err != nil {
			return nil, fmt.Errorf("--input %s: %w", input.name, err)
		}
		if rawjson.Check(arguments, rawjson.Limits{}) == nil {
			arguments = rawjson.SetMember(arguments, input.name, referenceTo(resource.ID))
		}
	}
	return arguments, nil
}

func (a *application) importFile(ctx context.Context, path string) (abi.Resource, error) {
	info, err := os.Stat(path)
	if err != nil {
		return abi.Resource{}, err
	}
	if info.IsDir() {
		return abi.Resource{}, fmt.Errorf("%s is a directory", path)
	}
	file, err := openInput(ctx, path, info.Mode().IsRegular())
	if err != nil {
		return abi.Resource{}, err
	}
	defer file.Close()
	draft := abi.ResourceDraft{ID: "input", Role: abi.RoleInput, FileName: filepath.Base(path)}
	return a.store.resources.Import(ctx, localOwner(), draft, file, maxImportBytes)
}
