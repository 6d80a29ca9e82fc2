package ids

import (
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestNewIsValidForItsPrefixOnly(t *testing.T) {
	s := NewSource(nil)
	for _, prefix := range []string{Result, Invocation, Request, Record, Resource, Task, Blob, ""} {
		id := s.New(prefix)
		if !Valid(prefix, id) {
			t.Errorf("Valid(%q, %q) = false, want true", prefix, id)
		}
		if Valid("other_", id) {
			t.Errorf("Valid(other_, %q) = true, want false", id)
		}
	}
}

func TestValidRefuses(t *testing.T) {
	good := NewSource(nil).New(Resource)
	tests := []struct{ name, id string }{
		{"empty", ""},
		{"prefix only", "res_"},
		{"short", good[:len(good)-1]},
		{"long", good + "0"},
		{"lower case", "res_" + strings.ToLower(good[4:])},
		{"letter outside the alphabet", good[:len(good)-1] + "U"},
		{"overflow", "res_8ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
		{"path", "res_../../../../../etc/passwd"},
		{"NUL", good[:len(good)-1] + "\x00"},
		{"other prefix", "tr_" + good[4:]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if Valid(Resource, tt.id) {
				t.Errorf("Valid(%q) = true, want false", tt.id)
			}
		})
	}
}

func TestNewSortsByTimeAndSurvivesOddTimes(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s := NewSource(func() time.Time { at = at.Add(time.Millisecond); return at })
	made := make([]string, 100)
	for i := range made {
		made[i] = s.New(Task)
	}
	if !sort.StringsAreSorted(made) {
		t.Error("identifiers of ascending milliseconds do not ascend")
	}
	for _, odd := range []time.Time{{}, time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1<<50, 0)} {
		if id := NewSource(func() time.Time { return odd }).New(Task); !Valid(Task, id) {
			t.Errorf("at %v: %q is not valid", odd, id)
		}
	}
}

func TestNewHammer(t *testing.T) {
	const goroutines, each = 8, 2000
	frozen := time.Unix(1_900_000_000, 0)
	s := NewSource(func() time.Time { return frozen })
	var wg sync.WaitGroup
	made := make([][]string, goroutines)
	for g := range goroutines {
		wg.Go(func() {
			for range each {
				made[g] = append(made[g], s.New(Blob))
			}
		})
	}
	wg.Wait()
	seen := make(map[string]bool, goroutines*each)
	for _, list := range made {
		for _, id := range list {
			if seen[id] {
				t.Fatalf("%s was made twice", id)
			}
			seen[id] = true
		}
	}
}

func BenchmarkNew(b *testing.B) {
	s := NewSource(nil)
	for b.Loop() {
		s.New(Task)
	}
}
