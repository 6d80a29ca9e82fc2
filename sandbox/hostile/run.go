package hostile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

// Session is what the host lends to one call: where its resources go, and come
// from. Discard forgets them.
type Session interface {
	abi.ResourceWriter
	abi.ResourceReader
	Discard() error
}

// Options of a run. Sandbox and Session are required.
type Options struct {
	// Sandbox is how the sandbox is configured; its logger is replaced by one
	// that counts.
	Sandbox sandbox.Options
	// Session begins what one call is lent; safe for concurrent use.
	Session func() Session
	Bounds  Bounds // the zero value is [StandardBounds]
	// Ticks is how many ticks of 10 ms each case is measured over at least; 0 means 100.
	Ticks int
	// Gone is called when the process that watches has gone; [Serve] needs it.
	Gone func()
}

// Cases lists the suite in its order.
func Cases() []Case {
	return slices.Concat(loops(), memories(), tables(), sizes(), hostCalls(), floods(), wasiCalls(), starts(), states())
}

// Select gives the cases of some names, all of them for none. An unknown name is
// an error that lists those that there are.
func Select(names []string) ([]Case, error) {
	all := Cases()
	if len(names) == 0 {
		return all, nil
	}
	var selected []Case
	for _, name := range names {
		i := slices.IndexFunc(all, func(c Case) bool { return c.Name == name })
		if i < 0 {
			known := make([]string, len(all))
			for i, c := range all {
				known[i] = c.Name
			}
			return nil, fmt.Errorf("there is no hostile guest %q; there are %v", name, known)
		}
		selected = append(selected, all[i])
	}
	return selected, nil
}

// errChanged: a good call was answered, but not as it always is.
var errChanged = errors.New("a good call was answered with something else")

// Runner runs cases one after another in one sandbox. It is not safe for
// concurrent use.
type Runner struct {
	box       *sandbox.Sandbox
	session   func() Session
	bounds    Bounds
	log       *lineCounter
	neighbour *sandbox.Plugin
	ticks     int
	late      *lateness
	alone     time.Duration // the neighbour's p99 alone, of the last time that it was measured
}

// NewRunner starts the sandbox and the neighbour, and times it alone. Close it
// when done.
func NewRunner(ctx context.Context, opts Options) (*Runner, error) {
	r := &Runner{session: opts.Session, late: &lateness{}, ticks: opts.Ticks, bounds: opts.Bounds.orStandard(), log: &lineCounter{Handler: slog.DiscardHandler}}
	if r.ticks <= 0 {
		r.ticks = 100
	}
	configured := opts.Sandbox
	configured.Logger = slog.New(r.log)
	var err error
	if r.box, err = sandbox.New(ctx, &configured); err != nil {
		return nil, fmt.Errorf("start the sandbox: %w", err)
	}
	neighbour := switched(wasmbuild.Guest{Body: body(wasmbuild.Unreachable())}).Bytes()
	if r.neighbour, err = r.box.Open(ctx, sandbox.Module{Name: "Neighbour", Binary: neighbour}); err == nil {
		_, err = callGood(ctx, r.neighbour, r.session)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("a small good plugin does not work: %w", err), r.Close(ctx))
	}
	r.measureAlone()
	return r, nil
}

// Close ends the sandbox.
func (r *Runner) Close(ctx context.Context) error {
	var err error
	if r.neighbour != nil {
		err = r.neighbour.Close(ctx)
	}
	return errors.Join(err, r.box.Close(ctx))
}

// measureAlone measures all that goes on beside a case, without one.
func (r *Runner) measureAlone() {
	b := start(r.neighbour, r.session)
	for !b.enough(r.ticks) {
		time.Sleep(tick)
	}
	b.end()
	r.alone = b.p99()
}

// Run runs one case. Where only figures are bad it tries again, up to three
// times in all, since another process may have taken the machine: each figure is
// then the best one.
func (r *Runner) Run(ctx context.Context, c Case) Line {
	began := time.Now()
	parts := c.parts()
	line := Line{Name: c.Name, About: c.About, Expected: wants(parts), Got: []string{}, Problems: []string{}}
	var best figures
	for again := true; again && ctx.Err() == nil; {
		if line.Attempts > 0 {
			r.measureAlone()
		}
		t := r.attempt(ctx, c, parts)
		if line.Attempts == 0 {
			best = t.figures
		}
		best.better(t.figures)
		line.Attempts++
		line.add(t)
		bad := best.problems(r.bounds, c.maxPeak())
		line.Problems = append(append([]string{}, t.problems...), bad...)
		again = len(t.problems) == 0 && len(bad) > 0 && line.Attempts < maxAttempts
	}
	if err := ctx.Err(); err != nil {
		line.Problems = append(line.Problems, "the run was ended: "+err.Error())
	}
	best.write(&line)
	line.Pass = len(line.Problems) == 0
	line.Seconds = time.Since(began).Seconds()
	return line
}

// add takes the counts and outcomes of an attempt.
func (l *Line) add(t *trial) {
	for _, outcome := range t.outcomes {
		(*tally)(&l.Got).add(outcome)
	}
	l.HostileCalls += t.hostile.Load()
	l.GoodCalls += t.good.Load()
}

const (
	maxAttempts = 3
	defaultPeak = 192 << 20
)

func (c Case) maxPeak() int64 {
	if c.peak > 0 {
		return c.peak
	}
	return defaultPeak
}

// lineCounter counts what plugins log.
type lineCounter struct {
	slog.Handler
	bytes atomic.Int64
}

// Enabled takes every level.
func (*lineCounter) Enabled(context.Context, slog.Level) bool { return true }

// Handle counts the bytes of the message.
func (c *lineCounter) Handle(_ context.Context, record slog.Record) error {
	c.bytes.Add(int64(len(record.Message)))
	return nil
}

// WithAttrs counts in the same place.
func (c *lineCounter) WithAttrs([]slog.Attr) slog.Handler { return c }

// WithGroup counts in the same place.
func (c *lineCounter) WithGroup(string) slog.Handler { return c }
