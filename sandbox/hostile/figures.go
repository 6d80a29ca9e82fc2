package hostile

import (
	"fmt"
	"time"
)

// figures are what was measured in one attempt, or the best of several.
type figures struct {
	answer, cancel   time.Duration // worst; 0 where there was none
	ticks            int
	gap              time.Duration // worst
	calls            int           // of the neighbour
	neighbour, alone time.Duration // p99
	late             time.Duration // of a tick without the guest, worst
	hasRSS           bool
	before           int64 // bytes of anonymous memory
	peak             int64
	after            int64
}

// of takes what was measured beside a case.
func (f *figures) of(b *beside, alone control) {
	f.late, f.alone = alone.late, alone.p99
	f.ticks, f.gap, f.peak = b.gaps, b.worstGap, b.peak
	f.calls, f.neighbour = len(b.took), b.p99()
}

// better keeps the best of each figure; figures that belong together stay so.
func (f *figures) better(next figures) {
	f.answer, f.cancel, f.late = min(f.answer, next.answer), min(f.cancel, next.cancel), max(f.late, next.late)
	if next.gap < f.gap {
		f.gap, f.ticks = next.gap, next.ticks
	}
	if next.neighbour-next.alone < f.neighbour-f.alone {
		f.neighbour, f.alone, f.calls = next.neighbour, next.alone, next.calls
	}
	if next.after-next.before < f.after-f.before {
		f.before, f.peak, f.after = next.before, next.peak, next.after
	}
}

// problems lists the figures that are over their bounds.
func (f *figures) problems(bounds Bounds, peak int64) []string {
	var list []string
	over := func(what string, got, most time.Duration) {
		if most += f.late; got > most {
			list = append(list, fmt.Sprintf("%s %.1f ms, and %.0f are allowed", what, milliseconds(got), milliseconds(most)))
		}
	}
	over("a call with a deadline of 100 ms was answered after", f.answer, bounds.Answer)
	over("a cancelled call was answered after", f.cancel, bounds.Cancel)
	over("nothing else ran for", f.gap, bounds.TickGap)
	over("the neighbour's call took longer by", f.neighbour-f.alone, bounds.Neighbour)
	const mebibyte = 1 << 20
	if more := f.after - f.before; f.hasRSS && more > bounds.RSSBytes {
		list = append(list, fmt.Sprintf("%d MiB of memory stayed, and %d are allowed", more/mebibyte, bounds.RSSBytes/mebibyte))
	}
	if more := f.peak - f.before; f.hasRSS && more > peak {
		list = append(list, fmt.Sprintf("it took %d MiB of memory, and %d are allowed", more/mebibyte, peak/mebibyte))
	}
	return list
}

// write puts the figures into a line.
func (f *figures) write(l *Line) {
	if f.answer > 0 {
		ms := milliseconds(f.answer)
		l.AnswerMs = &ms
	}
	if f.cancel > 0 {
		ms := milliseconds(f.cancel)
		l.CancelMs = &ms
	}
	l.MachineLateMs = milliseconds(f.late)
	l.Ticks, l.TickGapMs = f.ticks, milliseconds(f.gap)
	l.NeighbourCalls, l.NeighbourP99Ms, l.NeighbourAloneMs = f.calls, milliseconds(f.neighbour), milliseconds(f.alone)
	if f.hasRSS {
		l.RSSBefore, l.RSSPeak, l.RSSAfter = &f.before, &f.peak, &f.after
	}
}
