package httprange

import "strings"

// MatchNone reports whether an If-None-Match header names the entity tag, or any
// ("*"): the client then has what it asks for. The comparison is weak. The tag
// is written with its quotes.
func MatchNone(header, tag string) bool { return matchAny(header, tag, weak) }

// Match reports whether an If-Match header names the entity tag, or any. The
// comparison is strong.
func Match(header, tag string) bool { return matchAny(header, tag, strong) }

// MatchRange reports whether an If-Range header names the entity tag, so that
// the Range header counts. The comparison is strong, and a date never matches.
func MatchRange(header, tag string) bool { return strong(strings.Trim(header, " \t"), tag) }

func strong(a, b string) bool { return a == b && strings.HasPrefix(a, `"`) }

func weak(a, b string) bool {
	return strings.TrimPrefix(a, "W/") == strings.TrimPrefix(b, "W/")
}

// matchAny goes through a list of entity tags; what follows a malformed one does
// not count.
func matchAny(header, tag string, same func(a, b string) bool) bool {
	rest := strings.TrimLeft(header, " \t,")
	if strings.Trim(rest, " \t") == "*" {
		return true
	}
	for rest != "" {
		listed, after, ok := cutTag(rest)
		if !ok {
			return false
		}
		if same(listed, tag) {
			return true
		}
		rest = strings.TrimLeft(after, " \t,")
	}
	return false
}

// cutTag takes one entity tag from the beginning of s.
func cutTag(s string) (tag, rest string, ok bool) {
	start := 0
	if strings.HasPrefix(s, "W/") {
		start = 2
	}
	if len(s) <= start || s[start] != '"' {
		return "", "", false
	}
	end := strings.IndexByte(s[start+1:], '"')
	if end < 0 {
		return "", "", false
	}
	end += start + 2
	return s[:end], s[end:], true
}
