package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vcphost/abi"
	"vcphost/internal/ids"
	"vcphost/server/client"
	"vcphost/server/local"
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
		Args:              between(1, math.MaxInt),
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
	case !slices.Contains(views(), f.view):
		return usage("--view %q is none of %s", f.view, strings.Join(views(), ", "))
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
	session, err := p.connect(ctx, "call", needHost)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.stop(ctx)) }()

	call := client.Call{
		Tool: tool, Arguments: arguments, Timeout: flags.timeout, RequestID: ids.NewSource(nil).New(ids.Request),
		AI: flags.view == "ai", MaxCharacters: flags.maxCharacters,
	}
	for _, given := range pairs {
		call.Pairs = append(call.Pairs, local.Pair{Name: []byte(given.name), Value: []byte(given.value)})
	}
	if err := session.checkInputs(inputs); err != nil {
		return err
	}
	if call.Inputs, err = session.upload(ctx, inputs); err != nil {
		return err
	}
	progress := newProgress(p.Stderr, p.LookupEnv)
	call.Progress = progress.report
	answer, err := session.Call(ctx, call)
	progress.end()
	if err != nil {
		return err
	}
	if !answer.Result.Status.OK() {
		p.status = exitResult
		if hint := p.hint(answer.Result); hint != "" {
			fmt.Fprintf(p.Stderr, "vcphost: %s\n", printable(hint))
		}
	}
	// The plugin has done its work: its result is printed whatever else fails.
	written := session.writeResources(ctx, answer.Result, out, p.Stderr)
	if call.AI {
		return errors.Join(p.printText(answer.Text), written)
	}
	return errors.Join(p.printResult(answer.Raw), written)
}

// checkInputs fails if one of the files cannot be a resource, before any of them
// is read. Of what is no plain file nobody knows the size.
func (s *session) checkInputs(files []pair) error {
	for _, file := range files {
		info, err := os.Stat(file.value)
		switch {
		case err != nil:
		case info.IsDir():
			err = fmt.Errorf("%s is a directory", file.value)
		case info.Mode().IsRegular() && info.Size() > s.maxUploadBytes:
			err = fmt.Errorf("%s has %d bytes, and at most %d are taken", file.value, info.Size(), s.maxUploadBytes)
		}
		if err != nil {
			return fmt.Errorf("--input %s: %w", file.name, err)
		}
	}
	return nil
}

// upload stores the file of each input as a resource.
func (s *session) upload(ctx context.Context, files []pair) ([]local.Input, error) {
	var inputs []local.Input
	for _, file := range files {
		resource, err := s.uploadFile(ctx, file.value)
		if err != nil {
			return nil, fmt.Errorf("--input %s: %w", file.name, err)
		}
		inputs = append(inputs, local.Input{Name: []byte(file.name), Resource: resource.ID})
	}
	return inputs, nil
}

func (s *session) uploadFile(ctx context.Context, path string) (abi.Resource, error) {
	info, err := os.Stat(path)
	if err != nil {
		return abi.Resource{}, err
	}
	file, err := openInput(ctx, path, info.Mode().IsRegular())
	if err != nil {
		return abi.Resource{}, err
	}
	defer file.Close()
	size := int64(-1) // of what is no plain file, nobody knows it
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	return s.Upload(ctx, filepath.Base(path), size, file)
}
