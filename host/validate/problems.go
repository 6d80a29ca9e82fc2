package validate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kaptinlin/jsonschema"

	"vcphost/internal/rawjson"
)

// maxProblems is how many problems a validation tells of, and maxGathered how
// many it looks at to choose them.
const (
	maxProblems = 10
	maxGathered = 64
)

// Problem is one reason why a value does not pass.
type Problem struct {
	// Pointer is where in the value, as a JSON pointer; "" is the value itself. A
	// member that is missing is named by the pointer that it would have.
	Pointer string `json:"pointer"`
	// Keyword is the keyword of the schema that refused, or "json" for bytes that
	// are no JSON, "number" for one beyond all bounds, "budget" for a value that
	// takes too much work to check.
	Keyword  string `json:"keyword"`
	Expected string `json:"expected"` // in words
	Got      string `json:"got"`      // in words; values are cut at 80 code points
}

// Problems tells what is wrong with the instance, nil if nothing is: at most ten
// problems, the deepest first, in an order that depends on nothing but the
// schema and the instance.
func (s *Schema) Problems(instance []byte) []Problem {
	if s.Trivial() {
		return nil
	}
	m := measure(instance)
	if m.huge {
		pointer, _ := hugeNumber(instance)
		return []Problem{{Pointer: pointer, Keyword: "number", Expected: "a number of at most 1000 digits and an exponent within 1000", Got: "a longer one"}}
	}
	e, err := s.take()
	if err != nil {
		return []Problem{{Keyword: "schema", Expected: "a schema that compiles", Got: cut(err.Error())}}
	}
	result, stopped := e.run(instance, m)
	switch {
	case stopped == "budget":
		s.give(e)
		return []Problem{{Keyword: "budget", Expected: "a value that can be checked in a bounded number of steps", Got: got(instance)}}
	case stopped != "":
		return []Problem{{Keyword: "schema", Expected: "a value that the validator can read", Got: cut(stopped)}}
	}
	defer s.give(e)
	if result.IsValid() {
		return nil
	}
	if result.Errors["format"] != nil && result.Errors["format"].Code == "invalid_json" {
		return []Problem{{Keyword: "json", Expected: "JSON", Got: "something else"}}
	}
	problems := gather(result, e.root, place{raw: instance})
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Compare(strings.Count(b.Pointer, "/"), strings.Count(a.Pointer, "/"))
	})
	return problems[:min(len(problems), maxProblems)]
}

// place is where in the instance a result of the validator stands.
type place struct {
	pointer string
	raw     []byte // nil where there is no such value
	// by is the keyword of the parent schema that led here, and siblings the
	// names that it knows: both serve schemas that are just false.
	by       string
	siblings []string
}

// gather turns one result and those below it into problems.
func gather(r *jsonschema.EvaluationResult, s *jsonschema.Schema, at place) []Problem {
	var problems []Problem
	branches := map[string][][]Problem{}
	for _, c := range children(r, s, at) {
		if len(problems) >= maxGathered {
			break
		}
		below := gather(c.result, c.schema, c.at)
		if c.group == "anyOf" || c.group == "oneOf" {
			branches[c.group] = append(branches[c.group], below)
			continue
		}
		problems = append(problems, below...)
	}
	for _, keyword := range sortedKeys(r.Errors) {
		switch found := branches[keyword]; {
		case len(found) > 0 && r.Errors[keyword].Code != "one_of_multiple_matches":
			problems = append(problems, closest(keyword, found, at)...)
		default:
			problems = append(problems, leaf(r.Errors[keyword], s, at)...)
		}
	}
	if len(problems) == 0 {
		problems = []Problem{{at.pointer, keywordOf(r, at), "a value that the schema allows", got(at.raw)}}
	}
	return problems[:min(len(problems), maxGathered)]
}

// keywordOf names a keyword for a result that failed for no reason of its own.
func keywordOf(r *jsonschema.EvaluationResult, at place) string {
	if keywords := sortedKeys(r.Errors); len(keywords) > 0 && keywords[0] != "schema" {
		return keywords[0]
	}
	return cmp.Or(at.by, "schema")
}

// leaf turns an error of the validator into problems; summaries of what children
// tell themselves become none.
func leaf(err *jsonschema.EvaluationError, s *jsonschema.Schema, at place) []Problem {
	problem := Problem{Pointer: at.pointer, Keyword: err.Keyword, Got: got(at.raw)}
	switch {
	case err.Keyword == "schema":
		return []Problem{noSuch(at)}
	case isSummary(err.Keyword):
		return nil
	case s == nil:
		problem.Expected = "a value that the schema allows"
		return []Problem{problem}
	}
	switch err.Keyword {
	case "required":
		return missing(s.Required, at)
	case "dependentRequired":
		return missingDependent(s, at)
	case "oneOf":
		problem.Expected = "a value that matches exactly one of the alternatives"
		problem.Got = "a value that matches several of them"
	case "unevaluatedItems":
		problem.Expected = "no further elements"
	default:
		problem.Expected = cmp.Or(expected(err.Keyword, s), "a value that the schema allows")
	}
	return []Problem{problem}
}

func isSummary(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "additionalProperties", "propertyNames", "unevaluatedProperties",
		"items", "prefixItems", "allOf", "anyOf", "$ref", "then", "else", "dependentSchemas":
		return true
	}
	return false
}

func missing(names []string, at place) []Problem {
	var problems []Problem
	for _, name := range names {
		if _, found := member(at.raw, name); !found && len(problems) < maxGathered {
			problems = append(problems, Problem{rawjson.AppendPointer(at.pointer, name), "required", "a member of this name", "nothing"})
		}
	}
	return problems
}

func missingDependent(s *jsonschema.Schema, at place) []Problem {
	var problems []Problem
	for _, name := range sortedKeys(s.DependentRequired) {
		if _, found := member(at.raw, name); !found {
			continue
		}
		for _, problem := range missing(s.DependentRequired[name], at) {
			problem.Keyword = "dependentRequired"
			problem.Expected = "a member of this name, since " + shown(name) + " is there"
			problems = append(problems, problem)
		}
	}
	return problems
}

// noSuch tells of a value that must not be there at all.
func noSuch(at place) Problem {
	problem := Problem{Pointer: at.pointer, Keyword: cmp.Or(at.by, "schema"), Expected: "nothing", Got: got(at.raw)}
	switch at.by {
	case "properties", "patternProperties", "additionalProperties", "unevaluatedProperties":
		problem.Expected = "no member of this name"
		if len(at.siblings) > 0 {
			problem.Expected += "; known are " + strings.Replace(oneOf(at.siblings), " or ", " and ", 1)
		}
	case "items", "prefixItems", "unevaluatedItems":
		problem.Expected = "no element here"
	}
	return problem
}

func member(object []byte, name string) ([]byte, bool) {
	return rawjson.At(object, rawjson.AppendPointer("", name))
}
