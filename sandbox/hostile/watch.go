package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// WatchOptions of a [Watch]. Command is required; a zero in another field is its
// default.
type WatchOptions struct {
	// Command gives the process that runs the cases of some names: its standard input and output
	// are those of [Serve], and it must end when the input does.
	Command func(ctx context.Context, names []string) *exec.Cmd
	// Total bounds the whole run; 4 minutes. What it leaves undone fails.
	Total time.Duration
	// Each bounds one case, and the start before the first; 45 seconds.
	Each time.Duration
	// MemoryBytes bounds the anonymous memory of the process; 4 GiB. It is known
	// on Linux alone.
	MemoryBytes int64
	// Report is told of each line as it comes; nil for nobody.
	Report func(Line)
}

func (o WatchOptions) withDefaults() WatchOptions {
	if o.Total <= 0 {
		o.Total = 4 * time.Minute
	}
	if o.Each <= 0 {
		o.Each = 45 * time.Second
	}
	if o.MemoryBytes <= 0 {
		o.MemoryBytes = 4 << 30
	}
	if o.Report == nil {
		o.Report = func(Line) {}
	}
	return o
}

// Watch runs cases in a process of its own and ends that when a case takes too
// long or too much memory, which an engine that failed could keep the process
// itself from doing. The case then fails, and the rest goes on in a new process.
// Every case has a line, in order. An error is a process that cannot be started,
// or that does not work at all; the lines that there are come with it.
func Watch(ctx context.Context, cases []Case, opts WatchOptions) ([]Line, error) {
	w := watch{opts: opts.withDefaults(), ends: time.Now().Add(opts.withDefaults().Total)}
	for len(w.lines) < len(cases) {
		rest := cases[len(w.lines):]
		if ctx.Err() != nil {
			return w.lines, ctx.Err()
		}
		if !time.Now().Before(w.ends) {
			w.fail(rest[0], fmt.Sprintf("not run: the run had taken %v", w.opts.Total))
			continue
		}
		if err := w.process(ctx, rest); err != nil {
			return w.lines, err
		}
	}
	return w.lines, nil
}

// watch is a run as far as it got.
type watch struct {
	opts  WatchOptions
	ends  time.Time
	lines []Line
}

func (w *watch) add(line Line) {
	w.lines = append(w.lines, line)
	w.opts.Report(line)
}

// fail adds the line of a case that came to nothing.
func (w *watch) fail(c Case, problem string) {
	w.add(Line{Name: c.Name, About: c.About, Expected: wants(c.parts()), Got: []string{}, Problems: []string{problem}, Attempts: 1})
}

// process runs the cases in one process, as far as that gets: at least one line
// comes of it, or an error.
func (w *watch) process(ctx context.Context, cases []Case) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.Name
	}
	command := w.opts.Command(ctx, names)
	said := &head{}
	if command.Stderr == nil {
		command.Stderr = said
	}
	input, err := command.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the process of the hostile guests: %w", err)
	}
	defer input.Close()
	output, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the process of the hostile guests: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the process of the hostile guests: %w", err)
	}
	var telling sync.WaitGroup
	stop := make(chan struct{})
	telling.Go(func() { tellLateness(input, stop) })
	before := len(w.lines)
	began, reason := w.follow(ctx, output, command.Process.Pid)
	cancel() // ends the process, which has nothing more to say
	close(stop)
	waited := command.Wait()
	telling.Wait()
	if len(w.lines)-before == len(cases) {
		return nil
	}
	if reason == "" {
		reason = fmt.Sprintf("the process died: %v: %s", waited, said)
	}
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled) && began == "" && reason == errEnded:
		return nil
	case began == "" && len(w.lines) == before:
		return fmt.Errorf("the process of the hostile guests does not work: %s", reason)
	case len(w.lines) < before+len(cases):
		w.fail(cases[len(w.lines)-before], reason)
	}
	return nil
}

// errEnded is the reason of a process that was ended with the whole run.
const errEnded = "the run was ended"

// follow takes lines until the process is done, or must be ended. It gives the
// case that was running, and why the process must end; "" where it ended itself.
func (w *watch) follow(ctx context.Context, output io.Reader, process int) (began, reason string) {
	messages := make(chan message)
	done := make(chan struct{})
	defer close(done)
	go func() {
		defer close(messages)
		for lines := bufio.NewReader(output); ; {
			raw, err := lines.ReadBytes('\n')
			var m message
			if err != nil || json.Unmarshal(raw, &m) != nil {
				return
			}
			select {
			case messages <- m:
			case <-done:
				return
			}
		}
	}()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for last := time.Now(); ; {
		select {
		case m, more := <-messages:
			if !more {
				return began, ""
			}
			began, last = m.Began, time.Now()
			if m.Line != nil {
				w.add(*m.Line)
			}
		case <-look.C:
			if reason := w.tooMuch(process, last); reason != "" {
				return began, reason
			}
		case <-ctx.Done():
			return began, errEnded
		}
	}
}

// tooMuch says why a process must end, "" for no reason.
func (w *watch) tooMuch(process int, last time.Time) string {
	switch now := time.Now(); {
	case now.Sub(last) > w.opts.Each:
		return fmt.Sprintf("it held up the process for more than %v", w.opts.Each)
	case now.After(w.ends):
		return fmt.Sprintf("the run had taken %v", w.opts.Total)
	}
	if bytes, ok := rssAnonOf(strconv.Itoa(process)); ok && bytes > w.opts.MemoryBytes {
		return fmt.Sprintf("the process had taken more than %d MiB of memory", w.opts.MemoryBytes>>20)
	}
	return ""
}

// head keeps the beginning of what is written to it.
type head struct{ kept []byte }

// Write never fails: what is over is dropped.
func (h *head) Write(p []byte) (int, error) {
	const most = 2 << 10
	h.kept = append(h.kept, p[:min(most-len(h.kept), len(p))]...)
	return len(p), nil
}

// String is what was kept.
func (h *head) String() string { return string(h.kept) }
