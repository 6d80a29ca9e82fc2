package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vcphost/abi"
	"vcphost/internal/config"
	"vcphost/internal/kv"
	"vcphost/sandbox"
	"vcphost/sandbox/hostile"
	"vcphost/sandbox/snapshot"
	"vcphost/sandbox/wasmbuild"
)

// What a check comes to.
const (
	checkOK   = "ok"
	checkWarn = "warn" // works, but slower or less safe than it could
	checkFail = "fail"
)

// check is one thing that the doctor looked at.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail"`
}

// doctorReport is all that the doctor found, as JSON.
type doctorReport struct {
	Pass    bool           `json:"pass"`
	Version string         `json:"version"`
	System  string         `json:"system"`
	CPUs    int            `json:"cpus"`
	Checks  []check        `json:"checks"`
	Hostile *hostileReport `json:"hostile"` // null without --hostile
}

func (p *Program) doctorCommand() *cobra.Command {
	var withHostile, asJSON bool
	var guests hostileFlags
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine, and whether hostile guests can harm it",
		Long: `Check the data directory and what the sandbox finds on this machine: how modules
are compiled, how memory is put back after a call, what a call costs.

With --hostile it then runs guests that try to stall, starve or escape their host,
in a temporary directory and in a process of its own, which takes about a minute
and at most four. Each must be refused, ended or answered exactly as it should,
while a ticker, forced garbage collections and a neighbour's calls go on beside it.

Exit status: 0 if all is well, 1 if something is not.`,
		Example: `  vcphost doctor
  vcphost doctor --hostile
  vcphost doctor --hostile --only endless-loop --only memory-bomb --json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			loaded, err := p.loadConfig(command)
			if err != nil {
				return fmt.Errorf("the settings are wrong, see vcphost config validate: %w", err)
			}
			if guests.serve != "" {
				return p.serveHostile(command.Context(), guests, loaded.Settings.Sandbox)
			}
			if !withHostile && len(guests.only) > 0 {
				return usage("--only goes with --hostile")
			}
			if _, err := hostile.Select(guests.only); err != nil {
				return usage("%s", err)
			}
			return p.doctor(command.Context(), doctorRun{loaded.Settings.Sandbox, withHostile, asJSON, guests})
		},
	}
	flags := command.Flags()
	flags.BoolVar(&withHostile, "hostile", false, "run the hostile guests as well")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object instead of lines")
	flags.String("config", "", "file of settings (default $"+config.FileVariable+", else none)")
	guests.add(command)
	return command
}

// doctorRun is what the doctor is asked for.
type doctorRun struct {
	bounds          config.Sandbox
	hostile, asJSON bool
	guests          hostileFlags
}

func (p *Program) doctor(ctx context.Context, run doctorRun) error {
	report := doctorReport{
		Pass: true, Version: buildVersion(), System: systemName(), CPUs: runtime.GOMAXPROCS(0), Checks: p.checks(ctx, run.bounds),
	}
	for _, c := range report.Checks {
		report.Pass = report.Pass && c.Status != checkFail
		if !run.asJSON {
			fmt.Fprintf(p.Stdout, "%-4s  %-24s %s\n", c.Status, c.Name, printable(c.Detail))
		}
	}
	if run.hostile {
		guests, err := p.watchHostile(ctx, run.guests, run.asJSON)
		if err != nil {
			return err
		}
		report.Hostile, report.Pass = guests, report.Pass && guests.Failed == 0
	}
	if !report.Pass {
		p.status = exitResult
	}
	if run.asJSON {
		return encodeReport(p.Stdout, report)
	}
	if report.Hostile != nil {
		return p.printText(report.Hostile.summary())
	}
	return nil
}

// systemName is the operating system, its version where that is easily had, and
// the architecture.
func systemName() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS + "/" + runtime.GOARCH
	}
	return fmt.Sprintf("%s/%s %s", runtime.GOOS, runtime.GOARCH, strings.TrimSpace(string(release)))
}

// checks looks at everything that is quick to look at.
func (p *Program) checks(ctx context.Context, bounds config.Sandbox) []check {
	list := []check{{"program", checkOK, fmt.Sprintf("%s, %s, %s, %d processors", buildVersion(), runtime.Version(), systemName(), runtime.GOMAXPROCS(0))}}
	dir, data := p.checkData()
	list = append(list, data)
	work, err := os.MkdirTemp(dir, "doctor-")
	if err != nil {
		return append(list, check{"data directory", checkFail, err.Error()})
	}
	defer os.RemoveAll(work)
	return append(list, checkStore(work), checkRestore(), p.checkCompile(), p.checkCall(ctx, work, bounds))
}

// checkData looks at the data directory, and gives one in which the rest may
// be tried: "" for the system's.
func (p *Program) checkData() (dir string, c check) {
	c = check{Name: "data directory", Status: checkFail}
	dir, err := p.dataDir()
	if err != nil {
		c.Detail = err.Error()
		return "", c
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		c.Status, c.Detail = checkOK, dir+" is not there yet, and is made when it is needed"
		return "", c
	case err != nil:
		c.Detail = err.Error()
		return "", c
	case !info.IsDir():
		c.Detail = dir + " is no directory"
		return "", c
	}
	c.Status, c.Detail = checkOK, dir
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		c.Status, c.Detail = checkWarn, fmt.Sprintf("%s can be written to by others (%v)", dir, info.Mode().Perm())
	}
	return dir, c
}

// checkStore opens a new store, and so sees whether the file system can do what
// the store needs, and has room.
func checkStore(dir string) check {
	db, err := kv.OpenBadger(filepath.Join(dir, "store"), nil)
	if err != nil {
		return check{"store", checkFail, err.Error()}
	}
	batch := &kv.Batch{}
	batch.Set([]byte("doctor"), []byte("writes"))
	if err := errors.Join(db.Apply(batch), db.Sync(), db.Room(), db.Close()); err != nil {
		return check{"store", checkFail, err.Error()}
	}
	return check{"store", checkOK, "opens, writes, and has room beside what the disk keeps free"}
}

// checkRestore tells how memory is put back after a call.
func checkRestore() check {
	image, err := snapshot.NewImage(bytes.Repeat([]byte{1}, os.Getpagesize()), nil)
	if err != nil {
		return check{"restore", checkFail, err.Error()}
	}
	method := image.Method()
	if err := image.Close(); err != nil {
		return check{"restore", checkFail, err.Error()}
	}
	about := map[snapshot.Method]string{
		snapshot.Scan:    "asks the kernel which pages were written (PAGEMAP_SCAN)",
		snapshot.Discard: "gives all written pages back (madvise): Linux 6.7 can do it faster",
		snapshot.Copy:    "copies all of a plugin's memory: Linux can do it faster",
	}[method]
	status := checkWarn
	if method == snapshot.Scan {
		status = checkOK
	}
	return check{"restore", status, fmt.Sprintf("%s: %s", method, about)}
}

func (p *Program) checkCompile() check {
	if len(p.Compile) == 0 {
		return check{"compile", checkWarn, "in this process, whose memory and time are then the module's"}
	}
	return check{"compile", checkOK, "in processes of their own, within limits"}
}

// checkCall opens a small plugin as any other and calls it.
func (p *Program) checkCall(ctx context.Context, dir string, bounds config.Sandbox) check {
	const calls = 200
	took, err := p.timeCalls(ctx, dir, bounds, calls)
	if err != nil {
		return check{"call", checkFail, err.Error()}
	}
	slices.Sort(took)
	return check{"call", checkOK, fmt.Sprintf("%v in the middle of %d, each isolated, of a plugin of 128 KiB", took[calls/2].Round(100*time.Nanosecond), calls)}
}

func (p *Program) timeCalls(ctx context.Context, dir string, bounds config.Sandbox, count int) (took []time.Duration, err error) {
	box, err := sandbox.New(ctx, p.sandboxWithin(filepath.Join(dir, "cache"), nil, bounds))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, box.Close(context.WithoutCancel(ctx))) }()
	plugin, err := box.Open(ctx, sandbox.Module{Name: "Doctor", Binary: wasmbuild.Guest{}.Bytes()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, plugin.Close(context.WithoutCancel(ctx))) }()
	for range count {
		began := time.Now()
		if _, err := plugin.Invoke(ctx, &abi.Invocation{}); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}
