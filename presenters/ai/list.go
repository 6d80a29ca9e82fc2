package ai

import (
	"bytes"
	"strings"

	"vcphost/internal/rawjson"
)

// shape is how an array is shown (§8.4).
type shape uint8

const (
	shapeNumbered shape = iota // a numbered list, for whatever the others do not fit
	shapeInline                // short scalars, in one line
	shapeBullets               // scalars and references, one a line
	shapeTable                 // short flat objects
)

const (
	inlineBytes = 40  // the longest string in a line of several
	cellBytes   = 400 // the longest string that goes into a table, as JSON
	cellRunes   = 80  // and in code points
	maxColumns  = 12
)

// array writes the elements of an array in the form that fits them.
func (p *Page) array(l label, raw []byte) bool {
	total := p.subject.contents(raw).total
	b := block{title: l.title, noun: "list", unit: " items", total: total}
	if total == 0 {
		return p.line(l.inline + "(empty list)")
	}
	if p.depth >= p.subject.budget.MaxDepth {
		return p.closed(b)
	}
	form, columns := p.survey(raw)
	if form == shapeInline {
		if text, shown := joined(raw, p.lineRoom()-runes(l.inline)); shown == total && p.line(l.inline+text) {
			return true
		}
	}
	if form == shapeTable {
		b.unit = " rows"
	}
	return p.write(b, func() (shown int) {
		p.depth++
		p.nested(l.body(), func() {
			switch form {
			case shapeInline:
				var text string
				if text, shown = joined(raw, p.lineRoom()-len(", …")); shown > 0 {
					p.line(text + ", …")
				}
			case shapeTable:
				if shown = p.table(raw, columns); shown == 0 { // too wide for the room
					shown = p.items(raw, true)
				}
			default:
				shown = p.items(raw, form == shapeNumbered)
			}
		})
		p.depth--
		return shown
	})
}

// survey decides on the form of an array by as many of its elements as could be
// shown. The columns are those of a table, in the order in which they
// come up, without those that hold nothing but null.
func (p *Page) survey(raw []byte) (shape, []string) {
	room := p.room()
	scalars, short, table := true, true, newColumns()
	for _, element := range p.subject.children(raw) {
		switch rawjson.KindOf(element) {
		case rawjson.Object:
			_, isReference := reference(element)
			scalars, short = scalars && isReference, false
			table.flat = table.flat && !isReference && table.add(element)
		case rawjson.Array:
			return shapeNumbered, nil
		default:
			table.flat = false
			short = short && isShort(element)
		}
		// An element takes at least a separator, and a code point at most six
		// bytes; the names in a row of a table are shown but once.
		least := len(element) / 6
		if table.flat {
			least = min(least, 3*len(table.names))
		}
		if room -= least + 2; room < 0 || !scalars && !table.flat {
			break
		}
		table.rows++
	}
	switch {
	case short && scalars:
		return shapeInline, nil
	case scalars:
		return shapeBullets, nil
	case table.flat && table.rows > 1 && len(table.names) > 0:
		return shapeTable, table.names
	}
	return shapeNumbered, nil
}

// isShort reports whether a scalar can stand in a line with others so that one
// can tell where it ends.
func isShort(raw []byte) bool {
	if rawjson.KindOf(raw) != rawjson.String {
		return true
	}
	return len(raw) > 2 && len(raw) <= inlineBytes+2 && !bytes.ContainsAny(raw, `,\:`)
}

// joined is as many of the elements as fit into a line of room code points.
func joined(raw []byte, room int) (text string, shown int) {
	var line strings.Builder
	for _, element := range rawjson.Elements(raw) {
		item := string(element)
		switch rawjson.KindOf(element) {
		case rawjson.String:
			s, _ := rawjson.Unquote(element)
			item = inline(s)
		case rawjson.Array, rawjson.Object:
			return line.String(), shown
		}
		if shown > 0 {
			item = ", " + item
		}
		if room -= runes(item); room < 0 {
			break
		}
		line.WriteString(item)
		shown++
	}
	return line.String(), shown
}

// items writes elements in their order, each as a list item, until one does not
// fit. What each may take is planned, so that a long one does not hide the rest.
func (p *Page) items(raw []byte, numbered bool) (shown int) {
	plan := newPlan(p.subject.contents(raw), len(raw), p.room(), itemShare)
	i := 0
	for _, element := range p.subject.children(raw) {
		marker := "- "
		if numbered {
			marker = itoa(i+1) + ". "
		}
		fits := p.within(plan.next(p.room()), func() bool {
			return p.item(marker, func() bool {
				return p.at(itoa(i), func() bool { return p.value(label{}, "", element) })
			})
		}, false)
		if !fits {
			break
		}
		i++
	}
	return i
}
