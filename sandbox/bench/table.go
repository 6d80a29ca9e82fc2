package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// row is a line of the table.
type row struct {
	name   string
	series series
	show   func(value float64) string // of an absolute value
	note   string                     // instead of values
	fast   string                     // share of calls on the fast path
}

// writeTable writes the rows as Markdown: medians, and in brackets how many
// times our first column each is, as the median of the rounds' ratios. Columns
// that no row has are left out.
func writeTable(w io.Writer, rows []row) error {
	var shown []column
	for c := range columns {
		for _, r := range rows {
			if len(r.series[c]) > 0 {
				shown = append(shown, c)
				break
			}
		}
	}
	var out strings.Builder
	out.WriteString("| |")
	for _, c := range shown {
		fmt.Fprintf(&out, " %s |", c)
	}
	out.WriteString(" fast path | ± |\n|---|" + strings.Repeat("---:|", len(shown)+2) + "\n")
	for _, r := range rows {
		r.write(&out, shown)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (r row) write(out *strings.Builder, shown []column) {
	fmt.Fprintf(out, "| %s |", r.name)
	if r.note != "" {
		fmt.Fprintf(out, " %s |%s\n", r.note, strings.Repeat(" |", len(shown)+1))
		return
	}
	for _, c := range shown {
		switch values := r.series[c]; {
		case len(values) == 0:
			out.WriteString(" |")
		case c == ours:
			fmt.Fprintf(out, " **%s** |", r.show(median(values)))
		default:
			fmt.Fprintf(out, " %s (%s) |", r.show(median(values)), times(r.series.ratio(c, ours)))
		}
	}
	fmt.Fprintf(out, " %s | %.0f %% |\n", r.fast, 100*r.series.spread())
}

// duration shows nanoseconds with three digits.
func duration(ns float64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= 0.9995*unit.size {
			return digits(ns/unit.size) + " " + unit.name
		}
	}
	return digits(ns) + " ns"
}

// size shows bytes.
func size(bytes float64) string {
	if bytes >= 1<<20 {
		return digits(bytes/(1<<20)) + " MiB"
	}
	return digits(bytes/(1<<10)) + " KiB"
}

func times(ratio float64) string { return digits(ratio) + "×" }

// digits shows a number with about three digits, whole from 100 on.
func digits(v float64) string {
	switch {
	case v >= 1000:
		return thousands(int64(math.Round(v)))
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.0995 || v == 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

func thousands(v int64) string {
	if v < 1000 {
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("%s,%03d", thousands(v/1000), v%1000)
}
