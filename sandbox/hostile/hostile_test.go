package hostile_test

import (
	"os"
	"strings"
	"testing"

	"vcphost/sandbox/hostile"
)

// TestTheSuitePasses runs every case; HOSTILE names some of them instead.
func TestTheSuitePasses(t *testing.T) {
	if raceEnabled {
		t.Skip("a process that compiles under the race detector needs more memory than its limit")
	}
	cases, err := hostile.Select(strings.Fields(os.Getenv("HOSTILE")))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := hostile.Watch(t.Context(), cases, watched(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if !line.Pass {
			t.Errorf("%v", line)
		}
	}
}
