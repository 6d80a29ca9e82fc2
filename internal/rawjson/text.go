package rawjson

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote returns the text of the JSON string raw, escapes resolved, leading and
// trailing white space around it allowed. It reports false for any other value.
func Unquote(raw []byte) (string, bool) {
	i := skipSpace(raw, 0)
	if i == len(raw) || raw[i] != '"' {
		return "", false
	}
	end, closed := stringEnd(raw, i)
	if !closed || skipSpace(raw, end) != len(raw) {
		return "", false
	}
	return unescape(raw[i+1 : end-1]), true
}

// unescape returns the text that stands between the quotes of a JSON string. An
// escape that Check would refuse becomes U+FFFD.
func unescape(raw []byte) string {
	n := bytes.IndexByte(raw, '\\')
	if n < 0 {
		return string(raw)
	}
	var text strings.Builder
	text.Grow(len(raw))
	for n >= 0 {
		text.Write(raw[:n])
		r, size := escape(raw[n:])
		text.WriteRune(r)
		raw = raw[n+size:]
		n = bytes.IndexByte(raw, '\\')
	}
	text.Write(raw)
	return text.String()
}

// escape reads the escape sequence that raw begins with, surrogate pairs as one.
// A wrong one is U+FFFD; size is at least 1 and at most len(raw).
func escape(raw []byte) (r rune, size int) {
	if len(raw) < 2 {
		return utf8.RuneError, len(raw)
	}
	switch c := raw[1]; c {
	case 'u':
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case '"', '\\', '/':
		return rune(c), 2
	default:
		return utf8.RuneError, 1
	}
	unit, ok := hexUnit(raw)
	if !ok {
		return utf8.RuneError, 2
	}
	if !utf16.IsSurrogate(unit) {
		return unit, 6
	}
	low, ok := hexUnit(raw[6:])
	if pair := utf16.DecodeRune(unit, low); ok && pair != utf8.RuneError {
		return pair, 12
	}
	return utf8.RuneError, 6
}

// hexUnit reads the UTF-16 code unit of the escape, \u and four digits, that raw begins with.
func hexUnit(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	var unit rune
	for _, c := range raw[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// Quote appends s as a JSON string to dst. Bytes that are no UTF-8 become
// U+FFFD. Of what need not be escaped, only U+2028 and U+2029 are, so that the
// text may also stand in JavaScript.
func Quote(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != '\u2028' && r != '\u2029' && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
			dst = append(dst, s[from:i]...)
			dst = append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			i += size
			from = i
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}
