package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// plan is how long is measured.
type plan struct {
	rounds int
	slot   time.Duration // of one runner in one round; two calls at the least
	wall   bool          // the time that passes, not the processor's
}

// series are the measured values of a row, one a round, by column. Times are in
// nanoseconds a call.
type series [columns][]float64

// race measures runners in alternating rounds: in every round each has a slot,
// in an order that moves on. The last answer of each slot is checked, and that
// calls are isolated where the column says so.
func (p plan) race(g *guest, runners []*runner) (series, error) {
	var s series
	slots := make([]*slot, len(runners))
	for i, r := range runners {
		slots[i] = &slot{runner: r, guest: g, length: p.slot, wall: p.wall}
		if err := slots[i].prepare(); err != nil {
			return s, fmt.Errorf("%s, %s: %w", g.name, r.column, err)
		}
	}
	for round := range p.rounds {
		for i := range slots {
			next := slots[(i+round)%len(slots)]
			value, err := next.run()
			if err != nil {
				return s, fmt.Errorf("%s, %s: %w", g.name, next.runner.column, err)
			}
			c := next.runner.column
			s[c] = append(s[c], value)
		}
	}
	return s, nil
}

// slot is a runner in its part of a round.
type slot struct {
	runner *runner
	guest  *guest
	length time.Duration
	wall   bool
	piece  int    // calls between two looks at the clock
	served int    // what the first answer told of calls before it
	dir    string // of the runner, where it starts a host
}

func (s *slot) prepare() error {
	if s.runner.took != nil {
		var err error
		if s.dir, err = os.MkdirTemp(s.guest.dir, ""); err == nil {
			_, err = s.runner.took(s.dir)
		}
		return err
	}
	payload, err := s.runner.call()
	if err != nil {
		return err
	}
	if s.served, err = s.guest.check(payload); err != nil {
		return err
	}
	s.piece = 1
	const look = 200 * time.Microsecond
	_, each, err := s.calls(20 * time.Millisecond)
	s.piece = max(int(float64(look)/max(each*float64(max(s.runner.each, 1)), 1)), 1)
	return err
}

// calls makes calls for some time, at least one, and returns the last payload
// and the nanoseconds of a call.
func (s *slot) calls(length time.Duration) (payload []byte, each float64, err error) {
	made, watch := 0, startWatch(s.wall)
	for {
		for range s.piece {
			if payload, err = s.runner.call(); err != nil {
				return nil, 0, err
			}
		}
		made += s.piece
		if watch.passed() >= length {
			return payload, float64(watch.took()) / float64(made*max(s.runner.each, 1)), nil
		}
	}
}

// run measures one slot and returns nanoseconds a call. Garbage of others is
// collected before; then a part of the slot goes by unmeasured, so that what the
// runner itself leaves to be collected has reached its steady state.
func (s *slot) run() (float64, error) {
	runtime.GC()
	if s.runner.took != nil {
		return s.runner.took(s.dir)
	}
	if _, _, err := s.calls(s.length / 3); err != nil {
		return 0, err
	}
	payload, each, err := s.calls(s.length)
	if err != nil {
		return 0, err
	}
	served, err := s.guest.check(payload)
	switch {
	case err != nil:
		return 0, err
	case s.guest.counted && s.runner.column.isolated() && served != s.served:
		return 0, fmt.Errorf("a call sees an earlier one: it counts %d, and the first counted %d", served, s.served)
	case s.guest.counted && !s.runner.column.isolated() && served <= s.served:
		return 0, fmt.Errorf("calls that share an instance count %d after %d", served, s.served)
	}
	return each, nil
}

// quantile is the value below which a share of the values lies, interpolated.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := share * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(at-float64(low))
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// ratios are the values of a column over those of another in the same rounds.
func (s series) ratios(over, under column) []float64 {
	list := make([]float64, min(len(s[over]), len(s[under])))
	for i := range list {
		list[i] = s[over][i] / s[under][i]
	}
	return list
}

// ratio is the median of a column's rounds over another's, 0 where one of them
// was not measured.
func (s series) ratio(over, under column) float64 {
	if list := s.ratios(over, under); len(list) > 0 {
		return median(list)
	}
	return 0
}

// spread is the usual half width of the middle half of the ratios to our
// column, as a share of their median.
func (s series) spread() float64 {
	var each []float64
	for c := range columns {
		if list := s.ratios(c, ours); len(list) > 1 && c != ours {
			each = append(each, (quantile(list, 0.75)-quantile(list, 0.25))/2/median(list))
		}
	}
	if len(each) == 0 {
		return 0
	}
	return median(each)
}
