package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Sixteen plugins answer at the same time, each a caller of its own.
const (
	crowdPlugins = 16
	crowdCalls   = 4 // of each plugin in one measured call
)

// crowd measures a call while sixteen plugins are called at once: the time until
// all are done over the number of all calls.
func (l *lab) crowd(ctx context.Context, g *guest) (row, error) {
	r := row{name: g.name + ": sixteen plugins at once", show: duration, note: g.missing}
	var runners []*runner
	var failed error
	for _, c := range []column{ours, wazeroFresh, wazeroWarm, wazyFresh, extismFresh} {
		next, err := l.openCrowd(ctx, g, c)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s, %s: %w", r.name, c, err))
			continue
		}
		runners = append(runners, next)
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

// openCrowd opens a guest as sixteen plugins. One call of the runner is a round
// of calls of all of them, side by side.
func (l *lab) openCrowd(ctx context.Context, g *guest, c column) (*runner, error) {
	var members []*runner
	all := &runner{column: c, each: crowdPlugins * crowdCalls}
	all.close = func() (err error) {
		for _, m := range members {
			err = errors.Join(err, m.close())
		}
		return err
	}
	for range crowdPlugins {
		m, err := l.open(ctx, g, c)
		if err != nil {
			return nil, errors.Join(err, all.close())
		}
		members = append(members, m)
	}
	if members[0].pooled != nil {
		all.pooled = func() (fast, total int64) {
			for _, m := range members {
				f, t := m.pooled()
				fast, total = fast+f, total+t
			}
			return fast, total
		}
	}
	all.call = func() ([]byte, error) {
		var wait sync.WaitGroup
		payloads, failures := make([][]byte, len(members)), make([]error, len(members))
		for i, m := range members {
			wait.Go(func() {
				for range crowdCalls {
					if payloads[i], failures[i] = m.call(); failures[i] != nil {
						return
					}
				}
			})
		}
		wait.Wait()
		for _, p := range payloads[1:] {
			if string(p) != string(payloads[0]) {
				return nil, errors.Join(append(failures, fmt.Errorf("plugins differ: %s and %s", payloads[0], p))...)
			}
		}
		return payloads[0], errors.Join(failures...)
	}
	return all, nil
}
