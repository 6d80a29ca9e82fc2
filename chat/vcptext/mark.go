package vcptext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The marks of the text form.
const (
	startMarker = "<<<[TOOL_REQUEST]>>>"
	endMarker   = "<<<[END_TOOL_REQUEST]>>>"
	openMark    = "「始」"
	closeMark   = "「末」"
	openEscape  = "「始ESCAPE」"
	closeEscape = "「末ESCAPE」"

	startMarkerEscape = "<<<[TOOL_REQUEST_ESCAPE]>>>"
	endMarkerEscape   = "<<<[END_TOOL_REQUEST_ESCAPE]>>>"

	beginSign = "始"
	endSign   = "末"
)

// unescape resolves the tokens of an ESCAPE value.
func unescape(value string) string {
	if !holdsEscape(value) {
		return value
	}
	return strings.NewReplacer(startMarkerEscape, startMarker, endMarkerEscape, endMarker, openEscape, openMark).Replace(value)
}

// holdsEscape reports whether unescape would change the value.
func holdsEscape(value string) bool {
	return strings.Contains(value, startMarkerEscape) || strings.Contains(value, endMarkerEscape) ||
		strings.Contains(value, openEscape)
}

// escapeLength gives the length in bytes of the ESCAPE mark of sign that text
// begins with, 0 if there is none.
func escapeLength(text, sign string) int {
	rest, ok := cutBracket(text, "「", "{")
	if !ok {
		return 0
	}
	rest, ok = strings.CutPrefix(rest, sign)
	const word = "ESCAPE"
	if !ok || len(rest) < len(word) || !strings.EqualFold(rest[:len(word)], word) {
		return 0
	}
	rest, ok = cutBracket(rest[len(word):], "」", "}")
	if !ok {
		return 0
	}
	return len(text) - len(rest)
}

func cutBracket(text, bracket, brace string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(text, bracket); ok {
		return rest, true
	}
	return strings.CutPrefix(text, brace)
}

// findCloseEscape gives the place and the length in bytes of the first mark that
// ends an ESCAPE value; at is -1 if there is none.
func findCloseEscape(text string) (at, length int) {
	from := 0
	for {
		n := strings.Index(text[from:], endSign)
		if n < 0 {
			return -1, 0
		}
		sign := from + n
		for _, bracket := range []string{"「", "{"} {
			if !strings.HasSuffix(text[:sign], bracket) {
				continue
			}
			if length := escapeLength(text[sign-len(bracket):], endSign); length > 0 {
				return sign - len(bracket), length
			}
		}
		from = sign + len(endSign)
	}
}

// isSpace is the white space of ECMAScript, by which values have always been
// trimmed.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', 0x2028, 0x2029, 0xfeff:
		return true
	}
	return unicode.Is(unicode.Zs, r)
}

func trim(value string) string { return strings.TrimFunc(value, isSpace) }

// keyLength gives the length in bytes of the key that text begins with, 0 if
// there is none.
func keyLength(text string) int {
	for i, r := range text {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			continue
		}
		if i > 0 && (r == '-' || r == '.' || unicode.IsMark(r)) {
			continue
		}
		return i
	}
	return len(text)
}

// firstInvalid gives the offset of the first byte that is no UTF-8, -1 if all
// is.
func firstInvalid(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}
