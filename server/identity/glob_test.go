package identity

import (
	"strings"
	"testing"
	"time"
)

// matchOracle is the definition of a glob with stars, written down slowly.
func matchOracle(pattern, s string) bool {
	// reach[i]: the pattern read so far matches s[:i].
	reach := make([]bool, len(s)+1)
	reach[0] = true
	for p := range len(pattern) {
		next := make([]bool, len(s)+1)
		any := false
		for i := range next {
			any = any || reach[i]
			switch {
			case pattern[p] == '*':
				next[i] = any
			case i > 0:
				next[i] = reach[i-1] && s[i-1] == pattern[p]
			}
		}
		reach = next
	}
	return reach[len(s)]
}

func TestMatchGlob(t *testing.T) {
	tests := []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "anything at all", true},
		{"Schedule", "Schedule", true},
		{"Schedule", "schedule", false},
		{"Schedule", "Schedule2", false},
		{"Schedule*", "Schedule.Create", true},
		{"Schedule.*", "Schedule", false},
		{"*.Read", "Files.Read", true},
		{"*.Read", "Files.ReadAll", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"*aab", "aaaab", true},
		{"a**b", "ab", true},
		{"?", "a", false},
		{"[a]", "a", false},
		{`\*`, `*`, false},
		{"工具*", "工具箱", true},
	}
	for _, tt := range tests {
		t.Run(tt.pattern+" on "+tt.s, func(t *testing.T) {
			if got := matchGlob(tt.pattern, tt.s); got != tt.want {
				t.Errorf("matchGlob(%q, %q) = %v, want %v", tt.pattern, tt.s, got, tt.want)
			}
			if got := matchOracle(tt.pattern, tt.s); got != tt.want {
				t.Errorf("the oracle says %v, want %v", got, tt.want)
			}
		})
	}
}

func TestMatchGlobIsNotExponential(t *testing.T) {
	began := time.Now()
	if matchGlob(strings.Repeat("*a", 120)+"b", strings.Repeat("a", 20_000)) {
		t.Error("matched")
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
}

func FuzzMatchGlob(f *testing.F) {
	for _, pattern := range []string{"", "*", "a*", "*a*b", "a**b*", "Tool.*", "\xff*"} {
		f.Add(pattern, "Tool.abab")
		f.Add(pattern, "aab\xff")
	}
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if len(pattern)*len(s) > 1<<16 {
			return
		}
		if got, want := matchGlob(pattern, s), matchOracle(pattern, s); got != want {
			t.Errorf("matchGlob(%q, %q) = %v, want %v", pattern, s, got, want)
		}
	})
}

// FuzzCovers holds that a scope that covers another allows whatever that allows.
func FuzzCovers(f *testing.F) {
	f.Add("Schedule*", "Schedule.Create", "Schedule", "Create")
	f.Add("a*b", "a*", "a", "b")
	f.Add("*", "**", "", "x")
	f.Fuzz(func(t *testing.T, have, need, tool, command string) {
		if len(have)+len(need)+len(tool)+len(command) > 1000 {
			return
		}
		given, wanted := Scopes{ScopeToolsCall + Scope(have)}, Scopes{ScopeToolsCall + Scope(need)}
		if given.AllowAll(wanted) && wanted.AllowTool(tool, command) && !given.AllowTool(tool, command) {
			t.Errorf("%q is said to cover %q, and does not allow %q.%q", have, need, tool, command)
		}
	})
}
