package validate

import (
	"maps"
	"slices"

	"vcphost/internal/rawjson"
)

// Bounds of a number that is compared exactly: a few bytes of text such as
// 1e999999999 stand for gigabytes of digits.
const (
	maxDigits   = 1000
	maxExponent = 1000
)

// hugeNumber finds the first number in raw that is beyond the bounds and gives
// its pointer. It reads the bytes once and allocates only for a find.
func hugeNumber(raw []byte) (pointer string, huge bool) {
	if !hasHugeNumber(raw) {
		return "", false
	}
	rawjson.Walk(raw, func(path *rawjson.Path, _ string, value []byte, kind rawjson.Kind) rawjson.Visit {
		if kind == rawjson.Number && hasHugeNumber(value) {
			pointer, huge = path.String(), true
			return rawjson.Stop
		}
		return rawjson.Continue
	})
	return pointer, huge
}

func hasHugeNumber(raw []byte) bool { return measure(raw).huge }

// measures are what one pass over the bytes of a text tells of the work that it
// may cause.
type measures struct {
	longest int  // bytes of the longest string
	values  int  // about the number of values
	huge    bool // a number is beyond the bounds
}

func measure(raw []byte) measures {
	m := measures{values: 1}
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			start := i + 1
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			m.longest = max(m.longest, i-start)
		case c == ',' || c == '[' || c == '{':
			m.values++
		case '0' <= c && c <= '9':
			end, huge := scanNumber(raw, i)
			m.huge = m.huge || huge
			i = end - 1
		}
	}
	return m
}

// scanNumber reads the number whose first digit is at i.
func scanNumber(raw []byte, i int) (end int, huge bool) {
	digits := 0
	for ; i < len(raw) && (raw[i] >= '0' && raw[i] <= '9' || raw[i] == '.'); i++ {
		digits++
	}
	if i == len(raw) || raw[i] != 'e' && raw[i] != 'E' {
		return i, digits > maxDigits
	}
	if i++; i < len(raw) && (raw[i] == '+' || raw[i] == '-') {
		i++
	}
	exponent := 0
	for ; i < len(raw) && raw[i] >= '0' && raw[i] <= '9'; i++ {
		exponent = min(exponent*10+int(raw[i]-'0'), maxExponent+1)
	}
	return i, digits > maxDigits || exponent > maxExponent
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
