package main

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"vcphost/host"
)

// benchmark is one benchmark and its -benchtime: a count for those that do their
// own rounds.
type benchmark struct{ name, time string }

func benchmarks() []benchmark {
	return []benchmark{
		{"HumanToolAgainstFiber", "1x"}, {"LatencyAtHalfOfThePeak", "1x"},
		{"DownloadAgainstSendFile", "1x"}, {"UploadAgainstFile", "1x"},
		{"TransferMemory", "1x"}, {"IdleConnections", "1x"},
		{"Execute", "1s"}, {"StepCosts", "2s"},
	}
}

// row is a line of the table.
type row struct {
	what string
	of   figure
	unit string // as it is shown behind the value
	// divide makes a value one of that unit; 0 means that it is one.
	divide float64
	// atLeast and atMost are what is wanted; both 0 means that nothing is.
	atLeast, atMost float64
}

// rows are the lines in their order: ratios, memory, and then what depends on
// the machine alone.
func rows() []row {
	list := []row{
		{what: "calls a second, against a bare Fiber echo", of: figure{"HumanToolAgainstFiber", "ratio"}, unit: "×", atLeast: 0.15},
		{what: "99th percentile at half of the peak, against the median", of: figure{"LatencyAtHalfOfThePeak", "p99/median"}, unit: "×", atMost: 10},
		{what: "speed of a 256 MiB download, against SendFile", of: figure{"DownloadAgainstSendFile", "ratio"}, unit: "×", atLeast: 0.9},
		{what: "time of a 256 MiB upload, against a hashed file, synced", of: figure{"UploadAgainstFile", "times"}, unit: "×", atMost: 4},
		{what: "memory that a 256 MiB download adds", of: figure{"TransferMemory", "download-MiB"}, unit: " MiB", atMost: 32},
		{what: "memory that a 256 MiB upload adds", of: figure{"TransferMemory", "upload-MiB"}, unit: " MiB", atMost: 64},
		{what: "memory with 10,000 idle connections", of: figure{"IdleConnections", "RssAnon-MiB"}, unit: " MiB", atMost: 200},
		{what: "memory with 10,000 idle connections that have settled", of: figure{"IdleConnections", "settled-MiB"}, unit: " MiB"},
		{what: "memory of each of them", of: figure{"IdleConnections", "KiB/connection"}, unit: " KiB"},
		{what: "calls a second", of: figure{"HumanToolAgainstFiber", "requests/s"}},
		{what: "99th percentile at the peak", of: figure{"HumanToolAgainstFiber", "p99-ms"}, unit: " ms"},
		{what: "median at half of the peak", of: figure{"LatencyAtHalfOfThePeak", "median-µs"}, unit: " µs"},
		{what: "99th percentile at half of the peak", of: figure{"LatencyAtHalfOfThePeak", "p99-µs"}, unit: " µs"},
		{what: "download", of: figure{"DownloadAgainstSendFile", "MiB/s"}, unit: " MiB/s"},
		{what: "upload", of: figure{"UploadAgainstFile", "MiB/s"}, unit: " MiB/s"},
		{what: "a call without HTTP", of: figure{"Execute/record=true", "ns/op"}, unit: " µs", divide: 1000},
		{what: "a call without HTTP that is not recorded", of: figure{"Execute/record=false", "ns/op"}, unit: " µs", divide: 1000},
	}
	for _, step := range host.Steps() {
		list = append(list, row{what: "of it, " + string(step), of: figure{"StepCosts", string(step) + "-µs"}, unit: " µs"})
	}
	return list
}

// wanted is what is wanted, and whether a value reaches it.
func (r row) wanted(value float64) (want, reached string) {
	var yes bool
	switch {
	case r.atLeast > 0:
		want, yes = "≥ "+number(r.atLeast)+r.unit, value >= r.atLeast
	case r.atMost > 0:
		want, yes = "≤ "+number(r.atMost)+r.unit, value <= r.atMost
	default:
		return "", ""
	}
	if yes {
		return want, "yes"
	}
	return want, "no"
}

// number shows three digits that count, and never an exponent.
func number(value float64) string {
	digits := 0
	for limit := 100.0; digits < 2 && value < limit && value > -limit; limit /= 10 {
		digits++
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if strings.ContainsRune(text, '.') {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// print writes the table. What was not measured says so.
func print(out io.Writer, found figures) error {
	fmt.Fprintf(out, "%s/%s, %s, %d processors, %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.Version(), runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly))
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "WHAT\tMEASURED\tWANTED\tREACHED")
	for _, r := range rows() {
		value, ok := found.median(r.of)
		if r.divide != 0 {
			value /= r.divide
		}
		want, reached := r.wanted(value)
		measured := number(value) + r.unit
		if !ok {
			measured = "not measured"
			if reached != "" {
				reached = "no"
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.what, measured, want, reached)
	}
	return table.Flush()
}
