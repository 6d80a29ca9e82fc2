package identity

import (
	"strings"
	"testing"
)

func TestParseScope(t *testing.T) {
	for _, known := range KnownScopes() {
		s := strings.Replace(string(known.Scope), "<glob>", "Tool.*", 1)
		if got, err := ParseScope(s); err != nil || string(got) != s {
			t.Errorf("ParseScope(%q) = %q, %v", s, got, err)
		}
		if known.Description == "" {
			t.Errorf("%s has no description", known.Scope)
		}
	}
}

func TestParseScopeRefuses(t *testing.T) {
	tests := []struct{ name, scope, want string }{
		{"empty", "", "unknown scope"},
		{"misspelt", "resource:read", `did you mean "resources:read"?`},
		{"far from all, not led to admin", "bogus", `unknown scope "bogus"; there are admin, tools:call:<glob>, `},
		{"letter case", "Admin", `did you mean "admin"?`},
		{"a family without its colon", "tools:call", `did you mean "tools:call:<glob>"?`},
		{"a misspelt family", "tool:call:Schedule*", `did you mean "tools:call:<glob>"?`},
		{"no pattern", "tools:call:", "is empty"},
		{"space", "tools:call: Schedule", "space around it"},
		{"line feed", "tools:call:a\nb", "cannot be printed"},
		{"NUL", "tools:call:a\x00b", "cannot be printed"},
		{"not UTF-8", "tools:call:\xff", "not UTF-8"},
		{"long", "tools:call:" + strings.Repeat("a", 1000), "at most 256 bytes"},
		{"a star outside a family", "*", "unknown scope"},
		{"a star in a name", "resources:*", "unknown scope"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseScope(tt.scope)
			if err == nil || got != "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseScope(%q) = %q, %v, want an error with %q", tt.scope, got, err, tt.want)
			}
		})
	}
}

func TestAllow(t *testing.T) {
	tests := []struct {
		name   string
		scopes Scopes
		need   Scope
		want   bool
	}{
		{"nothing", nil, ScopeToolsList, false},
		{"nothing needed of nobody", nil, "", false},
		{"nothing needed", Scopes{ScopeToolsList}, "", false},
		{"the same", Scopes{ScopeToolsList}, ScopeToolsList, true},
		{"another", Scopes{ScopeToolsList}, ScopeResourcesRead, false},
		{"write is not read", Scopes{ScopeResourcesWrite}, ScopeResourcesRead, false},
		{"administrator", Scopes{ScopeAdmin}, ScopeKeysAdmin, true},
		{"administrator of something unknown", Scopes{ScopeAdmin}, "future:scope", true},
		{"admin of plugins is no administrator", Scopes{ScopePluginsAdmin, ScopeKeysAdmin}, ScopeAdmin, false},
		{"pattern in pattern", Scopes{"tools:call:Sched*"}, "tools:call:Schedule.*", true},
		{"pattern wider", Scopes{"tools:call:Schedule.*"}, "tools:call:Sched*", false},
		{"all tools", Scopes{"tools:call:*"}, "tools:call:A*B", true},
		{"all tools is not all", Scopes{"tools:call:*"}, ScopeToolsList, false},
		{"a family without a pattern", Scopes{ScopeToolsCall}, ScopeToolsCall, true},
		{"a plain scope with a star", Scopes{"resources:*"}, ScopeResourcesRead, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.scopes.Allow(tt.need); got != tt.want {
				t.Errorf("%q.Allow(%q) = %v, want %v", tt.scopes, tt.need, got, tt.want)
			}
		})
	}
	if (Scopes{ScopeToolsList}).AllowAll(Scopes{ScopeToolsList, ScopeAdmin}) {
		t.Error("AllowAll lets a key make an administrator's")
	}
}

func TestAllowTool(t *testing.T) {
	tests := []struct {
		name          string
		scopes        Scopes
		tool, command string
		want          bool
	}{
		{"nothing", nil, "Schedule", "Create", false},
		{"all", Scopes{"tools:call:*"}, "Schedule", "Create", true},
		{"administrator", Scopes{ScopeAdmin}, "Schedule", "", true},
		{"no tool", Scopes{ScopeAdmin}, "", "Create", false},
		{"the tool", Scopes{"tools:call:Schedule"}, "Schedule", "Create", true},
		{"the command", Scopes{"tools:call:Schedule.Create"}, "Schedule", "Create", true},
		{"another command", Scopes{"tools:call:Schedule.Create"}, "Schedule", "Delete", false},
		{"no command", Scopes{"tools:call:Schedule.Create"}, "Schedule", "", false},
		{"commands, and none given", Scopes{"tools:call:Schedule.*"}, "Schedule", "", false},
		{"commands by their end", Scopes{"tools:call:*.Read*"}, "Files", "ReadAll", true},
		{"another tool with the same beginning", Scopes{"tools:call:Schedule"}, "Scheduler", "Create", false},
		{"letter case", Scopes{"tools:call:schedule"}, "Schedule", "Create", false},
		{"the second scope", Scopes{ScopeToolsList, "tools:call:A", "tools:call:B"}, "B", "x", true},
		{"listing is not calling", Scopes{ScopeToolsList}, "Schedule", "Create", false},
		{"an empty pattern", Scopes{ScopeToolsCall}, "Schedule", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.scopes.AllowTool(tt.tool, tt.command); got != tt.want {
				t.Errorf("%q.AllowTool(%q, %q) = %v, want %v", tt.scopes, tt.tool, tt.command, got, tt.want)
			}
		})
	}
}
