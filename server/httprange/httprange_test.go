package httprange

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	many := "bytes=" + strings.Repeat("0-0,", MaxRanges)
	tests := []struct {
		name, header string
		size         int64
		want         []Range
		err          error
	}{
		{"none", "", 10, nil, nil},
		{"another unit", "lines=0-1", 10, nil, nil},
		{"no unit", "0-1", 10, nil, nil},
		{"closed", "bytes=2-4", 10, []Range{{2, 3}}, nil},
		{"unit in capitals", "Bytes=2-4", 10, []Range{{2, 3}}, nil},
		{"open", "bytes=2-", 10, []Range{{2, 8}}, nil},
		{"suffix", "bytes=-3", 10, []Range{{7, 3}}, nil},
		{"suffix over the size", "bytes=-30", 10, []Range{{0, 10}}, nil},
		{"end over the size", "bytes=8-99", 10, []Range{{8, 2}}, nil},
		{"last byte", "bytes=9-9", 10, []Range{{9, 1}}, nil},
		{"end over an int64", "bytes=8-99999999999999999999", 10, []Range{{8, 2}}, nil},
		{"suffix over an int64", "bytes=-99999999999999999999", 10, []Range{{0, 10}}, nil},
		{"several in their order", "bytes=8-9, 0-1", 10, []Range{{8, 2}, {0, 2}}, nil},
		{"neighbours stay apart", "bytes=0-1,2-3", 10, []Range{{0, 2}, {2, 2}}, nil},
		{"overlapping", "bytes=6-8,0-3,2-4", 10, []Range{{0, 5}, {6, 3}}, nil},
		{"one in another", "bytes=0-8,2-3", 10, []Range{{0, 9}}, nil},
		{"the same twice", "bytes=1-2,1-2", 10, []Range{{1, 2}}, nil},
		{"one outside", "bytes=0-1,20-30", 10, []Range{{0, 2}}, nil},
		{"empty elements and blanks", "bytes= , 0-1\t,,", 10, []Range{{0, 2}}, nil},
		{"as many as allowed", strings.TrimSuffix(many, ","), 10, []Range{{0, 1}}, nil},
		{"one too many", many + "0-0", 10, nil, nil},
		{"empty resource", "bytes=0-", 0, nil, nil},
		{"empty resource, suffix", "bytes=-5", 0, nil, nil},
		{"outside", "bytes=10-", 10, nil, ErrUnsatisfiable},
		{"start over an int64", "bytes=99999999999999999999-", math.MaxInt64, nil, ErrUnsatisfiable},
		{"suffix of nothing", "bytes=-0", 10, nil, ErrUnsatisfiable},
		{"backwards", "bytes=4-2", 10, nil, ErrInvalid},
		{"no numbers", "bytes=-", 10, nil, ErrInvalid},
		{"nothing", "bytes=", 10, nil, ErrInvalid},
		{"only commas", "bytes=,,", 10, nil, ErrInvalid},
		{"signed", "bytes=+1-2", 10, nil, ErrInvalid},
		{"two suffixes", "bytes=--1", 10, nil, ErrInvalid},
		{"three numbers", "bytes=1-2-3", 10, nil, ErrInvalid},
		{"letters", "bytes=a-b", 10, nil, ErrInvalid},
		{"blank in a number", "bytes=1 -2", 10, nil, ErrInvalid},
		{"invalid after valid", "bytes=0-1,x", 10, nil, ErrInvalid},
		{"invalid for an empty resource", "bytes=x", 0, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse(test.header, test.size)
			if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
				t.Errorf("got %v, %v; want %v, %v", got, err, test.want, test.err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("bytes=0-1,4-,-3", int64(10))
	f.Add("bytes=99999999999999999999-", int64(1))
	f.Add("bytes=-9223372036854775808,0-9223372036854775807", int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, header string, size int64) {
		if size < 0 {
			return
		}
		ranges, err := Parse(header, size)
		if len(ranges) > MaxRanges || err != nil && ranges != nil {
			t.Fatalf("got %d ranges, %v", len(ranges), err)
		}
		sorted := slices.SortedFunc(slices.Values(ranges), func(a, b Range) int { return int(min(max(a.Start-b.Start, -1), 1)) })
		end := int64(0)
		for _, r := range sorted {
			if r.Length < 1 || r.Start < end || r.Start > size-r.Length {
				t.Fatalf("got %v of %d", sorted, size)
			}
			end = r.Start + r.Length
		}
	})
}

func TestEntityTags(t *testing.T) {
	const tag = `"abc"`
	tests := []struct {
		name, header            string
		none, match, matchRange bool
	}{
		{"none", "", false, false, false},
		{"the tag", `"abc"`, true, true, true},
		{"weak", `W/"abc"`, true, false, false},
		{"any", "*", true, true, false},
		{"another", `"x"`, false, false, false},
		{"in a list", `"x", W/"y" ,"abc"`, true, true, false},
		{"a comma in a tag", `"x,\"", "abc"`, false, false, false},
		{"without quotes", `abc`, false, false, false},
		{"not closed", `"abc`, false, false, false},
		{"after a malformed one", `x, "abc"`, false, false, false},
		{"any in a list", `"x", *`, false, false, false},
		{"a date", "Tue, 15 Nov 1994 12:45:26 GMT", false, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := MatchNone(test.header, tag); got != test.none {
				t.Errorf("MatchNone: got %v", got)
			}
			if got := Match(test.header, tag); got != test.match {
				t.Errorf("Match: got %v", got)
			}
			if got := MatchRange(test.header, tag); got != test.matchRange {
				t.Errorf("MatchRange: got %v", got)
			}
		})
	}
}
