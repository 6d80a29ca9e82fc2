package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestDoctorReports(t *testing.T) {
	got := invocation{args: []string{"doctor", "--json", "--data", t.TempDir()}}.run(t)
	var report doctorReport
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v: %s%s", err, got.stdout, got.stderr)
	}
	if got.status != exitOK || !report.Pass || report.Hostile != nil {
		t.Errorf("exit status %d: %s", got.status, got.stdout)
	}
	var names []string
	for _, c := range report.Checks {
		names = append(names, c.Name)
	}
	if want := "program data directory store restore compile call"; strings.Join(names, " ") != want {
		t.Errorf("got checks %q, want %s", names, want)
	}
}

func TestDoctorRefusesGuestsThatItHasNot(t *testing.T) {
	for _, args := range [][]string{
		{"doctor", "--only", "endless-loop"}, {"doctor", "--hostile", "--only", "nobody"},
	} {
		got := invocation{args: append(args, "--data", t.TempDir())}.run(t)
		if got.status != exitNoResult || !strings.Contains(got.stderr, "vcphost: ") {
			t.Errorf("%v: exit status %d: %s", args, got.status, got.stderr)
		}
	}
}
