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
	slot   time.Duration // of one runner in one round; at least one call
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
		slots[i] = &slot{runner: r, guest: g}
		if err := slots[i].calibrate(p.slot); err != nil {
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

// piece is what one slot is measured in: the median of pieces is not moved by
// the moments in which the system runs something else, and a piece is long
// enough for what a host puts off (collecting garbage) to be part of it.
const piece = time.Millisecond

// slot is a runner with the number of calls that fill its time.
type slot struct {
	runner *runner
	guest  *guest
	calls  int    // of a piece
	pieces int    // of a slot
	served int    // what the first answer told of calls before it
	dir    string // of the runner, where it starts a host
}

func (s *slot) calibrate(length time.Duration) error {
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
	const warmUp = 20 * time.Millisecond
	calls, began := 0, time.Now()
	for time.Since(began) < warmUp {
		if _, err := s.runner.call(); err != nil {
			return err
		}
		calls++
	}
	each := max(time.Since(began)/time.Duration(calls), 1)
	s.calls = max(int(piece/each), 1)
	s.pieces = max(int(length/(each*time.Duration(s.calls))), 1)
	return nil
}

// run measures one slot and returns nanoseconds a call.
func (s *slot) run() (float64, error) {
	runtime.GC() // what others left is not this one's to collect
	if s.runner.took != nil {
		return s.runner.took(s.dir)
	}
	var payload []byte
	var err error
	took := make([]float64, s.pieces)
	for i := range took {
		began := time.Now()
		for range s.calls {
			if payload, err = s.runner.call(); err != nil {
				return 0, err
			}
		}
		took[i] = float64(time.Since(began))
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
	return median(took) / float64(s.calls*max(s.runner.each, 1)), nil
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
