package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"vcphost/abi"
	"vcphost/host/validate"
)

// shared is what all tests of this process use together: it costs seconds to
// make. Nothing in it changes once it is there.
type shared struct {
	dir      string // removed at the end
	cache    string // compiled modules, safe between data directories: it is keyed by content
	examples func() (fs.FS, error)
	binary   func() (string, error)
	compiler func() (*validate.Compiler, error)
}

// fixtures is set by TestMain, before any test.
var fixtures shared

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "vcphost-test-")
	if err != nil {
		log.Fatal(err)
	}
	fixtures = shared{
		dir: dir, cache: filepath.Join(dir, "cache"), compiler: sync.OnceValues(validate.NewCompiler),
		binary: sync.OnceValues(func() (string, error) { return buildBinary(filepath.Join(dir, "clone")) }),
	}
	fixtures.examples = sync.OnceValues(func() (fs.FS, error) { return buildExamples(filepath.Join(dir, "examples")) })
	status := 2
	if err = os.Mkdir(fixtures.cache, 0o700); err == nil {
		status = m.Run()
	} else {
		log.Print(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		log.Print(err)
	}
	os.Exit(status)
}

// repository is the root of the checkout, as seen from this package's folder.
const repository = "../.."

// buildExamples builds the example plugins and compiles them into the shared
// cache. The real program does that: under the race detector, this process
// would need ten times as long.
func buildExamples(dir string) (fs.FS, error) {
	command := exec.Command("go", "run", "./examples/build", "-o", dir)
	command.Dir = repository
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, err
	}
	binary, err := fixtures.binary()
	if err != nil {
		return nil, err
	}
	data := dir + "-data"
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	if err := os.Symlink(fixtures.cache, filepath.Join(data, "cache")); err != nil {
		return os.DirFS(dir), nil // then each data directory has its own
	}
	list := exec.Command(binary, "plugin", "list", "--plugins", dir, "--trust", dir, "--data", data)
	list.Stderr = os.Stderr
	return os.DirFS(dir), list.Run()
}

// exampleFS is the example plugins, built.
func exampleFS(t *testing.T) fs.FS {
	t.Helper()
	examples, err := fixtures.examples()
	if err != nil {
		t.Fatalf("build the examples: %v", err)
	}
	return examples
}

// newData makes a data directory that shares its cache with all other tests.
func newData(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	shareCache(t, data)
	return data
}

func shareCache(t *testing.T, data string) {
	t.Helper()
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(fixtures.cache, filepath.Join(data, "cache")); err != nil {
		t.Skipf("a cache cannot be shared here: %v", err)
	}
}

// outcome is what one run of the program left.
type outcome struct {
	status         int
	stdout, stderr string
}

// invocation is one run of the program as a test asks for it.
type invocation struct {
	args    []string
	stdin   string
	env     map[string]string
	bundled fs.FS
}

// run runs the program in this process and checks what holds for every run.
func (i invocation) run(t *testing.T) outcome {
	t.Helper()
	return i.runContext(t, t.Context())
}

func (i invocation) runContext(t *testing.T, ctx context.Context) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	program := &Program{
		Args: i.args, Stdin: strings.NewReader(i.stdin), Stdout: &stdout, Stderr: &stderr, Bundled: i.bundled,
		LookupEnv: i.lookupEnv,
	}
	got := outcome{program.Run(ctx), stdout.String(), stderr.String()}
	got.check(t)
	return got
}

// goTrace is what a Go stack, or the message before one, looks like.
var goTrace = regexp.MustCompile(`goroutine \d|panic:|runtime error|\.go:\d`)

// check holds an outcome against what every run owes: no Go stack for the
// caller, canonical results that are what the protocol says, an exit status
// that fits, and one line where there is no result.
func (o outcome) check(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{"stdout": o.stdout, "stderr": o.stderr} {
		if found := goTrace.FindString(text); found != "" {
			t.Errorf("%s holds %q:\n%s", name, found, text)
		}
	}
	if result, ok := o.result(); ok {
		checkResult(t, o.stdout)
		if want := exitResult; o.status != exitNoResult && result.Status.OK() == (o.status == want) {
			t.Errorf("exit status %d for a result of status %s", o.status, result.Status)
		}
	} else if o.status == exitNoResult && o.stdout != "" {
		t.Errorf("exit status %d, and stdout has:\n%s", o.status, o.stdout)
	}
	if o.status == exitNoResult && len(o.errorLines()) != 1 {
		t.Errorf("exit status %d with %d lines on stderr, want exactly one:\n%s", o.status, len(o.errorLines()), o.stderr)
	}
}

// errorLines are the lines on stderr that are neither progress nor a report of
// files written.
func (o outcome) errorLines() []string {
	return slices.DeleteFunc(strings.Split(strings.TrimRight(o.stderr, "\n"), "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "progress: ") || strings.HasPrefix(line, "wrote ")
	})
}

// result is the canonical result on stdout, if that is what is there.
func (o outcome) result() (*abi.Result, bool) {
	var result abi.Result
	if !strings.HasPrefix(o.stdout, "{") || json.Unmarshal([]byte(o.stdout), &result) != nil || result.Protocol.Name == "" {
		return nil, false
	}
	return &result, true
}

// mustResult is the canonical result on stdout.
func (o outcome) mustResult(t *testing.T) *abi.Result {
	t.Helper()
	result, ok := o.result()
	if !ok {
		t.Fatalf("exit status %d and no canonical result:\n%s\n%s", o.status, o.stdout, o.stderr)
	}
	return result
}

// checkResult holds a printed result against the protocol's schema.
func checkResult(t *testing.T, stdout string) {
	t.Helper()
	compiler, err := fixtures.compiler()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range compiler.Result([]byte(stdout)) {
		t.Errorf("the result is not canonical: %s: expected %s, got %s", problem.Pointer, problem.Expected, problem.Got)
	}
}
