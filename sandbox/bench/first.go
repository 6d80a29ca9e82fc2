package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/samyfodil/wazy"
	"github.com/tetratelabs/wazero"
)

// firstAnswer measures the time from a module's bytes to its first answer in a
// host that has just started, whose directory of compiled code is empty or, with
// cached, has the module.
func (l *lab) firstAnswer(ctx context.Context, g *guest, cached bool) (row, error) {
	r := row{name: g.name + ": first answer, nothing cached", show: duration}
	if cached {
		r.name = g.name + ": first answer, code cached"
	}
	var runners []*runner
	for _, c := range []column{ours, wazeroFresh, wazyFresh, extismFresh} {
		runners = append(runners, &runner{column: c, took: func(state string) (float64, error) {
			if cached {
				return l.startAndCall(ctx, g, c, state)
			}
			empty, err := os.MkdirTemp(state, "")
			if err != nil {
				return 0, err
			}
			return l.startAndCall(ctx, g, c, empty)
		}})
	}
	few := l.plan
	few.rounds = min(few.rounds, 3) // large modules take seconds to compile
	var err error
	r.series, err = few.race(g, runners)
	return r, err
}

// startAndCall starts a host over a directory of compiled code and returns the
// nanoseconds until a guest's first answer.
func (l *lab) startAndCall(ctx context.Context, g *guest, c column, dir string) (ns float64, err error) {
	watch := startWatch(l.plan.wall)
	host, closeHost, err := startHost(ctx, c, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeHost()) }()
	one, err := host.open(ctx, g, c)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, one.close()) }()
	payload, err := one.call()
	ns = float64(watch.took())
	if err != nil {
		return 0, err
	}
	_, err = g.check(payload)
	return ns, err
}

// startHost starts the host of a column over a directory of its own.
func startHost(ctx context.Context, c column, dir string) (*lab, func() error, error) {
	switch c {
	case ours:
		box, err := newBox(ctx, dir)
		if err != nil {
			return nil, nil, err
		}
		return &lab{box: box}, func() error { return box.Close(ctx) }, nil
	case wazyFresh:
		cache, err := wazy.NewCompilationCacheWithDir(dir)
		if err != nil {
			return nil, nil, fmt.Errorf("open wazy's cache: %w", err)
		}
		return &lab{wazy: cache}, func() error { return cache.Close(ctx) }, nil
	default:
		cache, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			return nil, nil, fmt.Errorf("open wazero's cache: %w", err)
		}
		return &lab{wazero: cache}, func() error { return cache.Close(ctx) }, nil
	}
}
