package hostile

import (
	"fmt"
	"strings"
	"time"
)

// Line is what came of one case. Times are in milliseconds and sizes in bytes;
// figures are those of the best attempt, each by itself. A pointer is nil where
// the figure does not apply or cannot be had on this system.
type Line struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Expected []string `json:"expected"` // the acceptable outcomes
	Got      []string `json:"got"`      // all outcomes of all attempts
	Pass     bool     `json:"pass"`
	Problems []string `json:"problems"` // empty if it passes
	Attempts int      `json:"attempts"`
	Seconds  float64  `json:"seconds"`

	HostileCalls     int64    `json:"hostileCalls"`
	GoodCalls        int64    `json:"goodCalls"`     // of the same plugin, between hostile ones
	AnswerMs         *float64 `json:"answerMs"`      // worst, of a call with a deadline of 100 ms
	CancelMs         *float64 `json:"cancelMs"`      // worst, from cancelling to the answer
	MachineLateMs    float64  `json:"machineLateMs"` // worst lateness meanwhile of a tick in a process without guests
	Ticks            int      `json:"ticks"`         // gaps that were measured
	TickGapMs        float64  `json:"tickGapMs"`     // worst
	NeighbourCalls   int      `json:"neighbourCalls"`
	NeighbourP99Ms   float64  `json:"neighbourP99Ms"`
	NeighbourAloneMs float64  `json:"neighbourAloneP99Ms"`
	RSSBefore        *int64   `json:"rssAnonBeforeBytes"`
	RSSPeak          *int64   `json:"rssAnonPeakBytes"`
	RSSAfter         *int64   `json:"rssAnonAfterBytes"`
}

// Bounds are what the figures of a case are held against. A machine that does
// other things, too, is late by itself: the process that watches, in which no
// guest runs, ticks as well meanwhile, and how late it was at worst is taken off
// each time. A field of zero is that of [StandardBounds].
type Bounds struct {
	Answer    time.Duration // of a call with a deadline of 100 ms
	Cancel    time.Duration // from cancelling to the answer
	TickGap   time.Duration // between two ticks of 10 ms
	Neighbour time.Duration // how much later a neighbour's call may be answered than alone, at the 99th percentile
	RSSBytes  int64         // how much more anonymous memory the process may have afterwards
}

// StandardBounds are those of the suite on a machine that has nothing else to do.
func StandardBounds() Bounds {
	return Bounds{
		Answer: 150 * time.Millisecond, Cancel: 20 * time.Millisecond, TickGap: 50 * time.Millisecond,
		Neighbour: 5 * time.Millisecond, RSSBytes: 48 << 20,
	}
}

func (b Bounds) orStandard() Bounds {
	standard := StandardBounds()
	for _, field := range []struct{ value, standard *time.Duration }{
		{&b.Answer, &standard.Answer}, {&b.Cancel, &standard.Cancel}, {&b.TickGap, &standard.TickGap}, {&b.Neighbour, &standard.Neighbour},
	} {
		if *field.value == 0 {
			*field.value = *field.standard
		}
	}
	if b.RSSBytes == 0 {
		b.RSSBytes = standard.RSSBytes
	}
	return b
}

// String is the line for people: verdict, name, outcome, figures, problems.
func (l Line) String() string {
	verdict := "FAIL"
	if l.Pass {
		verdict = "pass"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %-24s %s", verdict, l.Name, strings.Join(l.Got, ", "))
	for _, figure := range l.figures() {
		text.WriteString("; " + figure)
	}
	if !l.Pass {
		fmt.Fprintf(&text, "\n      expected %s", or(l.Expected))
		for _, problem := range l.Problems {
			text.WriteString("\n      " + problem)
		}
	}
	return text.String()
}

func (l Line) figures() []string {
	var list []string
	if l.AnswerMs != nil {
		list = append(list, fmt.Sprintf("answer %.0f ms", *l.AnswerMs))
	}
	if l.CancelMs != nil {
		list = append(list, fmt.Sprintf("cancel %.1f ms", *l.CancelMs))
	}
	if l.Ticks > 0 {
		list = append(list, fmt.Sprintf("gap %.0f ms", l.TickGapMs))
	}
	if l.NeighbourCalls > 0 {
		list = append(list, fmt.Sprintf("neighbour %.1f ms (alone %.1f)", l.NeighbourP99Ms, l.NeighbourAloneMs))
	}
	if l.RSSBefore != nil && l.RSSPeak != nil && l.RSSAfter != nil {
		const mebibyte = 1 << 20
		list = append(list, fmt.Sprintf("memory %d, %d, %d MiB", *l.RSSBefore/mebibyte, *l.RSSPeak/mebibyte, *l.RSSAfter/mebibyte))
	}
	if l.MachineLateMs > milliseconds(tick) {
		list = append(list, fmt.Sprintf("the machine is %.0f ms late by itself", l.MachineLateMs))
	}
	if l.Attempts > 1 {
		list = append(list, fmt.Sprintf("%d attempts", l.Attempts))
	}
	return list
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
