package ai

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"vcphost/internal/rawjson"
)

// inline makes any text safe to stand in a line after a label: one line, no
// control characters, no tags.
func inline(s string) string { return escapeAngles(visible(s)) }

// linked is inline, but for a web address, which becomes a link.
func linked(s string) string {
	if isLink(s) {
		return "<" + s + ">"
	}
	return strings.TrimRight(inline(s), " \t")
}

func isLink(s string) bool {
	if !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") {
		return false
	}
	for _, r := range s {
		if r <= ' ' || strings.ContainsRune("<>|`\\\"", r) || !unicode.IsPrint(r) {
			return false
		}
	}
	u, err := url.Parse(s)
	return err == nil && u.Host != ""
}

// visible turns line breaks into a sign for them and control characters other
// than tabs into their pictures, and takes out what changes the order of characters or
// hides text from people (bidirectional controls, tag characters).
func visible(s string) string {
	if strings.IndexFunc(s, isHidden) < 0 {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case !isHidden(r):
			return r
		case r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == '\u0085':
			return '⏎'
		case r < 0x20:
			return 0x2400 + r
		case r == 0x7f:
			return '␡'
		case r < 0xa0:
			return utf8.RuneError
		}
		return -1
	}, s)
}

func isHidden(r rune) bool {
	switch {
	case r < 0x20 && r != '\t', r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029':
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// escapeAngles keeps every < that could begin a tag, a comment or a control
// token from doing so. Others, as in "a < b", stay.
func escapeAngles(s string) string {
	return escapeBefore(s, func(next byte) bool {
		return next == '/' || next == '!' || next == '?' || next == '|' || next == '<' || isLetter(next)
	})
}

// escapeTokens keeps "<|im_start|>" and "<<<[TOOL_REQUEST]>>>" from being read as
// control tokens, and leaves other code as it is.
func escapeTokens(s string) string {
	at := 0
	return escapeBefore(s, func(byte) bool {
		at += strings.IndexByte(s[at:], '<') + 1
		rest := s[at-1:]
		return len(rest) > 2 && rest[1] == '|' && isLetter(rest[2]) || strings.HasPrefix(rest, "<<<[")
	})
}

// escapeBefore writes each < for which acts says so of the byte after it as an
// entity. acts is asked about every < that is not the last byte, in order.
func escapeBefore(s string, acts func(next byte) bool) string {
	from := strings.IndexByte(s, '<')
	if from < 0 {
		return s
	}
	var out strings.Builder
	for from >= 0 {
		out.WriteString(s[:from])
		s = s[from+1:]
		if len(s) > 0 && acts(s[0]) {
			out.WriteString("&lt;")
		} else {
			out.WriteByte('<')
		}
		from = strings.IndexByte(s, '<')
	}
	out.WriteString(s)
	return out.String()
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// blockStart keeps a text that begins a list item from being a heading, a list, a
// fence or the like there.
func blockStart(s string) string {
	trimmed := strings.TrimLeft(s, " ")
	if trimmed == "" {
		return s
	}
	digits := strings.TrimLeft(trimmed, "0123456789")
	switch n := len(trimmed) - len(digits); {
	case n > 0 && n < 10 && digits != "" && (digits[0] == '.' || digits[0] == ')'):
		return trimmed[:n] + `\` + digits
	case strings.IndexByte("#>-+*=_`~|[:", trimmed[0]) >= 0:
		return `\` + trimmed
	}
	return trimmed
}

// keyText is the name of a member as it can be quoted: as it is, or as a JSON
// string in a code span if it holds anything unusual.
func keyText(key string) string {
	plain := key != "" && key[0] != ' ' && key[len(key)-1] != ' '
	for _, r := range key {
		plain = plain && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.$@/ ", r))
	}
	if plain {
		return key
	}
	return codeSpan(string(rawjson.Quote(nil, key)))
}

// cutRunes is s cut to at most n code points, before a character and its marks
// rather than between them.
func cutRunes(s string, n int) string {
	if n <= 0 {
		return ""
	}
	end, count := len(s), 0
	for i := range s {
		if count == n {
			end = i
			break
		}
		count++
	}
	if end == len(s) {
		return s
	}
	for back, at := 0, end; back < 32 && at > 0; back++ {
		if !joins(s[:at], s[at:]) {
			return s[:at]
		}
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return s[:end]
}

// joins reports whether the last character of a and the first of b are parts of
// one for a reader.
func joins(a, b string) bool {
	last, _ := utf8.DecodeLastRuneInString(a)
	next, _ := utf8.DecodeRuneInString(b)
	const joiner = '\u200d'
	switch {
	case unicode.Is(unicode.M, next), next == joiner, last == joiner, next >= 0x1f3fb && next <= 0x1f3ff:
		return true
	case last == '\r' && next == '\n':
		return true
	case isRegional(last) && isRegional(next): // flags are pairs
		n := 0
		for isRegional(last) {
			n++
			a = a[:len(a)-4]
			last, _ = utf8.DecodeLastRuneInString(a)
		}
		return n%2 == 1
	}
	return false
}

func isRegional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }
