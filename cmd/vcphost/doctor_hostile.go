package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vcphost/abi"
	"vcphost/internal/config"
	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/sandbox/hostile"
)

// hostileReport is what the hostile guests came to, as JSON.
type hostileReport struct {
	Cases   []hostile.Line `json:"cases"`
	Passed  int            `json:"passed"`
	Failed  int            `json:"failed"`
	Seconds float64        `json:"seconds"`
}

// The hidden flags of the process that runs the guests.
const (
	runHostileIn = "run-hostile-in"
	runGuest     = "run-guest"
)

// hostileFlags are the flags that tell a process which part of the suite it is.
type hostileFlags struct {
	only   []string // cases; none means all
	serve  string   // directory of the process that runs the guests; "" in the one that watches it
	guests []string // the cases that it runs
}

func (f *hostileFlags) add(command *cobra.Command) {
	flags := command.Flags()
	flags.StringArrayVar(&f.only, "only", nil, "with --hostile: run this guest alone; repeatable")
	flags.StringVar(&f.serve, runHostileIn, "", "run the guests in this process, with a store in this directory")
	flags.StringArrayVar(&f.guests, runGuest, nil, "a guest that is to run in this process; repeatable")
	for _, name := range []string{runHostileIn, runGuest} {
		if err := flags.MarkHidden(name); err != nil {
			panic(err) // a flag that was added above
		}
	}
}

// watchHostile runs the hostile guests in a process of its own and prints a line
// for each as it comes, unless quiet.
func (p *Program) watchHostile(ctx context.Context, f hostileFlags, quiet bool) (*hostileReport, error) {
	cases, err := hostile.Select(f.only)
	if err != nil {
		return nil, usage("%s", err)
	}
	if len(p.Compile) == 0 {
		return nil, errors.New("the program does not know where it lies, and so cannot start the process of the hostile guests")
	}
	dir, err := os.MkdirTemp("", "vcphost-hostile-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the hostile guests: %w", err)
	}
	defer os.RemoveAll(dir)
	began := time.Now()
	report := &hostileReport{}
	report.Cases, err = hostile.Watch(ctx, cases, hostile.WatchOptions{
		Command: func(ctx context.Context, names []string) *exec.Cmd { return p.hostileProcess(ctx, dir, names) },
		Report: func(line hostile.Line) {
			for text := range strings.Lines(line.String()) {
				if !quiet {
					fmt.Fprintln(p.Stdout, printable(text))
				}
			}
		},
	})
	for _, line := range report.Cases {
		if line.Pass {
			report.Passed++
		} else {
			report.Failed++
		}
	}
	report.Seconds = time.Since(began).Seconds()
	return report, err
}

// hostileProcess is this program again, with the same arguments, as the process
// that runs the guests. Each has a directory of its own below dir.
func (p *Program) hostileProcess(ctx context.Context, dir string, names []string) *exec.Cmd {
	args := append([]string{}, p.Args...)
	for _, name := range names {
		args = append(args, "--"+runGuest, name)
	}
	own, err := os.MkdirTemp(dir, "run-")
	if err != nil {
		own = dir // the process says what is wrong with it
	}
	return exec.CommandContext(ctx, p.Compile[0], append(args, "--"+runHostileIn, own)...)
}

// serveHostile runs the guests in this process, which ends when nobody watches
// it any more.
func (p *Program) serveHostile(ctx context.Context, f hostileFlags, bounds config.Sandbox) (err error) {
	cases, err := hostile.Select(f.guests)
	if err != nil {
		return err
	}
	db, err := kv.OpenBadger(filepath.Join(f.serve, "store"), nil)
	if err != nil {
		return fmt.Errorf("open a store for the hostile guests: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := resources.Open(db, nil)
	if err != nil {
		return fmt.Errorf("open a store for the hostile guests: %w", err)
	}
	owner := abi.Owner{Tenant: "default", Actor: "doctor"}
	return hostile.Serve(ctx, p.Stdin, p.Stdout, hostile.Options{
		Sandbox: *p.sandboxWithin(filepath.Join(f.serve, "cache"), db, bounds),
		Session: func() hostile.Session { return store.Begin(owner, "Hostile", resources.Limits{}) },
		Gone:    func() { os.Exit(exitNoResult) },
	}, cases)
}

func (r *hostileReport) summary() string {
	return fmt.Sprintf("%d of %d hostile guests passed in %.0f s", r.Passed, r.Passed+r.Failed, r.Seconds)
}

func encodeReport(w io.Writer, report any) error {
	to := json.NewEncoder(w)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	if err := to.Encode(report); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}
