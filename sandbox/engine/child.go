package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Why a module cannot be compiled: the reasons of a [CompileError].
const (
	ReasonInvalid = "invalid" // the engine refuses the module
	ReasonMemory  = "memory"  // more memory than the process that compiles may have
	ReasonTime    = "time"    // more time
	ReasonSize    = "size"    // the compiled form is larger than the host loads
	ReasonCrashed = "crashed" // the compiler broke down over the module, or was killed
)

// The settings that raise the limits of a [CompileError].
const (
	SettingMemory = "sandbox.compileMemoryBytes"
	SettingTime   = "sandbox.compileTime"
	SettingFile   = "sandbox.compiledBytes"
)

// CompileError tells why a module cannot be compiled: a fault of the module's,
// not of the host's.
type CompileError struct {
	Reason  string
	Limit   int64  // what was allowed, in bytes or seconds; 0 where no limit was hit
	Setting string // the setting that raises the limit; "" where no limit was hit
	Detail  string // what the compiler said, at most 2 KiB of UTF-8; may be empty
}

// Error says the reason, the limit and what the compiler said.
func (e *CompileError) Error() string {
	text := map[string]string{
		ReasonInvalid: "the module is not valid",
		ReasonMemory:  "compiling the module takes more than the memory allowed",
		ReasonTime:    "compiling the module takes longer than allowed",
		ReasonSize:    "the compiled module is larger than allowed",
		ReasonCrashed: "the compiler broke down over the module",
	}[e.Reason]
	if e.Setting != "" {
		text += fmt.Sprintf(" (%s is %d)", e.Setting, e.Limit)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// maxDetail bounds what of a compiler's words is passed on, in bytes.
const maxDetail = 2 << 10

// detail makes one line of bounded length of what a compiler said.
func detail(said string) string {
	line := strings.Join(strings.Fields(strings.ToValidUTF8(said, "�")), " ")
	if len(line) <= maxDetail {
		return line
	}
	end := maxDetail
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end]
}

// errStorage is a compiled module that could not be written: a fault of the
// host's disk, not of the module's.
var errStorage = errors.New("write a compiled module")

// compile puts the compiled form of a module into the store. When there is no
// room for it, others make way.
func (c *Cache) compile(ctx context.Context, module digest, binary []byte) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return fmt.Errorf("wait for other modules to be compiled: %w", context.Cause(ctx))
	}
	err := c.produce(ctx, module, binary)
	if errors.Is(err, errStorage) {
		c.opts.Logger.Warn("compiled modules make way for a new one", "directory", c.dir, "error", err)
		if err := c.evict(0, ""); err != nil {
			return err
		}
		err = c.produce(ctx, module, binary)
	}
	if err != nil {
		return err
	}
	return c.evict(c.opts.TotalBytes, c.stored(module))
}

// produce compiles a module in a directory of its own, seals what came of it,
// takes it and moves it into the store.
func (c *Cache) produce(ctx context.Context, module digest, binary []byte) error {
	dir, err := os.MkdirTemp(c.own, "compile-")
	if err != nil {
		return fmt.Errorf("%w: %w", errStorage, err)
	}
	defer os.RemoveAll(dir)
	if len(c.opts.Command) > 0 {
		err = c.spawn(ctx, dir, binary)
	} else {
		err = here(ctx, dir, binary)
	}
	if err != nil {
		return err
	}
	path, err := produced(dir)
	if err != nil {
		return &CompileError{Reason: ReasonCrashed, Detail: detail(err.Error())}
	}
	if err := c.seal(path, module); err != nil {
		var refused *CompileError
		if errors.As(err, &refused) {
			return err
		}
		return fmt.Errorf("%w: %w", errStorage, err)
	}
	// From here on it may be evicted, for others, at any time.
	err = link(path, c.taken(module))
	if err == nil {
		err = os.Rename(path, c.stored(module))
	}
	if err != nil {
		return fmt.Errorf("keep a compiled module: %w", err)
	}
	return nil
}

// here compiles in this process.
func here(ctx context.Context, dir string, binary []byte) error {
	err := compileInto(ctx, dir, binary)
	switch {
	case err == nil:
		return nil
	case isStorage(err):
		return fmt.Errorf("%w: %w", errStorage, err)
	}
	return &CompileError{Reason: ReasonInvalid, Detail: detail(err.Error())}
}

// isStorage tells a file that cannot be written from a module that cannot be
// compiled.
func isStorage(err error) bool {
	var path *os.PathError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &link)
}

// errOvertime is the cause of the end of a compilation that took too long by the
// clock.
var errOvertime = errors.New("the compilation took too long")

// wallFactor is how much longer by the clock than in processor time a
// compilation may take: the machine has other things to do.
const wallFactor = 4

// spawn compiles in a process of its own, which is gone when spawn returns. The
// process gets the module through a pipe that stays open until it is done: the
// end of that pipe tells it that this process is gone.
func (c *Cache) spawn(ctx context.Context, dir string, binary []byte) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wallFactor*c.opts.Time, errOvertime)
	defer cancel()
	args := append(append([]string{}, c.opts.Command[1:]...), childLimits{
		module: int64(len(binary)), memory: c.opts.MemoryBytes, seconds: c.seconds(), file: c.opts.FileBytes,
	}.args(dir)...)
	command := exec.CommandContext(ctx, c.opts.Command[0], args...)
	command.Env = []string{}
	command.Dir = dir
	said := &head{}
	command.Stdout, command.Stderr = said, said
	command.WaitDelay = time.Second
	separate(command)
	input, err := command.StdinPipe()
	if err != nil {
		return fmt.Errorf("start a process to compile: %w", err)
	}
	if err := command.Start(); err != nil {
		input.Close()
		return fmt.Errorf("start a process to compile: %w", err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		// A process that reads no further says by its status why.
		_, _ = io.Copy(input, bytes.NewReader(binary))
	}()
	err = command.Wait()
	<-sent
	return c.outcome(ctx, command, err, said.String())
}

// outcome says what a process that compiled came to.
func (c *Cache) outcome(ctx context.Context, command *exec.Cmd, waited error, said string) error {
	state := command.ProcessState
	if state == nil {
		return fmt.Errorf("compile in a process: %w", waited)
	}
	if cause := context.Cause(ctx); cause != nil && !state.Success() && !errors.Is(cause, errOvertime) {
		return fmt.Errorf("compile: %w", cause)
	}
	failed := &CompileError{Detail: detail(said)}
	switch code := state.ExitCode(); {
	case code == childDone:
		return nil
	case code == childStorage:
		return fmt.Errorf("%w: %s", errStorage, failed.Detail)
	case code == childMisused:
		return fmt.Errorf("the process that compiles was started wrongly: %s", failed.Detail)
	case code == childInvalid:
		failed.Reason = ReasonInvalid
	case code == childSize:
		failed.Reason, failed.Limit, failed.Setting = ReasonSize, c.opts.FileBytes, SettingFile
	case code == childMemory, code == childThrown:
		// What was said is a stack of Go's run-time, if anything.
		failed = &CompileError{Reason: ReasonMemory, Limit: c.opts.MemoryBytes, Setting: SettingMemory}
	case code == childTime, context.Cause(ctx) != nil, state.UserTime()+state.SystemTime() >= c.opts.Time:
		failed.Reason, failed.Limit, failed.Setting = ReasonTime, c.seconds(), SettingTime
	default:
		failed.Reason = ReasonCrashed
		failed.Detail = detail(state.String() + " " + said)
	}
	return failed
}

// head keeps the beginning of what is written to it.
type head struct{ kept []byte }

// Write never fails: what is over is dropped.
func (h *head) Write(p []byte) (int, error) {
	room := 2*maxDetail - len(h.kept)
	h.kept = append(h.kept, p[:min(room, len(p))]...)
	return len(p), nil
}

// String is what was kept.
func (h *head) String() string { return string(h.kept) }

// seconds of processor time that a compilation may take: what the system counts
// in.
func (c *Cache) seconds() int64 { return max(1, int64(c.opts.Time/time.Second)) }

// childLimits are what a process that compiles is told: bytes, but for the
// seconds of processor time.
type childLimits struct{ module, memory, seconds, file int64 }

func (l *childLimits) fields() []*int64 { return []*int64{&l.module, &l.memory, &l.seconds, &l.file} }

func (l childLimits) args(dir string) []string {
	args := []string{dir}
	for _, field := range l.fields() {
		args = append(args, strconv.FormatInt(*field, 10))
	}
	return args
}
