package validate

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kaptinlin/jsonschema"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// maxShown is how many code points of a value go into a message, and
// maxAlternatives how many values of a list.
const (
	maxShown        = 80
	maxAlternatives = 12
)

// article puts the kind of a value into words.
func article(kind rawjson.Kind) string {
	switch kind {
	case rawjson.Null:
		return "null"
	case rawjson.Bool:
		return "true or false"
	case rawjson.Array, rawjson.Object:
		return "an " + kind.String()
	case rawjson.Invalid:
		return "nothing"
	}
	return "a " + kind.String()
}

// got puts a value into words, cut so that no message becomes a copy of the data.
func got(raw []byte) string {
	switch kind := rawjson.KindOf(raw); kind {
	case rawjson.Invalid:
		return "nothing"
	case rawjson.Null:
		return "null"
	case rawjson.Array:
		return count(rawjson.Len(raw), "an array of", "element")
	case rawjson.Object:
		return count(rawjson.Len(raw), "an object of", "member")
	case rawjson.String:
		text, _ := rawjson.Unquote(raw)
		return fmt.Sprintf("%s (string)", shown(text))
	default:
		return fmt.Sprintf("%s (%s)", cut(string(raw)), kind)
	}
}

func count(n int, what, of string) string {
	if n == 1 {
		return fmt.Sprintf("%s 1 %s", what, of)
	}
	return fmt.Sprintf("%s %d %ss", what, n, of)
}

// shown is a text as a JSON string, cut.
func shown(text string) string {
	return string(rawjson.Quote(nil, cut(text)))
}

func cut(text string) string {
	if len(text) <= maxShown || utf8.RuneCountInString(text) <= maxShown {
		return text
	}
	n := 0
	for i := range text {
		if n++; n == maxShown {
			return text[:i] + "…"
		}
	}
	return text
}

// oneOf lists alternatives: "a", "b" or "c".
func oneOf(words []string) string {
	var kept []string
	for _, word := range words {
		if !contains(kept, word) {
			kept = append(kept, word)
		}
	}
	if len(kept) > maxAlternatives {
		return fmt.Sprintf("%s or %d others", strings.Join(kept[:maxAlternatives], ", "), len(kept)-maxAlternatives)
	}
	if len(kept) < 2 {
		return strings.Join(kept, "")
	}
	return strings.Join(kept[:len(kept)-1], ", ") + " or " + kept[len(kept)-1]
}

func contains(list []string, word string) bool {
	for _, other := range list {
		if other == word {
			return true
		}
	}
	return false
}

// literal is a decoded value of a schema as JSON, cut.
func literal(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return shown(v)
	case []any:
		return count(len(v), "an array of", "element")
	case map[string]any:
		return count(len(v), "an object of", "member")
	}
	return cut(fmt.Sprint(value))
}

func literals(values []any) []string {
	words := make([]string, 0, len(values))
	for _, value := range values {
		words = append(words, literal(value))
	}
	return words
}

func typeWords(types []string) []string {
	words := make([]string, 0, len(types))
	for _, name := range types {
		switch name {
		case "null":
			words = append(words, "null")
		case "boolean":
			words = append(words, "true or false")
		case "integer", "array", "object":
			words = append(words, "an "+name)
		default:
			words = append(words, "a "+name)
		}
	}
	return words
}

// expected puts into words what the keyword of s asks for. The result is "" for
// a keyword that needs more than its schema to tell.
func expected(keyword string, s *jsonschema.Schema) string {
	switch keyword {
	case "type":
		if isReference(s) {
			return `a resource, {"$resource": id}`
		}
		return oneOf(typeWords(s.Type))
	case "enum":
		return oneOf(literals(s.Enum))
	case "const":
		return literal(s.Const.Value)
	case "format":
		return "a string in the format " + formatName(s)
	case "pattern":
		return "a string that matches " + cut(*s.Pattern)
	case "not":
		if s.Not != nil && s.Not.Pattern != nil {
			return "a string that does not match " + cut(*s.Not.Pattern)
		}
		return "a value that the schema does not exclude"
	case "uniqueItems":
		return "elements that differ from one another"
	}
	return expectedBound(keyword, s)
}

// isReference reports whether s is the schema of references to resources, which
// a person needs to hear of as such and not as an object.
func isReference(s *jsonschema.Schema) bool {
	if s.Properties == nil || len(*s.Properties) != 1 {
		return false
	}
	_, ok := (*s.Properties)[abi.ReferenceKey]
	return ok
}

func expectedBound(keyword string, s *jsonschema.Schema) string {
	switch keyword {
	case "minimum":
		return "a number of at least " + rat(s.Minimum)
	case "maximum":
		return "a number of at most " + rat(s.Maximum)
	case "exclusiveMinimum":
		return "a number above " + rat(s.ExclusiveMinimum)
	case "exclusiveMaximum":
		return "a number below " + rat(s.ExclusiveMaximum)
	case "multipleOf":
		return "a multiple of " + rat(s.MultipleOf)
	case "minLength":
		return count(size(s.MinLength), "at least", "character")
	case "maxLength":
		return count(size(s.MaxLength), "at most", "character")
	case "minItems":
		return count(size(s.MinItems), "at least", "element")
	case "maxItems":
		return count(size(s.MaxItems), "at most", "element")
	case "minProperties":
		return count(size(s.MinProperties), "at least", "member")
	case "maxProperties":
		return count(size(s.MaxProperties), "at most", "member")
	case "minContains":
		if s.MinContains == nil {
			return "at least 1 element that matches"
		}
		return count(size(s.MinContains), "at least", "element") + " that match"
	case "maxContains":
		return count(size(s.MaxContains), "at most", "element") + " that match"
	}
	return ""
}

func rat(r *jsonschema.Rat) string { return cut(jsonschema.FormatRat(r)) }

func size(f *float64) int {
	if f == nil {
		return 0
	}
	return int(*f)
}
