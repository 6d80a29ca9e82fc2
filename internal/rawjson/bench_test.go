package rawjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// documents are the shapes that the benchmarks run on.
func documents() map[string][]byte {
	rows := []byte(`{"rows":[`)
	for i := range 5000 {
		rows = fmt.Appendf(rows, `{"date":"2025-01-%02d","open":%d.25,"close":%d.5,"name":"row \"%d\"","ok":true},`, i%28+1, i, i+1, i)
	}
	rows = append(rows, "null]}"...)
	return map[string][]byte{
		"small": []byte(`{"status":"success","data":{"rows":[{"a":1,"b":"x"},{"a":2,"b":"y"}],"n":null},"resources":[]}`),
		"rows":  rows,
		"text":  Quote(nil, strings.Repeat("Text of some length, with a line break\nand ümlauts. ", 10_000)),
		"keys":  manyKeys(10_000, `"z"`),
	}
}

// against reports how long work takes for every byte, and that relative to the
// time of the other way of doing it in the same run (below 1 is faster).
func against(b *testing.B, size int, work, other func()) {
	b.SetBytes(int64(size))
	var ours, theirs time.Duration
	for b.Loop() {
		start := time.Now()
		work()
		middle := time.Now()
		other()
		ours += middle.Sub(start)
		theirs += time.Since(middle)
	}
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "time-ratio")
	b.ReportMetric(float64(size)*float64(b.N)/ours.Seconds()/1e6, "own-MB/s")
}

func BenchmarkCheckAgainstValid(b *testing.B) {
	for name, raw := range documents() {
		b.Run(name, func(b *testing.B) {
			against(b, len(raw), func() { _ = Check(raw, Limits{}) }, func() { json.Valid(raw) })
		})
	}
}

func BenchmarkWalkAgainstUnmarshal(b *testing.B) {
	for name, raw := range documents() {
		b.Run(name, func(b *testing.B) {
			against(b, len(raw),
				func() { Walk(raw, func(*Path, string, []byte, Kind) Visit { return Continue }) },
				func() { var v any; _ = json.Unmarshal(raw, &v) })
		})
	}
}
