package main

import (
	"slices"
	"strconv"
	"strings"
)

// figure names one thing that a benchmark measures.
type figure struct{ benchmark, unit string }

// figures has what the runs measured.
type figures map[figure][]float64

// read takes what `go test -bench` printed and gives how many figures it has.
// Lines of another form are passed over.
func (f figures) read(output []byte) int {
	count := 0
	for line := range strings.Lines(string(output)) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		if _, err := strconv.Atoi(words[1]); err != nil {
			continue
		}
		for i := 2; i+1 < len(words); i += 2 {
			value, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				break
			}
			at := figure{benchmarkName(words[0]), words[i+1]}
			f[at] = append(f[at], value)
			count++
		}
	}
	return count
}

// benchmarkName is a name as the code has it, without the number of processors.
func benchmarkName(printed string) string {
	name := strings.TrimPrefix(printed, "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			return name[:i]
		}
	}
	return name
}

// median is the middle of what was measured; false if nothing was.
func (f figures) median(of figure) (float64, bool) {
	list := slices.Sorted(slices.Values(f[of]))
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)/2], true
}
