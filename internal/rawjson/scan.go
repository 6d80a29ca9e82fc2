package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// skipSpace returns the position of the first byte from i on that is no JSON
// white space, len(raw) if there is none.
func skipSpace(raw []byte, i int) int {
	for i < len(raw) {
		switch raw[i] {
		case ' ', '\n', '\t', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// skipString returns the position after the string whose opening quote is at i;
// len(raw) if it has no end.
func skipString(raw []byte, i int) int {
	end, _ := stringEnd(raw, i)
	return end
}

// stringEnd is skipString and says whether the string has an end.
func stringEnd(raw []byte, i int) (end int, closed bool) {
	start := i + 1
	for i = start; i < len(raw); {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			break
		}
		i += n + 1
		// A quote after an odd run of backslashes is escaped. Each run is looked
		// at once, so this stays linear.
		run := 0
		for j := i - 2; j >= start && raw[j] == '\\'; j-- {
			run++
		}
		if run%2 == 0 {
			return i, true
		}
	}
	return len(raw), false
}

// skipScalar returns the position after the number or literal that begins at i:
// i itself if there is a delimiter.
func skipScalar(raw []byte, i int) int {
	for i < len(raw) {
		switch raw[i] {
		case ' ', '\n', '\t', '\r', ',', ':', ']', '}', '[', '{', '"':
			return i
		}
		i++
	}
	return i
}

// skipValue returns the position after the value that begins at i, which is no
// white space; i itself if no value begins there. The closing bracket of a
// container is the one that balances the count, whatever its shape.
func skipValue(raw []byte, i int) int {
	if i >= len(raw) {
		return len(raw)
	}
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '[', '{':
		return skipContainer(raw, i)
	}
	return skipScalar(raw, i)
}

func skipContainer(raw []byte, i int) int {
	depth := 0
	for i < len(raw) {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(raw)
}

// member is where one member of an object lies: raw[keyStart:keyEnd] is its
// name between the quotes, value is where its value begins.
type member struct{ keyStart, keyEnd, value int }

// memberAt reads the name of the member that begins at i, past white space and
// past the comma before it. It reports false at the end of the object.
func memberAt(raw []byte, i int) (m member, ok bool) {
	i = skipSpace(raw, i)
	if i < len(raw) && raw[i] == ',' {
		i = skipSpace(raw, i+1)
	}
	if i >= len(raw) || raw[i] != '"' {
		return m, false
	}
	end := skipString(raw, i)
	m.keyStart, m.keyEnd = i+1, end-1
	i = skipSpace(raw, end)
	if m.keyEnd < m.keyStart || i >= len(raw) || raw[i] != ':' {
		return m, false
	}
	m.value = skipSpace(raw, i+1)
	return m, m.value < len(raw)
}

// elementAt returns where the array element begins that follows i, past white
// space and the comma before it. It reports false at the end of the array.
func elementAt(raw []byte, i int) (start int, ok bool) {
	i = skipSpace(raw, i)
	if i < len(raw) && raw[i] == ',' {
		i = skipSpace(raw, i+1)
	}
	return i, i < len(raw) && raw[i] != ']'
}

// open returns the position after the bracket c that raw begins with.
func open(raw []byte, c byte) (inside int, ok bool) {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != c {
		return i, false
	}
	return i + 1, true
}

// plainPrefix returns how many bytes text begins with that are neither a quote
// nor a backslash nor a control character. It looks at eight bytes at a time: in
// each of the three terms the lowest high bit that is set marks the first byte
// that the term is about (borrows only spoil the bits above).
func plainPrefix(text []byte) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	i := 0
	for ; i+8 <= len(text); i += 8 {
		x := binary.LittleEndian.Uint64(text[i:])
		quote := x ^ ones*'"'
		slash := x ^ ones*'\\'
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*0x20)&^x) & highs
		if found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return i
}
