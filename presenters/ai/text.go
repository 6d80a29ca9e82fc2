package ai

import (
	"strings"
	"unicode/utf8"

	"vcphost/internal/rawjson"
)

// inlineRunes is the longest string that stands in a line with its name.
const inlineRunes = 200

// text writes a string: in the line of its label if it is short, as a fenced
// block if it is code, and otherwise as a quote, which keeps its Markdown and
// which that Markdown cannot leave.
func (p *Page) text(l label, key string, raw []byte) bool {
	total := p.subject.textLength(raw)
	s := head(raw, max(p.room(), 0)+1)
	if total == 0 {
		return p.line(l.inline + "(empty text)")
	}
	language, code := codeOf(key, s)
	if total <= min(inlineRunes, p.room()) && !strings.ContainsAny(s, "\n\r\u2028\u2029\u0085") && p.line(l.inline+inlineForm(l, s, code)) {
		return true
	}
	b := block{title: l.title, noun: "text", unit: " characters", total: total}
	return p.write(b, func() (shown int) {
		p.nested(l.body(), func() {
			if code {
				shown = p.fenced(language, s)
			} else {
				shown = p.quoted(s)
			}
		})
		return shown
	})
}

func inlineForm(l label, s string, code bool) string {
	switch {
	case code:
		return codeSpan(s)
	case l.inline == "":
		return blockStart(linked(s))
	}
	return linked(s)
}

// quoted writes lines of a quote until one does not fit, and returns how many
// code points of s it showed.
func (p *Page) quoted(s string) (shown int) {
	fences := fenceState{}
	for line := range strings.SplitAfterSeq(s, "\n") {
		if line == "" {
			break
		}
		n := runes(line)
		written := fences.sanitize(strings.TrimRight(line, "\r\n"))
		if p.line(strings.TrimRight("> "+written, " ")) {
			shown += n
			continue
		}
		return shown + p.stump("> ", line, fences.escape)
	}
	return shown
}

// fenced writes lines of code until one does not fit.
func (p *Page) fenced(language, s string) (shown int) {
	fence := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	m := p.mark()
	if !p.line(fence + language) {
		return 0
	}
	end := runes(p.indent) + len(fence) + 1
	p.within(p.room()-end, func() bool {
		for line := range strings.SplitAfterSeq(s, "\n") {
			if line == "" {
				break
			}
			if n := runes(line); p.line(codeText(strings.TrimRight(line, "\r\n"))) {
				shown += n
				continue
			}
			shown += p.stump("", line, codeText)
			break
		}
		return true
	}, false)
	if shown == 0 || !p.line(fence) {
		p.back(m)
		return 0
	}
	return shown
}

// minStump is the shortest piece of a line that is worth showing.
const minStump = 16

// stump writes as much of a line as fits, and returns how much that was.
func (p *Page) stump(marker, line string, safe func(string) string) int {
	room := p.lineRoom() - len(marker) - len("…")
	for n := room; n >= minStump; {
		piece := cutRunes(line, n)
		text := strings.TrimRight(safe(strings.TrimRight(piece, "\r\n")), " ")
		over := runes(text) - room
		if over <= 0 {
			if p.line(marker + text + "…") {
				return runes(piece)
			}
			return 0
		}
		n -= over
	}
	return 0
}

// head gives the first limit code points of a JSON string without decoding what
// comes after them.
func head(raw []byte, limit int) string {
	if len(raw) <= limit {
		text, _ := rawjson.Unquote(raw)
		return text
	}
	inside := raw[1 : len(raw)-1]
	end := 0
	for range limit {
		if end >= len(inside) {
			break
		}
		end += unitBytes(inside[end:])
	}
	part := make([]byte, 0, end+2)
	part = append(append(append(part, '"'), inside[:end]...), '"')
	text, _ := rawjson.Unquote(part)
	return text
}

// unitBytes is the length of the first code point of the inside of a checked
// JSON string, as it is written there.
func unitBytes(inside []byte) int {
	switch {
	case inside[0] < utf8.RuneSelf && inside[0] != '\\':
		return 1
	case inside[0] != '\\':
		_, n := utf8.DecodeRune(inside)
		return n
	case len(inside) < 6 || inside[1] != 'u':
		return min(2, len(inside))
	case len(inside) >= 12 && (inside[2] == 'd' || inside[2] == 'D') && strings.IndexByte("89abAB", inside[3]) >= 0:
		return 12 // a surrogate pair
	}
	return 6
}

// fenceState follows the fenced code in a text that is shown as Markdown: in it,
// angle brackets are code and stay, outside they could act. It trusts only plain
// fences at the very start of a line, of which every Markdown reader thinks the
// same; after anything that could also be a fence, everything is escaped.
type fenceState struct {
	mark    byte // '`' or '~' inside of a fence, 0 outside
	count   int
	unclear bool
}

func (f *fenceState) escape(line string) string {
	if f.mark != 0 && !f.unclear {
		return codeText(line)
	}
	return escapeAngles(visible(line))
}

// sanitize gives a line as it may be shown, and takes note of fences.
func (f *fenceState) sanitize(line string) string {
	body := strings.TrimLeft(line, " \t>-+*0123456789.)")
	if !strings.HasPrefix(body, "```") && !strings.HasPrefix(body, "~~~") {
		return f.escape(line)
	}
	c := body[0]
	rest := strings.TrimLeft(body, string(c))
	count := len(body) - len(rest)
	switch {
	case len(body) < len(line) || strings.ContainsAny(rest, "`~"):
		f.unclear = true
	case f.mark == 0:
		escaped := f.escape(line)
		f.mark, f.count = c, count
		return escaped
	case f.mark == c && count >= f.count && strings.TrimRight(rest, " \t") == "":
		f.mark = 0
		return line
	}
	return f.escape(line)
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		run++
		if s[i] != c {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
