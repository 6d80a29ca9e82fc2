// Command gen writes the example files of csvchart, prices.csv and sample.csv,
// into the current folder:
//
//	cd examples/csvchart && go run ./gen
//
// The prices are invented. They follow a geometric random walk over the
// weekdays since 2016-01-04, from a generator with a fixed seed, so that a
// run writes the same prices again:
//
//	close(t) = close(t-1) · exp(0.0002 + s(t)·z),   s(t) = 0.011 + 0.006·sin(2πt/370)
//	open     = close(t-1) · exp(0.003·z)
//	high/low = the larger/smaller of both · exp(±0.006·|z|)
//	volume   = 900000 · exp(0.35·z) · (1 + 25·|close(t)/close(t-1) − 1|)
//
// where each z is a new standard normal number. About one cell in a hundred is
// left out, as in real exports; some rows carry a note, with commas, quotes and
// once a line break.
package main

import (
	"encoding/csv"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

const (
	rows       = 2500
	sampleRows = 60
	seed       = 20160104
)

func main() {
	records := prices()
	for name, n := range map[string]int{"prices.csv": rows, "sample.csv": sampleRows} {
		if err := write(name, records[:n+1]); err != nil {
			log.Fatal(err)
		}
	}
}

// prices makes the header and all rows.
func prices() [][]string {
	random := rand.New(rand.NewPCG(seed, 0))
	records := [][]string{{"date", "open", "high", "low", "close", "volume", "note"}}
	last := 42.0
	day := time.Date(2016, 1, 4, 0, 0, 0, 0, time.UTC)
	for t := range rows {
		for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
			day = day.AddDate(0, 0, 1)
		}
		spread := 0.011 + 0.006*math.Sin(2*math.Pi*float64(t)/370)
		closing := last * math.Exp(0.0002+spread*random.NormFloat64())
		opening := last * math.Exp(0.003*random.NormFloat64())
		high := max(opening, closing) * math.Exp(0.006*math.Abs(random.NormFloat64()))
		low := min(opening, closing) * math.Exp(-0.006*math.Abs(random.NormFloat64()))
		volume := 900000 * math.Exp(0.35*random.NormFloat64()) * (1 + 25*math.Abs(closing/last-1))
		record := []string{day.Format(time.DateOnly)}
		for _, price := range []float64{opening, high, low, closing} {
			record = append(record, strconv.FormatFloat(price, 'f', 2, 64))
		}
		record = append(record, strconv.FormatFloat(volume, 'f', 0, 64), "")
		for i := 1; i <= 5; i++ {
			if random.IntN(100) == 0 {
				record[i] = ""
			}
		}
		record[6] = note(t, closing/last-1)
		records = append(records, record)
		last, day = closing, day.AddDate(0, 0, 1)
	}
	return records
}

// note is empty for most days.
func note(t int, change float64) string {
	switch {
	case t == 1200:
		return "Trading halted, 10:40 to 13:05,\nresumed after the notice"
	case change > 0.035:
		return fmt.Sprintf(`up %.1f%%, "strong quarter", says the board`, 100*change)
	case change < -0.035:
		return fmt.Sprintf("down %.1f%%, no reason given", -100*change)
	case t%250 == 249:
		return "dividend, 0.40 per share"
	}
	return ""
}

func write(name string, records [][]string) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := csv.NewWriter(f).WriteAll(records); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return f.Close()
}
