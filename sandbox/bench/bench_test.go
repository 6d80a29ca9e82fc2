package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/samyfodil/wazy"
	"github.com/tetratelabs/wazero"
)

func newLab(t *testing.T, p plan) *lab {
	t.Helper()
	box, err := newBox(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{plan: p, box: box, wazero: wazero.NewCompilationCache(), wazy: wazy.NewCompilationCache(), log: t.Logf}
	t.Cleanup(func() {
		if err := box.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// race runs the slots of every host, which check each answer and that calls are
// isolated where a column says so.
func TestEveryHostAnswersAlike(t *testing.T) {
	l := newLab(t, plan{rounds: 2})
	for _, g := range []*guest{
		{name: "1 page", vcp: coreGuest(onePage(), sum), extism: extismGuest(onePage(), sum), invocation: adding(4294967295, 8), sum: 7},
		{name: "4 pages", vcp: coreGuest(fourPages(), sum), extism: extismGuest(fourPages(), sum), invocation: adding(0, 0), sum: 0},
		{name: "tight", vcp: coreGuest(onePage(), tightLoop), extism: extismGuest(onePage(), tightLoop), invocation: adding(1000, 3), sum: turnsInGo(1000, 3, 1)},
		{name: "fat", vcp: coreGuest(onePage(), fatLoop), extism: extismGuest(onePage(), fatLoop), invocation: adding(3, 3), sum: turnsInGo(3, 3, fatSteps)},
		{name: "recursion", vcp: coreGuest(onePage(), recursion), extism: extismGuest(onePage(), recursion), invocation: adding(12, 3), sum: recursionInGo(12, 3)},
	} {
		t.Run(g.name, func(t *testing.T) {
			g.counted = true
			r, err := l.row(t.Context(), g, allColumns())
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range allColumns() {
				if got := len(r.series[c]); possible(g, c) && got != 2 {
					t.Errorf("%s has %d rounds, want 2", c, got)
				}
			}
		})
	}
}

func TestAWrongAnswerIsNoFigure(t *testing.T) {
	l := newLab(t, plan{rounds: 1})
	g := &guest{name: "wrong", vcp: coreGuest(onePage(), sum), invocation: adding(1, 2), sum: 4, counted: true}
	if _, err := l.row(t.Context(), g, []column{wazeroWarm}); err == nil || !strings.Contains(err.Error(), "the sum is 3, want 4") {
		t.Errorf("got %v", err)
	}
	mixed := &runner{column: wazeroFresh, close: func() error { return nil }}
	warm, err := l.open(t.Context(), g, wazeroWarm)
	if err != nil {
		t.Fatal(err)
	}
	mixed.call, g.sum = warm.call, 3
	if _, err := l.plan.race(g, []*runner{mixed}); err == nil || !strings.Contains(err.Error(), "a call sees an earlier one") {
		t.Errorf("an instance that is kept and called isolated gives %v", err)
	}
}

func TestFigures(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{duration(0.4), "0.40 ns"},
		{duration(999), "999 ns"},
		{duration(999.9), "1.00 µs"},
		{duration(12_345), "12.3 µs"},
		{duration(6_484_000), "6.48 ms"},
		{duration(2e9), "2.00 s"},
		{size(123 * 1024), "123 KiB"},
		{size(3 << 20), "3.00 MiB"},
		{times(0.0123), "0.0123×"},
		{times(0.65), "0.65×"},
		{times(95.24), "95.2×"},
		{times(99.96), "100×"},
		{times(1234567), "1,234,567×"},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
	var s series
	s[ours], s[wazeroFresh] = []float64{1, 2, 4}, []float64{10, 40, 40}
	if got := s.ratio(wazeroFresh, ours); got != 10 {
		t.Errorf("the ratio is %v, want the median of 10, 20 and 10", got)
	}
	if got := s.ratio(wazyFresh, ours); got != 0 {
		t.Errorf("the ratio to what was not measured is %v", got)
	}
	if got, want := s.spread(), 0.25; got != want {
		t.Errorf("the spread is %v, want %v", got, want)
	}
}

func TestTables(t *testing.T) {
	r := row{name: "guest", show: duration, fast: "100.0 %"}
	r.series[ours], r.series[wazeroFresh] = []float64{2000}, []float64{100_000}
	var out strings.Builder
	if err := writeTable(&out, []row{r, {name: "other", note: "clang is not installed"}}); err != nil {
		t.Fatal(err)
	}
	const table = "| | vcphost `call` | wazero fresh | fast path | ± |\n" +
		"|---|---:|---:|---:|---:|\n" +
		"| guest | **2.00 µs** | 100 µs (50.0×) | 100.0 % | 0 % |\n" +
		"| other | clang is not installed | | | |\n"
	if got := out.String(); got != table {
		t.Errorf("got\n%s\nwant\n%s", got, table)
	}
	out.Reset()
	list := []goal{
		factor("fast", r.series, wazeroFresh, ours).least(40),
		factor("slow", r.series, wazeroFresh, ours).most(2),
		factor("unknown", r.series, wazyFresh, ours).least(4),
	}
	if err := writeGoals(&out, list); err != nil {
		t.Fatal(err)
	}
	const wanted = "| | wanted | measured | reached |\n|---|---:|---:|---|\n" +
		"| fast | ≥ 40.0× | 50.0× | yes |\n" +
		"| slow | ≤ 2.00× | 50.0× | **no** |\n" +
		"| unknown | ≥ 4.00× | not in this run |  |\n"
	if got := out.String(); got != wanted {
		t.Errorf("got\n%s\nwant\n%s", got, wanted)
	}
}

func TestTheTableGoesBetweenTheMarks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "README.md")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + beginMark + "old\n" + endMark + "after\n")
	if err := replace(path, []byte("new\n")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + beginMark + "new\n" + endMark + "after\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	write("no marks")
	if err := replace(path, []byte("new\n")); err == nil {
		t.Error("a file without marks is written to")
	}
}

// Only what has room to spare is held: these were measured at 150 to 400 times,
// 8 to 30 times and 14 to 50 times, on a machine with much else to do.
func TestRatiosThatAreStable(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	l := newLab(t, plan{rounds: 3, slot: 10 * time.Millisecond})
	const turns = 1_000_000
	small := &guest{name: "small", vcp: coreGuest(fourPages(), sum), extism: extismGuest(fourPages(), sum), invocation: adding(1, 2), sum: 3, counted: true}
	loop := &guest{name: "loop", vcp: coreGuest(onePage(), tightLoop), invocation: adding(turns, 2), sum: turnsInGo(turns, 2, 1), counted: true}
	for _, test := range []struct {
		guest   *guest
		than    column
		atLeast float64
	}{
		{small, extismFresh, 15},
		{small, oursFresh, 2},
		{loop, wazeroStoppable, 3},
	} {
		r, err := l.row(t.Context(), test.guest, []column{ours, test.than})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.series.ratio(test.than, ours); got < test.atLeast {
			t.Errorf("%s: %s takes %s of our time, want at least %s", test.guest.name, test.than, times(got), times(test.atLeast))
		}
	}
}
