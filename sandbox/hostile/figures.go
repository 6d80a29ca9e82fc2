package hostile

import (
	"fmt"
	"time"
)

// figures are what was measured in one attempt, or the best of several.
type figures struct {
	answer, cancel   timed // worst; 0 where there was none
	ticks            int
	gap              timed         // worst
	calls            int           // of the neighbour
	neighbour, alone time.Duration // p99
	late             time.Duration // of ticks elsewhere, worst
	hasRSS           bool
	before           int64 // bytes of anonymous memory
	peak             int64
	after            int64
}

// timed is a time, and how late the machine was by itself meanwhile.
type timed struct{ took, late time.Duration }

// excess is what is left once the machine's part is taken off.
func (t timed) excess() time.Duration { return t.took - t.late }

func (t *timed) better(next timed) bool {
	if next.excess() >= t.excess() {
		return false
	}
	*t = next
	return true
}

// of takes what was measured beside a case, on a machine that was late by itself.
func (f *figures) of(b *beside, alone time.Duration, late time.Duration) {
	f.late, f.alone = late, alone
	f.answer.late, f.cancel.late = late, late
	f.ticks, f.gap, f.peak = b.gaps, timed{b.worstGap, late}, b.peak
	f.calls, f.neighbour = len(b.took), b.p99()
}

// better keeps the best of each figure; figures that belong together stay so.
func (f *figures) better(next figures) {
	f.answer.better(next.answer)
	f.cancel.better(next.cancel)
	if f.gap.better(next.gap) {
		f.ticks, f.late = next.ticks, next.late
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
	over := func(what string, got timed, most time.Duration) {
		if got.excess() > most {
			list = append(list, fmt.Sprintf("%s %.1f ms, %.1f of them the machine's, and %.0f are allowed",
				what, milliseconds(got.took), milliseconds(got.late), milliseconds(most)))
		}
	}
	over("a call with a deadline of 100 ms was answered after", f.answer, bounds.Answer)
	over("a cancelled call was answered after", f.cancel, bounds.Cancel)
	over("nothing else ran for", f.gap, bounds.TickGap)
	over("the neighbour's call took longer by", timed{f.neighbour - f.alone, f.late}, bounds.Neighbour)
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
	if f.answer.took > 0 {
		ms := milliseconds(f.answer.took)
		l.AnswerMs = &ms
	}
	if f.cancel.took > 0 {
		ms := milliseconds(f.cancel.took)
		l.CancelMs = &ms
	}
	l.MachineLateMs = milliseconds(f.late)
	l.Ticks, l.TickGapMs = f.ticks, milliseconds(f.gap.took)
	l.NeighbourCalls, l.NeighbourP99Ms, l.NeighbourAloneMs = f.calls, milliseconds(f.neighbour), milliseconds(f.alone)
	if f.hasRSS {
		l.RSSBefore, l.RSSPeak, l.RSSAfter = &f.before, &f.peak, &f.after
	}
}
