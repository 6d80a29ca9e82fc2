package hostile_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/sandbox"
	"vcphost/sandbox/engine"
	"vcphost/sandbox/hostile"
)

// Verbs by which this test binary becomes a process of the suite, or one that
// compiles.
const (
	serveVerb   = "serve-hostile"
	compileVerb = "compile-module"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case compileVerb:
			os.Exit(engine.ChildMain(os.Args[2:], os.Stdin, os.Stderr))
		case badVerb:
			os.Exit(goBad(os.Args[2], os.Args[3:]))
		case serveVerb:
			os.Exit(serve(os.Args[2], os.Args[3:]))
		}
	}
	os.Exit(m.Run())
}

// serve runs the suite in this process, over a real store.
func serve(dir string, names []string) int {
	if err := serveIn(dir, names); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveIn(dir string, names []string) error {
	db, err := kv.OpenBadger(dir+"/store", nil)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := resources.Open(db, nil)
	if err != nil {
		return err
	}
	cases, err := hostile.Select(names)
	if err != nil {
		return err
	}
	// Outcomes are held exactly, and times only widely: a machine that runs tests
	// does other things as well.
	wide := hostile.Bounds{
		Answer: 10 * time.Second, Cancel: 10 * time.Second, TickGap: 10 * time.Second, Neighbour: 10 * time.Second, RSSBytes: 512 << 20,
	}
	owner := abi.Owner{Tenant: "default", Actor: "doctor"}
	return hostile.Serve(context.Background(), os.Stdin, os.Stdout, hostile.Options{
		Sandbox: sandbox.Options{CacheDir: dir + "/cache", DB: db, Cache: &engine.CacheOptions{Command: []string{os.Args[0], compileVerb}}},
		Bounds:  wide, Ticks: 10, Gone: func() { os.Exit(3) },
		Session: func() hostile.Session { return store.Begin(owner, "Hostile", resources.Limits{}) },
	}, cases)
}

// watched is how the tests run the suite: in a process of this test binary.
func watched(t *testing.T) hostile.WatchOptions {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return hostile.WatchOptions{
		Command: func(ctx context.Context, names []string) *exec.Cmd {
			return exec.CommandContext(ctx, path, append([]string{serveVerb, dir}, names...)...)
		},
		Report: func(line hostile.Line) { t.Log(line) },
	}
}
