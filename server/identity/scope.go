package identity

import (
	"fmt"
	"slices"
	"strings"

	"vcphost/internal/edit"
)

// Scope is a permission that a key has or that an operation needs.
type Scope string

// The scopes. ScopeToolsCall is the beginning of a family: a glob follows it.
const (
	ScopeAdmin          Scope = "admin"
	ScopeToolsCall      Scope = "tools:call:"
	ScopeToolsList      Scope = "tools:list"
	ScopeResourcesRead  Scope = "resources:read"
	ScopeResourcesWrite Scope = "resources:write"
	ScopeResultsRead    Scope = "results:read"
	ScopeRecordsRead    Scope = "records:read"
	ScopePluginsRead    Scope = "plugins:read"
	ScopePluginsAdmin   Scope = "plugins:admin"
	ScopeKeysAdmin      Scope = "keys:admin"
	ScopeStatsRead      Scope = "stats:read"
)

// maxScopeBytes bounds a scope with its glob.
const maxScopeBytes = 256

// ScopeInfo describes a scope to people.
type ScopeInfo struct {
	Scope       Scope  `json:"scope"` // a family is written with its placeholder, "tools:call:<glob>"
	Description string `json:"description"`
}

// KnownScopes is the table of scopes. The caller owns the slice.
func KnownScopes() []ScopeInfo {
	return []ScopeInfo{
		{ScopeAdmin, "Everything: all other scopes, and every object of every owner."},
		{ScopeToolsCall + "<glob>", `Call the tools and commands whose name matches, as "Tool" or as "Tool.Command"; "*" stands for any text.`},
		{ScopeToolsList, "List the tools and read their schemas."},
		{ScopeResourcesRead, "Download one's own resources."},
		{ScopeResourcesWrite, "Upload resources."},
		{ScopeResultsRead, "Read one's own results."},
		{ScopeRecordsRead, "Reserved: no records are kept."},
		{ScopePluginsRead, "List the plugins and their state."},
		{ScopePluginsAdmin, "Close the circuit breakers of plugins."},
		{ScopeKeysAdmin, "List, make and revoke keys; a key made has no scope that its maker lacks."},
		{ScopeStatsRead, "Read statistics and metrics."},
	}
}

// ParseScope checks a scope that a person wrote. The error of an unknown one
// names the known one that is near, or else all of them.
func ParseScope(s string) (Scope, error) {
	if len(s) > maxScopeBytes {
		return "", fmt.Errorf("a scope has at most %d bytes", maxScopeBytes)
	}
	if glob, ok := strings.CutPrefix(s, string(ScopeToolsCall)); ok {
		if reason := textFault(glob, maxScopeBytes); reason != "" {
			return "", fmt.Errorf("the pattern of the scope %q %s", s, reason)
		}
		return Scope(s), nil
	}
	for _, known := range KnownScopes() {
		if string(known.Scope) == s {
			return known.Scope, nil
		}
	}
	if near := nearestScope(s); near != "" {
		return "", fmt.Errorf("unknown scope %q; did you mean %q?", s, near)
	}
	var names []string
	for _, known := range KnownScopes() {
		names = append(names, string(known.Scope))
	}
	return "", fmt.Errorf("unknown scope %q; there are %s", s, strings.Join(names, ", "))
}

// nearestScope is the known scope to which s needs the fewest edits, "" where
// even that one needs many: nobody who wrote something else should be led to
// "admin". Of a family only as much of s counts as its beginning is long.
func nearestScope(s string) Scope {
	s = strings.ToLower(s)
	var best Scope
	least := -1
	for _, known := range KnownScopes() {
		name, text := string(known.Scope), s
		if family, ok := strings.CutSuffix(name, "<glob>"); ok {
			name = family
			text = s[:min(len(s), len(family))]
		}
		if d := edit.Distance(text, name); least < 0 || d < least {
			best, least = known.Scope, d
		}
	}
	if least > len(s)/3+1 {
		return ""
	}
	return best
}

// Scopes are what a key may do. Nil allows nothing. No scope implies another,
// but ScopeAdmin all of them.
type Scopes []Scope

// Admin reports whether the scopes are an administrator's.
func (s Scopes) Admin() bool { return slices.Contains(s, ScopeAdmin) }

// Allow reports whether the scopes include need. A scope of the family
// "tools:call:" is included where every call that it allows is allowed by one of
// s; patterns that only together allow as much do not count.
func (s Scopes) Allow(need Scope) bool {
	for _, have := range s {
		if have == ScopeAdmin || have.covers(need) {
			return true
		}
	}
	return false
}

// AllowAll reports whether the scopes include every one of needs: whoever makes
// a key may give it no more than that.
func (s Scopes) AllowAll(needs Scopes) bool {
	for _, need := range needs {
		if !s.Allow(need) {
			return false
		}
	}
	return true
}

// AllowTool reports whether the scopes allow a call, by a pattern that matches
// "tool" or "tool.command" in full, letter case included. The names are those
// of the registry, not what a caller wrote in their place. An empty command,
// which a tool of one unnamed command has, leaves "tool".
func (s Scopes) AllowTool(tool, command string) bool {
	if tool == "" {
		return false
	}
	full := ""
	for _, have := range s {
		if have == ScopeAdmin {
			return true
		}
		glob, ok := have.glob()
		if !ok {
			continue
		}
		if matchGlob(glob, tool) {
			return true
		}
		if command == "" {
			continue
		}
		if full == "" {
			full = tool + "." + command
		}
		if matchGlob(glob, full) {
			return true
		}
	}
	return false
}

// glob is the pattern of a scope that allows calls.
func (have Scope) glob() (pattern string, ok bool) {
	pattern, ok = strings.CutPrefix(string(have), string(ScopeToolsCall))
	return pattern, ok && pattern != ""
}

// covers reports whether have allows all that need does. For patterns that is
// matching one against the other as a text: a star in it, which stands for
// anything, is then only matched by a star.
func (have Scope) covers(need Scope) bool {
	if need == "" {
		return false
	}
	pattern, ok := have.glob()
	if !ok {
		return have == need
	}
	text, ok := need.glob()
	return ok && matchGlob(pattern, text)
}
