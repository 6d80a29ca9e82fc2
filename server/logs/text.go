package logs

import (
	"regexp"
	"slices"
	"strings"
)

// masked stands where a secret stood.
const masked = "***"

// minKnownBytes is the length from which a text that is told to be secret is
// looked for; a shorter one would be found in words that are none.
const minKnownBytes = 8

// Masker takes secrets out of texts; NewMasker makes one. It is safe for
// concurrent use.
type Masker struct {
	known []string // longest first
	forms *regexp.Regexp
}

// secretForms finds API keys, cut ones included, and credentials after the
// scheme that announces them.
const secretForms = `vcp_[0-9A-Za-z][0-9A-Za-z_-]{7,}|\b(?:(?i:bearer)|Basic|BASIC)[ +:=]+["']?[^\s"',;]{8,}`

// NewMasker makes a masker that also knows some secrets by their text. Texts of
// fewer than eight bytes are not looked for.
func NewMasker(secrets ...string) *Masker {
	m := &Masker{forms: regexp.MustCompile(secretForms)}
	for _, secret := range secrets {
		if len(secret) >= minKnownBytes {
			m.known = append(m.known, secret)
		}
	}
	slices.SortFunc(m.known, func(a, b string) int { return len(b) - len(a) })
	return m
}

// Text gives s without secrets; s itself where it has none.
func (m *Masker) Text(s string) string {
	for _, secret := range m.known {
		s = replaceBegun(s, secret)
	}
	if !suspicious(s) {
		return s
	}
	return m.forms.ReplaceAllStringFunc(s, func(found string) string {
		if strings.HasPrefix(found, "vcp_") {
			return "vcp_" + masked
		}
		return found[:strings.IndexAny(found, " +:=")] + " " + masked
	})
}

// headBytes is how much of the beginning of a known secret gives it away: what
// messages repeat of a long text is often cut.
const headBytes = 16

// replaceBegun masks a secret wherever it is written, whole or only as far as it
// was not cut.
func replaceBegun(s, secret string) string {
	head := secret[:min(len(secret), headBytes)]
	before, after, found := strings.Cut(s, head)
	if !found {
		return s
	}
	var out strings.Builder
	for ; found; before, after, found = strings.Cut(after, head) {
		out.WriteString(before)
		out.WriteString(masked)
		after = after[commonPrefix(after, secret[len(head):]):]
	}
	out.WriteString(before)
	return out.String()
}

// commonPrefix is the length of what a and b both begin with.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// suspicious is a quick look for what secretForms might find: most texts of a
// log have nothing of the kind, and a search by pattern is slow.
func suspicious(s string) bool {
	if strings.Contains(s, "vcp_") {
		return true
	}
	for i := range len(s) {
		if c := s[i] | 0x20; c == 'b' && (hasFold(s[i:], "bearer") || hasFold(s[i:], "basic")) {
			return true
		}
	}
	return false
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// secretWords are what the names of secret attributes have in them, in lower
// case and without separators.
func secretWords() []string {
	return []string{
		"authorization", "secret", "token", "password", "passwd", "passphrase", "cookie", "credential",
		"apikey", "privatekey", "signature",
	}
}

// secretName reports whether the value of an attribute of this name is not for
// the log.
func secretName(words []string, name string) bool {
	var stack [64]byte
	plain := stack[:0]
	for i := range len(name) {
		switch c := name[i]; {
		case c == '-' || c == '_' || c == '.' || c == ' ':
		case c >= 'A' && c <= 'Z':
			plain = append(plain, c|0x20)
		default:
			plain = append(plain, c)
		}
	}
	for _, word := range words {
		if strings.Contains(string(plain), word) { // the conversion does not allocate
			return true
		}
	}
	return false
}
