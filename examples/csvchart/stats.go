package main

import (
	"math"
	"slices"
	"strconv"
)

// statistics are those of one column of numbers. Mean, median and standard
// deviation are rounded to two digits more than the column's cells have.
type statistics struct {
	Column  string   `json:"column"`
	Count   int      `json:"count"`   // cells with a number
	Missing int      `json:"missing"` // cells without
	Min     float64  `json:"min"`
	Max     float64  `json:"max"`
	Mean    float64  `json:"mean"`
	Median  float64  `json:"median"`
	Stddev  *float64 `json:"stddev"` // of the sample (n-1); nil for a single value
}

func measure(c *column) statistics {
	sorted := make([]float64, 0, c.values.n-c.missing)
	var mean, squares float64
	for i := range c.values.n {
		x := c.values.at(i)
		if math.IsNaN(x) {
			continue
		}
		sorted = append(sorted, x)
		delta := x - mean // Welford: stable where the spread is small beside the mean
		mean += delta / float64(len(sorted))
		squares += delta * (x - mean)
	}
	slices.Sort(sorted)
	n := len(sorted)
	median := sorted[n/2]
	if n%2 == 0 {
		median = sorted[n/2-1] + (sorted[n/2]-sorted[n/2-1])/2
	}
	s := statistics{
		Column: c.name, Count: n, Missing: c.missing, Min: sorted[0], Max: sorted[n-1],
		Mean: c.round(mean), Median: c.round(median),
	}
	if n > 1 {
		spread := c.round(math.Sqrt(squares / float64(n-1)))
		s.Stddev = &spread
	}
	return s
}

func (c *column) round(x float64) float64 {
	if c.decimals < 0 || c.decimals > 12 {
		return x
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', c.decimals+2, 64), 64)
	if err != nil {
		return x
	}
	return rounded
}
