package main

import (
	"math"
	"strconv"
	"time"

	"github.com/go-analyze/charts/chartdraw"
)

// scale is a range with ticks of its own.
type scale struct {
	chartdraw.ContinuousRange
	ticks []chartdraw.Tick
}

func newScale(low, high float64, ticks []chartdraw.Tick) *scale {
	return &scale{ContinuousRange: chartdraw.ContinuousRange{Min: low, Max: high}, ticks: ticks}
}

// GetTicks is how the library asks for them.
func (s *scale) GetTicks(chartdraw.ValueFormatter) []chartdraw.Tick { return s.ticks }

// numberTicks are round numbers, about n of them, at least two: inside the
// range, or just around it where it holds fewer.
func numberTicks(low, high float64, n int) []chartdraw.Tick {
	step := roundStep((high - low) / float64(n))
	first, last := math.Ceil(low/step), math.Floor(high/step)
	if last-first < 1 {
		first, last = math.Floor(low/step), math.Ceil(high/step)
	}
	ticks := []chartdraw.Tick{}
	for k := first; k <= last && len(ticks) < 100; k++ {
		ticks = append(ticks, chartdraw.Tick{Value: k * step, Label: label(k*step, step, max(math.Abs(first), math.Abs(last))*step)})
	}
	return ticks
}

// roundStep is the next larger 1, 2 or 5 times a power of ten.
func roundStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= least {
			return factor * power
		}
	}
	return 10 * power
}

// label writes a tick with as many digits as its step needs; largest decides
// the unit, which all ticks of an axis share.
func label(x, step, largest float64) string {
	unit, suffix := 1.0, ""
	switch {
	case largest >= 1e12 || step < 1e-6:
		return strconv.FormatFloat(x, 'g', 4, 64)
	case largest >= 1e9:
		unit, suffix = 1e9, "G"
	case largest >= 1e6:
		unit, suffix = 1e6, "M"
	}
	digits := max(0, int(-math.Floor(math.Log10(step/unit)+1e-9)))
	return strconv.FormatFloat(x/unit, 'f', min(digits, 8), 64) + suffix
}

// calendarStep is a distance between ticks of time.
type calendarStep struct {
	years, months, days int
	clock               time.Duration
	layout              string
}

func calendarSteps() []calendarStep {
	const byClock, byDay, byMonth, byYear = "15:04", "2006-01-02", "2006-01", "2006"
	steps := []calendarStep{
		{clock: time.Second, layout: "15:04:05"}, {clock: 10 * time.Second, layout: "15:04:05"},
	}
	for _, minutes := range []time.Duration{1, 5, 15, 30, 60, 180, 360, 720} {
		steps = append(steps, calendarStep{clock: minutes * time.Minute, layout: byClock})
	}
	for _, days := range []int{1, 2, 7, 14} {
		steps = append(steps, calendarStep{days: days, layout: byDay})
	}
	for _, months := range []int{1, 2, 3, 6} {
		steps = append(steps, calendarStep{months: months, layout: byMonth})
	}
	for _, years := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000} {
		steps = append(steps, calendarStep{years: years, layout: byYear})
	}
	return steps
}

func (s calendarStep) next(at time.Time) time.Time {
	return at.AddDate(s.years, s.months, s.days).Add(s.clock)
}

// floor is the last tick at or before a time.
func (s calendarStep) floor(at time.Time) time.Time {
	year, month, day := at.Date()
	switch {
	case s.clock > 0:
		midnight := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		return midnight.Add(at.Sub(midnight).Truncate(s.clock))
	case s.days > 0:
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	case s.months > 0:
		return time.Date(year, month-(month-1)%time.Month(s.months), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(year-year%s.years, 1, 1, 0, 0, 0, 0, time.UTC)
}

// dateTicks are round dates between two times in seconds since 1970, at most n
// of them. Where no step fits, they are the two ends.
func dateTicks(first, last float64, n int) []chartdraw.Tick {
	for _, step := range calendarSteps() {
		var ticks []chartdraw.Tick
		for at := step.floor(date(first)); len(ticks) <= n && float64(at.Unix()) <= last; at = step.next(at) {
			if x := float64(at.Unix()); x >= first {
				ticks = append(ticks, chartdraw.Tick{Value: x, Label: at.Format(step.layout)})
			}
		}
		if len(ticks) >= 2 && len(ticks) <= n {
			return ticks
		}
	}
	return []chartdraw.Tick{
		{Value: first, Label: date(first).Format(time.DateOnly)}, {Value: last, Label: date(last).Format(time.DateOnly)},
	}
}
