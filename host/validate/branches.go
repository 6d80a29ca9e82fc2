package validate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kaptinlin/jsonschema"

	"vcphost/internal/rawjson"
)

// child is a result below another one that counts against it.
type child struct {
	result *jsonschema.EvaluationResult
	schema *jsonschema.Schema // nil where it cannot be told
	at     place
	group  string // the keyword that led to it
}

// children gives the results below r that made it fail, in an order of their own:
// the validator's is that of a Go map.
func children(r *jsonschema.EvaluationResult, s *jsonschema.Schema, at place) []child {
	var found []child
	for i, d := range r.Details {
		if d == nil || d.IsValid() {
			continue
		}
		group, token := step(d.EvaluationPath)
		switch {
		case group == "if" || group == "not":
			continue
		case group == "" && i == 0 && s != nil && s.ResolvedRef != nil:
			group = "$ref"
		case group == "":
			group = "else"
		}
		if (group == "anyOf" || group == "oneOf") && r.Errors[group] == nil {
			continue
		}
		c := child{result: d, schema: below(s, group, token), group: group}
		if c.at = descend(at, s, d, group); c.at.raw == nil && at.raw != nil && group == "properties" {
			continue // absent: the keyword required tells of it
		}
		found = append(found, c)
	}
	slices.SortStableFunc(found, func(a, b child) int {
		if a.group != b.group {
			return strings.Compare(a.group, b.group)
		}
		if named(a.group) {
			return strings.Compare(a.at.pointer, b.at.pointer)
		}
		return 0
	})
	return found
}

func named(group string) bool {
	switch group {
	case "properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames", "dependentSchemas":
		return true
	}
	return false
}

// step takes "/properties/name" apart. The name is not escaped.
func step(path string) (group, token string) {
	group, token, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return group, token
}

// descend gives the place that a result below at stands for.
func descend(at place, s *jsonschema.Schema, d *jsonschema.EvaluationResult, group string) place {
	token, moved := strings.CutPrefix(d.InstanceLocation, "/")
	if !moved || group == "dependentSchemas" {
		if group == "$ref" {
			return at
		}
		return place{pointer: at.pointer, raw: at.raw, by: at.by, siblings: at.siblings}
	}
	next := place{pointer: rawjson.AppendPointer(at.pointer, token), by: group}
	if group == "propertyNames" {
		next.raw = rawjson.Quote(nil, token)
		return next
	}
	next.raw, _ = member(at.raw, token)
	if s != nil && named(group) {
		for _, name := range sortedKeys(mapOf(s.Properties)) {
			next.siblings = append(next.siblings, shown(name))
		}
	}
	return next
}

// below gives the schema that the keyword of s applied, nil if it cannot be told.
func below(s *jsonschema.Schema, group, token string) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	switch group {
	case "$ref":
		return s.ResolvedRef
	case "then":
		return s.Then
	case "else":
		return s.Else
	case "properties":
		return mapOf(s.Properties)[token]
	case "additionalProperties":
		return s.AdditionalProperties
	case "unevaluatedProperties":
		return s.UnevaluatedProperties
	case "unevaluatedItems":
		return s.UnevaluatedItems
	case "propertyNames":
		return s.PropertyNames
	case "dependentSchemas":
		return s.DependentSchemas[token]
	case "items":
		return s.Items
	case "prefixItems":
		return nth(s.PrefixItems, token)
	case "allOf":
		return nth(s.AllOf, token)
	case "anyOf":
		return nth(s.AnyOf, token)
	case "oneOf":
		return nth(s.OneOf, token)
	case "patternProperties":
		return onlyMatch(mapOf(s.PatternProperties), token)
	}
	return nil
}

// onlyMatch gives the schema of the one pattern that the name matches, nil if
// there are several: the validator does not tell which of them refused.
func onlyMatch(patterns map[string]*jsonschema.Schema, name string) *jsonschema.Schema {
	var only *jsonschema.Schema
	for pattern, schema := range patterns {
		if matched, err := regexp.MatchString(pattern, name); err != nil || !matched {
			continue
		}
		if only != nil {
			return nil
		}
		only = schema
	}
	return only
}

func nth(list []*jsonschema.Schema, token string) *jsonschema.Schema {
	n := 0
	for _, c := range []byte(token) {
		if c < '0' || c > '9' || n > len(list) {
			return nil
		}
		n = n*10 + int(c-'0')
	}
	if token == "" || n >= len(list) {
		return nil
	}
	return list[n]
}

// closest tells of the alternative that the value most likely meant: one whose
// type and discriminator fit, then the one with the fewest problems. Where none
// fits, the alternatives are told together.
func closest(keyword string, branches [][]Problem, at place) []Problem {
	best, bestRank := branches[0], rank(branches[0], at)
	for _, branch := range branches[1:] {
		if r := rank(branch, at); r < bestRank || r == bestRank && len(branch) < len(best) {
			best, bestRank = branch, r
		}
	}
	if bestRank == fits || len(branches) == 1 {
		return best
	}
	// All fail on the same value: together they say what it may be.
	merged := Problem{Pointer: "?", Keyword: keyword}
	var words []string
	for _, branch := range branches {
		if rank(branch, at) != bestRank {
			continue
		}
		for _, problem := range branch {
			if !decides(problem) || merged.Pointer != "?" && problem.Pointer != merged.Pointer {
				continue
			}
			merged.Pointer, merged.Got = problem.Pointer, problem.Got
			words = append(words, problem.Expected)
		}
	}
	if len(words) == 0 {
		return best
	}
	merged.Expected = oneOf(words)
	return []Problem{merged}
}

const (
	fits      = iota
	wrongKind // a member that tells alternatives apart has another value
	wrongTypeAltogether
)

func rank(branch []Problem, at place) int {
	worst := fits
	for _, problem := range branch {
		switch {
		case !decides(problem):
		case problem.Pointer == at.pointer:
			return wrongTypeAltogether
		case strings.Count(problem.Pointer, "/") == strings.Count(at.pointer, "/")+1 && problem.Keyword == "const":
			worst = wrongKind
		}
	}
	return worst
}

// decides reports whether the problem shows that an alternative was not meant.
func decides(problem Problem) bool {
	switch problem.Keyword {
	case "type", "const", "enum", "anyOf", "oneOf":
		return true
	}
	return false
}
