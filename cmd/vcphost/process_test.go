package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
)

// buildBinary builds the program in a copy of the source files and of nothing
// that a step before it would have made, as someone does who has cloned the
// repository. Where there is no git, it builds in place.
func buildBinary(dir string) (string, error) {
	source := dir
	if err := copySources(dir); err != nil {
		source = repository
	}
	binary := filepath.Join(dir, "bin", "vcphost.exe")
	command := exec.Command("go", "build", "-o", binary, "./cmd/vcphost")
	command.Dir = source
	command.Stderr = os.Stderr
	return binary, command.Run()
}

func copySources(dir string) error {
	list, err := exec.Command("git", "-C", repository, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(repository, name))
		if os.IsNotExist(err) {
			continue // deleted, and the deletion not committed yet
		}
		target := filepath.Join(dir, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(target), 0o755)
		}
		if err == nil {
			err = os.WriteFile(target, content, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func binary(t *testing.T) string {
	t.Helper()
	path, err := fixtures.binary()
	if err != nil {
		t.Fatalf("build the program: %v", err)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return absolute
}

func TestACleanCloneSaysHowToGetTheBundledPlugins(t *testing.T) {
	command := exec.CommandContext(t.Context(), binary(t), "plugin", "list", "--data", newData(t))
	command.Dir = t.TempDir()
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if !strings.Contains(stderr.String(), "go run ./examples/build") {
		t.Errorf("stderr does not say how to build the examples:\n%s%s", &stdout, &stderr)
	}
}

// child is a run of the real program as a process of its own.
type child struct {
	command *exec.Cmd
	stdout  bytes.Buffer
	stderr  *bufio.Reader
	done    chan error
}

// startChild calls the plugin Child, which it adds to the bench with that
// module, and waits until the guest says that it began.
func startChild(t *testing.T, b *bench, module []byte) *child {
	t.Helper()
	writeFile(t, filepath.Join(b.plugins, "child", "plugin-manifest.json"), manifest("Child"))
	writeFile(t, filepath.Join(b.plugins, "child", "module.wasm"), string(module))
	c := &child{command: exec.Command(binary(t), append([]string{"call", "Child"}, b.flags()...)...), done: make(chan error, 1)}
	c.command.Stdout = &c.stdout
	stderr, err := c.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stderr = bufio.NewReader(stderr)
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.command.Process.Kill() }) // it may have ended by itself
	line, err := c.stderr.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "progress: began") {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return c
}

// wait gives how the child ended and what it left on stderr after its first
// line.
func (c *child) wait(t *testing.T) (*os.ProcessState, outcome) {
	t.Helper()
	timer := time.AfterFunc(30*time.Second, func() { _ = c.command.Process.Kill() })
	defer timer.Stop()
	rest, err := io.ReadAll(c.stderr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.command.Wait() // its state says all
	return c.command.ProcessState, outcome{c.command.ProcessState.ExitCode(), c.stdout.String(), string(rest)}
}

func (c *child) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := c.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	c.signal(t, os.Kill)
	c.wait(t)
}

func TestInterruptCancelsTheCall(t *testing.T) {
	for _, test := range []struct {
		name   string
		module []byte
		signal os.Signal
	}{
		{"a guest that loops", began(loop()), os.Interrupt},
		{"a guest that asks whether it is cancelled", asks(), os.Interrupt},
		{"a termination", began(loop()), syscall.SIGTERM},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := startChild(t, badInput{}.set(t), test.module)
			c.signal(t, test.signal)
			_, got := c.wait(t)
			got.check(t)
			result := got.mustResult(t)
			if got.status != exitResult || result.Status != abi.StatusCancelled || result.Error.Code != abi.CodeToolCancelled {
				t.Errorf("exit status %d, %s, %v; want 1, cancelled, TOOL_CANCELLED", got.status, result.Status, result.Error)
			}
		})
	}
}

func TestTwoInterruptsEndTheProcessAtOnce(t *testing.T) {
	b := badInput{}.set(t)
	c := startChild(t, b, tree(40)) // hours, unless the engine interrupts recursion
	c.signal(t, os.Interrupt)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.wait(t)
	}()
	// The second signal counts once the first was taken in; nothing tells when
	// that was, so it is sent until the process is gone.
	began := time.Now()
	for {
		select {
		case <-ended:
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the process ended after %v", took)
			}
			next := invocation{args: append([]string{"call", "Good"}, b.flags()...)}.run(t)
			if next.status != exitOK {
				t.Errorf("the next call: exit status %d: %s", next.status, next.stderr)
			}
			return
		case <-time.After(50 * time.Millisecond):
			_ = c.command.Process.Signal(os.Interrupt) // it may be gone by now
		}
	}
}

func TestAKilledCallLeavesNothing(t *testing.T) {
	b := badInput{}.set(t)
	const draft, event = `{"id":"a","fileName":"a.bin"}`, `{"stage":"began"}`
	data := map[uint32]string{draftAddress: draft, lineAddress: event}
	code := [][]byte{vcp("resource_create", draftAddress, int32(len(draft))), {0x1a}}
	for range 40 { // more than a chunk, so that some of it is stored
		code = append(code, vcp("resource_write", 1, 1<<16, 1<<16), []byte{0x1a})
	}
	c := startChild(t, b, runs(`{"status":"success","data":null}`, data, append(code, reports(event), loop())...))
	c.kill(t)
	if rows := storedRows(t, b, "blobpending/"); len(rows) == 0 {
		t.Error("the killed call left nothing behind, so this test shows nothing")
	}
	next := invocation{args: append([]string{"call", "Good", "text=x"}, b.flags()...)}.run(t)
	if next.status != exitOK {
		t.Fatalf("the next call: exit status %d\n%s", next.status, next.stderr)
	}
	for _, prefix := range []string{"blob", "res/"} {
		if rows := storedRows(t, b, prefix); len(rows) != 0 {
			t.Errorf("rows of nobody are left: %q", rows)
		}
	}
}

// storedRows lists the keys with a prefix in the data directory of a bench.
func storedRows(t *testing.T, b *bench, prefix string) []string {
	t.Helper()
	db, err := kv.OpenBadger(filepath.Join(b.data, "store"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	err = db.Scan([]byte(prefix), func(key, _ []byte) bool {
		keys = append(keys, string(key))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestTwoProcessesOnOneDataDirectory(t *testing.T) {
	b := badInput{}.set(t)
	c := startChild(t, b, began(loop()))
	second, err := exec.Command(binary(t), append([]string{"call", "Good"}, b.flags()...)...).Output()
	exit, ok := err.(*exec.ExitError)
	if !ok {
		t.Fatalf("the second process: %v\n%s", err, second)
	}
	got := outcome{exit.ExitCode(), string(second), string(exit.Stderr)}
	got.check(t)
	if got.status != exitNoResult || !strings.Contains(got.stderr, "in use") {
		t.Errorf("exit status %d, %q; want 2 and a line that says in use", got.status, got.stderr)
	}
	c.signal(t, os.Interrupt)
	if _, first := c.wait(t); first.mustResult(t).Status != abi.StatusCancelled {
		t.Errorf("the first process: %s", first.stdout)
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// useData makes a run use another data directory than the runs after it.
func (b *bench) useData(dir string) {
	for i, arg := range b.args {
		if arg == "--data" {
			b.args[i+1] = dir
		}
	}
}

// forbid makes a directory that nobody may enter.
func forbid(t *testing.T, b *bench, dir string) {
	t.Helper()
	if os.Geteuid() <= 0 {
		t.Skip("permissions do not bind this user")
	}
	if err := os.Mkdir(dir, 0); err != nil {
		t.Fatal(err)
	}
	b.undo = func() { _ = os.Chmod(dir, 0o700) }
}

// linkOut puts a link of that name that leads out of the directory where files
// are to be written, and checks afterwards that what it leads to was not touched.
func linkOut(t *testing.T, b *bench, name string) {
	t.Helper()
	victim, out := filepath.Join(b.dir, "victim"), filepath.Join(b.dir, "out")
	writeFile(t, victim, "untouched")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(out, name)); err != nil {
		t.Fatal(err)
	}
	b.args = append(b.args, "--out", out)
	b.undo = func() {
		if content, err := os.ReadFile(victim); err != nil || string(content) != "untouched" {
			t.Errorf("what a link leads to was written: %q, %v", content, err)
		}
	}
}
