package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"vcphost/abi"
)

// heldInstances is how many instances the price of one is measured with.
const heldInstances = 60

// pageBytes is the least that is told: below it lies noise.
const pageBytes = 4096

// gate is an input that cannot be opened before the gate is: calls which open it
// are all running at the same time.
type gate struct {
	arrived atomic.Int64
	open    chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

// Open waits for the gate, and there is no such input.
func (g *gate) Open(ctx context.Context, id string) (abi.ResourceStream, error) {
	g.arrived.Add(1)
	select {
	case <-g.open:
	case <-ctx.Done():
	}
	return nil, abi.NewError(abi.CodeFileNotFound, "there is no input %q", id)
}

// memory measures what one more instance adds to the process's anonymous memory,
// once it has served a call. Ours are instances that wait in the pool after calls
// that ran side by side. The guest opens an input, so that it can be held.
func (l *lab) memory(ctx context.Context, g *guest) (row, error) {
	r := row{name: g.name + ": memory of an instance", show: size}
	for _, c := range []column{ours, wazeroWarm, wazyWarm, extismWarm} {
		for range min(l.plan.rounds, 3) {
			bytes, ok, err := l.instanceBytes(ctx, g, c)
			if err != nil {
				return r, fmt.Errorf("%s, %s: %w", r.name, c, err)
			}
			if ok {
				r.series[c] = append(r.series[c], bytes)
			}
		}
	}
	return r, nil
}

func (l *lab) instanceBytes(ctx context.Context, g *guest, c column) (bytes float64, ok bool, err error) {
	var more func() (int64, error) // makes instances and tells how many
	var end func() error
	if c == ours {
		more, end, err = l.crowded(ctx, g)
	} else {
		more, end, err = l.kept(ctx, g, c)
	}
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, end()) }()
	before, ok := anonymous()
	if !ok {
		return 0, false, nil
	}
	made, err := more()
	if err != nil {
		return 0, false, err
	}
	after, ok := anonymous()
	return max((after-before)/float64(max(made, 1)), pageBytes), ok, nil
}

// crowded makes instances by calls that wait for each other.
func (l *lab) crowded(ctx context.Context, g *guest) (func() (int64, error), func() error, error) {
	door := newGate()
	held := *g
	inv := *g.invocation
	inv.Reader, held.invocation = door, &inv
	one, err := l.open(ctx, &held, ours)
	if err != nil {
		return nil, nil, err
	}
	return func() (int64, error) {
		var wait sync.WaitGroup
		failures := make([]error, heldInstances)
		for i := range failures {
			wait.Go(func() { _, failures[i] = one.call() })
		}
		// A pool that has fewer instances lets the rest wait: what came then is
		// what there is.
		for seen, quiet := int64(0), time.Now(); door.arrived.Load() < heldInstances && time.Since(quiet) < time.Second; time.Sleep(5 * time.Millisecond) {
			if now := door.arrived.Load(); now > seen {
				seen, quiet = now, time.Now()
			}
		}
		made := door.arrived.Load()
		close(door.open)
		wait.Wait()
		return made, errors.Join(failures...)
	}, one.close, nil
}

// kept makes instances that are kept after a call each. One was made before, so
// that what all share is not counted.
func (l *lab) kept(ctx context.Context, g *guest, c column) (func() (int64, error), func() error, error) {
	door := newGate()
	close(door.open)
	held := *g
	inv := *g.invocation
	inv.Reader, held.invocation = door, &inv
	one, err := l.open(ctx, &held, c)
	if err != nil {
		return nil, nil, err
	}
	if err := one.more(); err != nil {
		return nil, nil, errors.Join(err, one.close())
	}
	return func() (int64, error) {
		for range heldInstances {
			if err := one.more(); err != nil {
				return 0, err
			}
		}
		return heldInstances, nil
	}, one.close, nil
}
