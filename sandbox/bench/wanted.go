package main

import (
	"fmt"
	"io"
	"strings"
)

// goal is a figure that was asked for, beside what this run measured.
type goal struct {
	what     string
	bound    float64
	atLeast  bool // else at most
	measured float64
	known    bool
	show     func(float64) string
	beside   string // what a peer does, for comparison
}

// factor is a ratio of two columns of a row; it is known where both were
// measured.
func factor(what string, s series, over, under column) goal {
	ratio := s.ratio(over, under)
	return goal{what: what, measured: ratio, known: ratio > 0, show: times}
}

func (g goal) least(bound float64) goal {
	g.bound, g.atLeast = bound, true
	return g
}

func (g goal) most(bound float64) goal {
	g.bound = bound
	return g
}

func (g goal) reached() bool {
	if g.atLeast {
		return g.measured >= g.bound
	}
	return g.measured <= g.bound
}

// goals are the wanted ratios, from the rows of a run.
func goals(rows []row) []goal {
	of := func(name string) series {
		for _, r := range rows {
			if r.name == name {
				return r.series
			}
		}
		return series{}
	}
	small, json, chart := of(nameFourPages), of(nameGoJSON), of(nameChart)
	list := []goal{
		factor("C-sized guest, isolated: faster than wazero instantiate + call + close", small, wazeroFresh, ours).least(40),
		factor("the same, against wazy", small, wazyFresh, ours).least(4),
		factor("the same, against an Extism instance per call", small, extismFresh, ours).least(200),
		factor("Go with JSON, isolated after its preparation: time over its own warm call in wazero", json, ours, wazeroWarm).most(1.1),
		factor("the same: faster than wazero instantiate + start + call", json, wazeroFresh, ours).least(60),
		factor("csvchart on its file, isolated: time over the same module warm in wazero behind the same host functions", chart, ours, wazeroWarm).most(1.3),
	}
	for _, fuel := range []struct {
		what, name string
		c          column
		bound      float64
	}{
		{"fuel in a tight loop: time over no interrupt at all", nameTight, ours, 1.5},
		{"fuel in recursion", nameRecursion, ours, 1.5},
		{"fuel and virtual memory in real work (csvchart, `shared`)", nameChart, oursShared, 1.25},
	} {
		s := of(fuel.name)
		g := factor(fuel.what, s, fuel.c, wazeroWarm).most(fuel.bound)
		if ratio := s.ratio(wazeroStoppable, wazeroWarm); ratio > 0 {
			g.beside = "WithCloseOnContextDone: " + times(ratio)
		}
		list = append(list, g)
	}
	return list
}

// writeGoals writes what was wanted beside what was measured, as Markdown.
func writeGoals(w io.Writer, list []goal) error {
	var out strings.Builder
	out.WriteString("| | wanted | measured | reached |\n|---|---:|---:|---|\n")
	for _, g := range list {
		sign, measured, verdict := "≤", "not in this run", ""
		if g.atLeast {
			sign = "≥"
		}
		if g.known {
			measured, verdict = g.show(g.measured), "yes"
			if !g.reached() {
				verdict = "**no**"
			}
		}
		if g.beside != "" {
			measured += " (" + g.beside + ")"
		}
		fmt.Fprintf(&out, "| %s | %s %s | %s | %s |\n", g.what, sign, g.show(g.bound), measured, verdict)
	}
	_, err := io.WriteString(w, out.String())
	return err
}
