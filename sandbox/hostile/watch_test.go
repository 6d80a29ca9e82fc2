package hostile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"vcphost/sandbox/hostile"
)

// badVerb makes this test binary a process of the suite that goes wrong: hangs
// or dies in its first case, and passes every other.
const badVerb = "bad-hostile"

// goBad is that process.
func goBad(how string, names []string) int {
	if len(names) != 2 {
		for _, name := range names {
			fmt.Printf("{\"began\":%q}\n{\"line\":{\"name\":%q,\"pass\":true}}\n", name, name)
		}
		return 0
	}
	fmt.Printf("{\"began\":%q}\n", names[0])
	switch how {
	case "hangs":
		time.Sleep(time.Minute)
	case "takes":
		taken := make([]byte, 256<<20)
		for i := range taken {
			taken[i] = 1
		}
		time.Sleep(time.Minute)
	}
	return 7
}

func badly(t *testing.T, how string) hostile.WatchOptions {
	t.Helper()
	opts := watched(t)
	opts.Command = func(ctx context.Context, names []string) *exec.Cmd {
		return exec.CommandContext(ctx, os.Args[0], append([]string{badVerb, how}, names...)...)
	}
	return opts
}

func two(t *testing.T) []hostile.Case {
	t.Helper()
	cases, err := hostile.Select([]string{"endless-loop", "exit-in-call"})
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestACaseThatHoldsUpItsProcessFailsAndTheRestGoesOn(t *testing.T) {
	for _, test := range []struct {
		how, problem string
		change       func(*hostile.WatchOptions)
	}{
		{"hangs", "it held up the process", func(o *hostile.WatchOptions) { o.Each = 2 * time.Second }},
		{"dies", "the process died", func(*hostile.WatchOptions) {}},
		{"takes", "memory", func(o *hostile.WatchOptions) { o.Each, o.MemoryBytes = 30*time.Second, 64<<20 }},
	} {
		t.Run(test.how, func(t *testing.T) {
			if test.how == "takes" && !hasProc() {
				t.Skip("what a process takes is known on Linux alone")
			}
			opts := badly(t, test.how)
			test.change(&opts)
			lines, err := hostile.Watch(t.Context(), two(t), opts)
			if err != nil {
				t.Fatal(err)
			}
			if len(lines) != 2 || lines[0].Pass || !lines[1].Pass {
				t.Fatalf("got %v", lines)
			}
			if len(lines[0].Problems) != 1 || !strings.Contains(lines[0].Problems[0], test.problem) || len(lines[0].Expected) == 0 {
				t.Errorf("got problems %v, expected %v", lines[0].Problems, lines[0].Expected)
			}
		})
	}
}

func hasProc() bool {
	_, err := os.Stat("/proc/self/status")
	return err == nil
}

func TestWhatTheWholeTimeLeavesUndoneFails(t *testing.T) {
	opts := badly(t, "hangs")
	opts.Total = time.Second
	lines, err := hostile.Watch(t.Context(), two(t), opts)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 2 || lines[0].Pass || lines[1].Pass {
		t.Errorf("got %v", lines)
	}
}

func TestTheRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	if _, err := hostile.Watch(ctx, two(t), badly(t, "hangs")); err == nil {
		t.Error("a run that was ended says nothing")
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestNamesAreKnownAndOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range hostile.Cases() {
		if seen[c.Name] || c.Name == "" || c.About == "" || strings.ToLower(c.Name) != c.Name {
			t.Errorf("the case %q, %q", c.Name, c.About)
		}
		seen[c.Name] = true
	}
	if _, err := hostile.Select([]string{"nobody"}); err == nil {
		t.Error("a name that there is not is taken")
	}
}

// The members of a line are what others read.
func TestTheMembersOfALine(t *testing.T) {
	raw, err := json.Marshal(hostile.Line{Expected: []string{}, Got: []string{}, Problems: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(members))
	want := []string{
		"about", "answerMs", "attempts", "cancelMs", "expected", "goodCalls", "got", "hostileCalls", "machineLateMs", "name",
		"neighbourAloneP99Ms", "neighbourCalls", "neighbourP99Ms", "pass", "problems",
		"rssAnonAfterBytes", "rssAnonBeforeBytes", "rssAnonPeakBytes", "seconds", "tickGapMs", "ticks",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
