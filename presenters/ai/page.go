package ai

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"vcphost/internal/rawjson"
)

// Page is one section of the text while it is written. Whatever is written stays
// within its limit: a piece that does not fit is not written at all, and who
// wanted to write it cuts and says so. It is not safe for concurrent use.
type Page struct {
	subject *subject
	limit   int // the most code points of out
	listed  int // how many of subject.shown the text lists

	out     []byte
	used    int // code points of out, and what is reserved for counts
	indent  string
	first   string // begins the next line in place of indent, if hasFirst
	has     bool
	depth   int
	path    []string // pointer tokens of the value that is being written
	omitted Omitted
}

func newPage(s *subject, limit, listed int) *Page {
	return &Page{subject: s, limit: limit, listed: listed}
}

// room is how many code points still fit.
func (p *Page) room() int { return p.limit - p.used }

// lead is what the next line begins with.
func (p *Page) lead() string {
	if p.has {
		return p.first
	}
	return p.indent
}

// lineRoom is how many code points the next line may have after its lead.
func (p *Page) lineRoom() int { return p.room() - runes(p.lead()) - 1 }

// line writes one line, and reports whether it fitted.
func (p *Page) line(s string) bool {
	lead := p.lead()
	if s == "" && !p.has {
		lead = ""
	}
	n := runes(lead) + runes(s) + 1
	if n > p.room() {
		return false
	}
	p.out = append(p.out, lead...)
	p.out = append(append(p.out, s...), '\n')
	p.used += n
	p.has = false
	return true
}

// blank writes an empty line, unless a list item's marker waits for its line.
func (p *Page) blank() bool {
	if p.has {
		return true
	}
	if p.room() < 1 {
		return false
	}
	p.out = append(p.out, '\n')
	p.used++
	return true
}

// mark is a state of a page to which it can go back.
type mark struct {
	out, used, omitted int
	first              string
	has                bool
}

func (p *Page) mark() mark {
	return mark{len(p.out), p.used, len(p.omitted.Fields), p.first, p.has}
}

func (p *Page) back(m mark) {
	p.out, p.used, p.omitted.Fields = p.out[:m.out], m.used, p.omitted.Fields[:m.omitted]
	p.first, p.has = m.first, m.has
}

// within runs write with at most n more code points. Where full is set, and more
// room is there than n, a title alone will not do: it is taken back.
func (p *Page) within(n int, write func() bool, full bool) bool {
	m, limit := p.mark(), p.limit
	p.limit = min(limit, p.used+n)
	ok := write()
	p.limit = limit
	if ok && full && n < p.limit-m.used && p.onlyTitle(m) {
		p.back(m)
		return false
	}
	return ok
}

// onlyTitle reports whether what was written since m is one value of which
// nothing is shown for want of room.
func (p *Page) onlyTitle(m mark) bool {
	cuts := p.omitted.Fields[m.omitted:]
	return len(cuts) == 1 && cuts[0].ShownCount == 0 && bytes.Count(p.out[m.out:], []byte("\n")) == 1 &&
		!bytes.HasSuffix(p.out, []byte(tooDeep+")\n"))
}

// nested runs write with deeper lines.
func (p *Page) nested(indent string, write func()) {
	outer := p.indent
	p.indent += indent
	write()
	p.indent = outer
}

// item runs write for one list item: marker begins its first line, and its
// other lines stand below the text after the marker. Where nothing was shown,
// nothing stays.
func (p *Page) item(marker string, write func() bool) bool {
	m, outer := p.mark(), p.indent
	p.first, p.has = p.lead()+marker, true
	p.indent += strings.Repeat(" ", len(marker))
	ok := write()
	p.indent = outer
	if !ok {
		p.back(m)
	}
	return ok
}

// at runs write with one more token in the path.
func (p *Page) at(token string, write func() bool) bool {
	p.path = append(p.path, token)
	ok := write()
	p.path = p.path[:len(p.path)-1]
	return ok
}

// omit notes that only the first shown of total are in the text of the value at
// the path.
func (p *Page) omit(total, shown int) {
	pointer := ""
	for _, token := range p.path {
		pointer = rawjson.AppendPointer(pointer, token)
	}
	p.omitted.Fields = append(p.omitted.Fields, OmittedField{pointer, total, shown, fetchResult(p.subject.result.ID)})
}

// block is a value that takes lines of its own and can be cut.
type block struct {
	title string // its first line without the colon; "" for the value of a list item
	noun  string // what to call the value of a list item that has to say that it was cut
	unit  string // what is counted, with a space before it; "" if the title says it
	total int
	extra string // why it is cut, if it is not for room
}

func (b block) note(shown int) string {
	return "(showing " + strconv.Itoa(shown) + " of " + strconv.Itoa(b.total) + b.unit + b.extra + ")"
}

// write writes b: its title, and below it what body writes, which returns how
// many of the total it showed. Where that is less, the title says so, and the
// cut is noted. Room for it is set aside before, since a title comes first. It
// reports false, and leaves nothing, where the title does not fit or where a
// value without a title would show nothing.
func (p *Page) write(b block, body func() (shown int)) bool {
	m := p.mark()
	lead := p.lead()
	reserve := len(b.note(b.total)) + 1
	if b.title == "" {
		reserve += len(b.noun) + 3 + runes(p.indent)
	}
	if b.title != "" && !p.line(b.title+":") || p.room() < reserve {
		p.back(m)
		return false
	}
	head := len(p.out)
	p.used += reserve
	shown := body()
	p.used -= reserve
	if shown >= b.total {
		return true
	}
	if shown == 0 {
		p.back(m)
		return b.writeClosed(p)
	}
	p.omit(b.total, shown)
	if b.title != "" {
		p.insert(head-len(":\n"), " "+b.note(shown))
	} else {
		p.insert(head+len(lead), b.noun+" "+b.note(shown)+":\n\n"+p.indent)
	}
	return true
}

// writeClosed writes a block of which nothing is shown. A list item that could
// have been shown, had there been room, is not worth its line.
func (b block) writeClosed(p *Page) bool {
	title := b.title
	if title == "" {
		title = b.noun
		if b.extra == "" {
			return false
		}
	}
	if !p.line(title + " " + b.note(0)) {
		return false
	}
	p.omit(b.total, 0)
	return true
}

func (p *Page) insert(at int, s string) {
	p.out = slices.Insert(p.out, at, []byte(s)...)
	p.used += runes(s)
}

func runes(s string) int { return utf8.RuneCountInString(s) }
