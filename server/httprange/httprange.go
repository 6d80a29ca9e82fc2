// Package httprange reads Range headers and compares entity tags (RFC 9110 §8.8
// and §14). It knows no server: it takes the texts of headers and gives what
// they ask for.
//
// # Promises
//
// Parse takes any text in linear time and gives at most [MaxRanges] ranges, all
// of them within the representation, not empty, and no two overlapping; so the
// ranges together are never longer than the whole.
package httprange

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// MaxRanges is how many ranges a header may ask for. One that asks for more is
// ignored, as RFC 9110 §14.2 allows for what looks like an attack.
const MaxRanges = 64

// ErrInvalid says that a header of the unit bytes is malformed.
var ErrInvalid = errors.New("the Range header is malformed")

// ErrUnsatisfiable says that no range lies within the representation.
var ErrUnsatisfiable = errors.New("no range lies within the resource")

// Range is a part of a representation in bytes.
type Range struct{ Start, Length int64 }

// ContentRange is the value of a Content-Range header for the part of a
// representation of size bytes.
func (r Range) ContentRange(size int64) string {
	return fmt.Sprintf("bytes %d-%d/%d", r.Start, r.Start+r.Length-1, size)
}

// Unsatisfied is the value of the Content-Range header of a refusal.
func Unsatisfied(size int64) string { return fmt.Sprintf("bytes */%d", size) }

// Parse gives the parts of a representation of size bytes that a Range header
// asks for, in its order, or, where some overlap, merged and ascending. None and
// no error means that the header is to be ignored: it is empty, of another unit,
// asks for too many, or the representation is empty. The error is ErrInvalid or
// ErrUnsatisfiable.
func Parse(header string, size int64) ([]Range, error) {
	unit, set, ok := strings.Cut(header, "=")
	if !ok || !strings.EqualFold(strings.TrimSpace(unit), "bytes") || size == 0 {
		return nil, nil // of nothing there is nothing to refuse
	}
	var ranges []Range
	asked := 0
	for spec := range strings.SplitSeq(set, ",") {
		spec = strings.Trim(spec, " \t")
		if spec == "" {
			continue // RFC 9110 §5.6.1: empty elements of a list do not count
		}
		if asked++; asked > MaxRanges {
			return nil, nil
		}
		r, err := parseSpec(spec, size)
		if err != nil {
			return nil, err
		}
		if r.Length > 0 {
			ranges = append(ranges, r)
		}
	}
	switch {
	case asked == 0:
		return nil, ErrInvalid
	case len(ranges) == 0:
		return nil, ErrUnsatisfiable
	}
	return merge(ranges), nil
}

// parseSpec reads first-last, first- or -length; a range of no length lies
// outside.
func parseSpec(spec string, size int64) (Range, error) {
	first, last, ok := strings.Cut(spec, "-")
	if !ok || first == "" && last == "" {
		return Range{}, ErrInvalid
	}
	if first == "" {
		length, ok := number(last)
		if !ok {
			return Range{}, ErrInvalid
		}
		length = min(length, size)
		return Range{size - length, length}, nil
	}
	start, ok := number(first)
	if !ok {
		return Range{}, ErrInvalid
	}
	end := int64(math.MaxInt64)
	if last != "" {
		if end, ok = number(last); !ok || end < start {
			return Range{}, ErrInvalid
		}
	}
	if start >= size {
		return Range{}, nil
	}
	return Range{start, min(end, size-1) - start + 1}, nil
}

// number reads digits; what is over an int64 is its greatest.
func number(s string) (int64, bool) {
	if s == "" {
		return 0, false
	}
	n := int64(0)
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		if digit := int64(c - '0'); n > (math.MaxInt64-digit)/10 {
			n = math.MaxInt64
		} else {
			n = n*10 + digit
		}
	}
	return n, true
}

// merge joins ranges if any two of them overlap.
func merge(ranges []Range) []Range {
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	merged := sorted[:1]
	for _, r := range sorted[1:] {
		last := &merged[len(merged)-1]
		if r.Start < last.Start+last.Length {
			last.Length = max(last.Length, r.Start+r.Length-last.Start)
		} else {
			merged = append(merged, r)
		}
	}
	if len(merged) == len(ranges) {
		return ranges
	}
	return merged
}
