package validate

import (
	"fmt"
	"strings"

	"github.com/kaptinlin/jsonschema"
)

// Bounds of one validation. A unit is about one schema applied to one value, and
// takes one to two microseconds.
const (
	// An honest schema looks at each value a few times.
	baseWork     = 1 << 17
	workPerValue = 8
	maxWork      = 1 << 22
	// maxMatch bounds the length of the longest string times the size of the
	// largest pattern, since a match cannot be interrupted.
	maxMatch = 1 << 29
)

// engine is one validator with a meter. It is not safe for concurrent use.
type engine struct {
	root    *jsonschema.Schema
	work    int // units that are left
	pattern int // instructions of the largest pattern
}

// exhausted is what the meter panics with: the validator has no other way to
// stop half-way.
type exhausted struct{}

// meter makes the validator count what it does with a node: each schema gets a
// format whose check pays for the schema and then does what the schema's own
// format says. Annotations go, since the validator would copy them into every
// result.
func (e *engine) meter(library *jsonschema.Compiler, s *jsonschema.Schema) {
	s.Title, s.Description, s.Default, s.Examples = nil, nil, nil, nil
	s.Deprecated, s.ReadOnly, s.WriteOnly = nil, nil, nil
	s.ContentEncoding, s.ContentMediaType, s.ContentSchema = nil, nil, nil
	e.measurePatterns(s)

	cost, deep := staticCost(s)
	var check func(any) bool
	name := ""
	if s.Format != nil {
		name = *s.Format
		check = assertedFormats()[name]
	}
	metered := fmt.Sprintf("%d %t %s", cost, deep, name)
	s.Format = &metered
	library.RegisterFormat(metered, func(value any) bool {
		e.pay(cost + valueCost(value, deep))
		return check == nil || check(value)
	})
}

func (e *engine) measurePatterns(s *jsonschema.Schema) {
	if s.Pattern != nil {
		size, _ := patternSize(*s.Pattern)
		e.pattern = max(e.pattern, size)
	}
	for pattern := range mapOf(s.PatternProperties) {
		size, _ := patternSize(pattern)
		e.pattern = max(e.pattern, size)
	}
}

// formatName is the format that a metered schema had in its document.
func formatName(s *jsonschema.Schema) string {
	if s == nil || s.Format == nil {
		return ""
	}
	parts := strings.SplitN(*s.Format, " ", 3)
	return parts[len(parts)-1]
}

func (e *engine) pay(units int) {
	if e.work -= units; e.work < 0 {
		panic(exhausted{})
	}
}

// staticCost is what one use of the schema costs whatever the value; deep says
// that it looks at the whole value and not at its first level alone.
func staticCost(s *jsonschema.Schema) (units int, deep bool) {
	units = 1 + len(s.Enum)/8
	// The validator looks each property up in the list of required ones, and
	// compiles the patterns of properties anew for every object.
	units += len(mapOf(s.Properties)) * (1 + len(s.Required)) / 64
	units += 16 * len(mapOf(s.PatternProperties))
	deep = s.UniqueItems != nil && *s.UniqueItems || len(s.Enum) > 0 || s.Const != nil
	return units, deep
}

// valueCost is what the size of a value adds.
func valueCost(value any, deep bool) int {
	switch v := value.(type) {
	case string:
		return len(v) / 1024
	case []any:
		if !deep {
			return len(v) / 16
		}
		units := len(v) / 2
		for _, element := range v {
			units += valueCost(element, true)
		}
		return units
	case map[string]any:
		if !deep {
			return len(v) / 16
		}
		units := len(v) / 2
		for _, member := range v {
			units += valueCost(member, true)
		}
		return units
	}
	return 0
}

// run validates the instance, of which m are the measures. It gives what stopped the validation, which is ""
// when it ran to its end.
func (e *engine) run(instance []byte, m measures) (result *jsonschema.EvaluationResult, stopped string) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case exhausted:
			result, stopped = nil, "budget"
		default:
			// Whatever the validator cannot cope with is not valid.
			result, stopped = nil, fmt.Sprintf("validator: %v", reason)
		}
	}()
	e.work = min(baseWork+workPerValue*m.values, maxWork)
	if m.longest*e.pattern > maxMatch {
		return nil, "budget"
	}
	return e.root.ValidateJSON(instance), ""
}
