package main

import (
	"context"
	"errors"
	"fmt"

	samyfodil "github.com/samyfodil/wazy"
	"github.com/tetratelabs/wazero"

	"vcphost/sandbox"
)

// lab holds what all rows share: the sandbox, and the compiled code of the peers,
// which is made once for each of them.
type lab struct {
	plan   plan
	box    *sandbox.Sandbox
	wazero wazero.CompilationCache
	wazy   samyfodil.CompilationCache
	log    func(format string, args ...any)
}

// open opens a guest in one column. The error wraps errMissing where a program
// for it is not installed.
func (l *lab) open(ctx context.Context, g *guest, c column) (*runner, error) {
	switch c {
	case ours, oursShared, oursFresh:
		return openOurs(ctx, g, c, l.box)
	case wazeroFresh, wazeroWarm, wazeroStoppable:
		return openWazeroRunner(ctx, g, c, l.wazero)
	case wazyFresh, wazyWarm:
		return openWazyRunner(ctx, g, c, l.wazy)
	case extismFresh, extismWarm:
		return openExtismRunner(ctx, g, c, l.wazero)
	default:
		return openProcess(ctx, g, c)
	}
}

// possible tells whether a guest has anything to run in a column.
func possible(g *guest, c column) bool {
	switch c {
	case extismFresh, extismWarm:
		return g.extism != nil
	case nodeProcess, pythonProcess:
		return g.processes
	}
	return true
}

// row measures the calls of a guest in some columns.
func (l *lab) row(ctx context.Context, g *guest, list []column) (row, error) {
	r := row{name: g.name, show: duration, note: g.missing}
	if g.missing != "" {
		return r, nil
	}
	var runners []*runner
	var failed error
	for _, c := range list {
		if !possible(g, c) {
			continue
		}
		next, err := l.open(ctx, g, c)
		switch {
		case errors.Is(err, errMissing):
			l.log("%v", err)
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("%s, %s: %w", g.name, c, err))
		default:
			runners = append(runners, next)
		}
	}
	if failed == nil {
		r.series, failed = l.plan.race(g, runners)
	}
	for _, one := range runners {
		r.noteFast(one)
		failed = errors.Join(failed, one.close())
	}
	return r, failed
}

// noteFast keeps what share of our calls took the fast path.
func (r *row) noteFast(one *runner) {
	if one.pooled != nil && one.column == ours {
		fast, all := one.pooled()
		r.fast = fmt.Sprintf("%.1f %%", 100*float64(fast)/float64(max(all, 1)))
	}
}

// rows measures everything.
func (l *lab) rows(ctx context.Context, w workshop, short bool) ([]row, error) {
	l.log("building the guests")
	classes, err := w.classes()
	if err != nil {
		return nil, err
	}
	small, err := w.make(ctx, classes, short)
	if err != nil {
		return nil, err
	}
	heavy, err := w.make(ctx, loops(), short)
	if err != nil {
		return nil, err
	}
	var rows []row
	measure := func(do func() (row, error)) {
		if err != nil {
			return
		}
		var next row
		if next, err = do(); err == nil {
			l.log("%s", next.name)
			rows = append(rows, next)
		}
	}
	for _, g := range small {
		measure(func() (row, error) { return l.row(ctx, g, allColumns()) })
	}
	for _, g := range heavy {
		measure(func() (row, error) { return l.row(ctx, g, []column{ours, wazeroWarm, wazeroStoppable, wazyWarm}) })
	}
	for _, g := range small {
		if g.name == nameFourPages || g.name == nameGoJSON && !short {
			measure(func() (row, error) { return l.crowd(ctx, g) })
			measure(func() (row, error) { return l.memory(ctx, held(g)) })
			measure(func() (row, error) { return l.firstAnswer(ctx, g, false) })
			measure(func() (row, error) { return l.firstAnswer(ctx, g, true) })
		}
	}
	return rows, err
}

// allColumns are those of a guest with a small job.
func allColumns() []column {
	var all []column
	for c := range columns {
		all = append(all, c)
	}
	return all
}
