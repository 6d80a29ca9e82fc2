package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, test := range []struct {
		name, output string
		want         int
	}{
		{"figures", "goos: linux\nBenchmarkA-2   \t 1\t 12.5 ns/op\t 0.25 ratio\nPASS\n", 2},
		{"a name with a dash and one below it", "BenchmarkA/b-c-16 3 1 x-µs\n", 1},
		{"a name alone, as -v prints it", "BenchmarkA-2\n", 0},
		{"a line of a log", "BenchmarkA-2 is slow today\n", 0},
		{"a value that is none", "BenchmarkA-2 1 many ns/op 2 ratio\n", 0},
		{"a value without a unit", "BenchmarkA-2 1 2 ns/op 3\n", 1},
		{"nothing", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := (figures{}).read([]byte(test.output)); got != test.want {
				t.Errorf("got %d figures, want %d", got, test.want)
			}
		})
	}
	f := figures{}
	f.read([]byte("BenchmarkA/b-c-16 3 1 x\nBenchmarkA/b-c-16 3 9 x\nBenchmarkA/b-c-16 3 2 x\n"))
	if got, ok := f.median(figure{"A/b-c", "x"}); !ok || got != 2 {
		t.Errorf("the median is %v, %v", got, ok)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"BenchmarkA-2 1 2 ns/op\n", "Benchmark 1 NaN x", "Benchmark-\t1\t1e999 x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, output []byte) {
		found := figures{}
		if count := found.read(output); (count == 0) != (len(found) == 0) {
			t.Errorf("%d figures, of %d names", count, len(found))
		}
	})
}

func TestNumber(t *testing.T) {
	for _, test := range []struct {
		value float64
		want  string
	}{{0, "0"}, {0.1247, "0.12"}, {0.9, "0.9"}, {4, "4"}, {49.34, "49.3"}, {200, "200"}, {8894.4, "8894"}, {483459, "483459"}, {-0.5, "-0.5"}} {
		if got := number(test.value); got != test.want {
			t.Errorf("number(%v) = %s, want %s", test.value, got, test.want)
		}
	}
}

func TestTable(t *testing.T) {
	found := figures{
		{"HumanToolAgainstFiber", "ratio"}: {0.15}, {"LatencyAtHalfOfThePeak", "p99/median"}: {10.1},
		{"TransferMemory", "upload-MiB"}: {64}, {"HumanToolAgainstFiber", "requests/s"}: {9000},
	}
	var out strings.Builder
	if err := print(&out, found); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`calls a second, against .* 0\.15× +≥ 0\.15× +yes`, `99th percentile at half of the peak, against .* 10\.1× +≤ 10× +no`,
		`256 MiB upload adds +64 MiB +≤ 64 MiB +yes`, `256 MiB download, against .* not measured +≥ 0\.9× +no`, `calls a second +9000 *`,
	} {
		if !regexp.MustCompile(`(?m)^.*` + want + ` *$`).MatchString(out.String()) {
			t.Errorf("no line %q in\n%s", want, &out)
		}
	}
}

// Every row is measured by a benchmark that runs, under a unit that it reports.
func TestRowsAreMeasured(t *testing.T) {
	files, err := filepath.Glob("../*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no benchmarks: %v", err)
	}
	var code strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(raw)
	}
	runs := map[string]bool{}
	for _, b := range benchmarks() {
		runs[b.name] = true
		if !strings.Contains(code.String(), "func Benchmark"+b.name+"(") {
			t.Errorf("there is no benchmark %s", b.name)
		}
	}
	for _, match := range regexp.MustCompile(`func Benchmark(\w+)\(`).FindAllStringSubmatch(code.String(), -1) {
		if !runs[match[1]] {
			t.Errorf("the benchmark %s is not run", match[1])
		}
	}
	for _, r := range rows() {
		name, _, _ := strings.Cut(r.of.benchmark, "/")
		reported := r.of.unit == "ns/op" || name == "StepCosts" || strings.Contains(code.String(), `"`+r.of.unit+`")`)
		if !runs[name] || !reported {
			t.Errorf("%s: nothing reports %s of %s", r.what, r.of.unit, r.of.benchmark)
		}
	}
}
