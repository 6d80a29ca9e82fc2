package ai

import (
	"strconv"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// label is how a value is announced: inline before a value on the same line,
// title alone on the line above a value that needs several. A list item has the
// zero label, since its marker announces it.
type label struct{ inline, title string }

// section writes a value that is not a member of another one. Its path are
// tokens from the result on. null is not worth a section.
func (p *Page) section(name string, raw []byte, path ...string) {
	kind := rawjson.KindOf(raw)
	if kind == rawjson.Null || kind == rawjson.Invalid {
		return
	}
	p.path = append(p.path[:0], path...)
	if !p.value(label{name + ": ", name}, "", raw) {
		p.omit(max(p.subject.size(raw), 1), 0)
	}
	p.path = p.path[:0]
}

// value writes any value under its label; key is the name of the member that
// holds it, if one does. It reports false, and leaves nothing, if there is no
// room for even a part of it.
func (p *Page) value(l label, key string, raw []byte) bool {
	switch rawjson.KindOf(raw) {
	case rawjson.String:
		return p.text(l, key, raw)
	case rawjson.Array:
		return p.array(l, raw)
	case rawjson.Object:
		if id, ok := reference(raw); ok {
			return p.line(l.inline + p.subject.name(id))
		}
		return p.object(l, raw)
	}
	return p.line(l.inline + string(raw)) // the very text of a number or a literal
}

// body is the indent of what stands below a title.
func (l label) body() string {
	if len(l.title) > 0 && l.title[0] == '-' {
		return "  "
	}
	return ""
}

// object writes the members of an object as a list.
func (p *Page) object(l label, raw []byte) bool {
	c := p.subject.contents(raw)
	b := block{title: l.title, noun: "object", unit: " members", total: c.total}
	switch {
	case c.total == 0:
		return p.line(l.inline + "(empty object)")
	case p.depth >= p.subject.budget.MaxDepth:
		return p.closed(b)
	case c.null:
		return p.line(l.inline + "(every member is null)")
	}
	return p.write(b, func() (shown int) {
		p.depth++
		p.nested(l.body(), func() { shown = p.members(raw) })
		p.depth--
		return shown
	})
}

const tooDeep = ", nested too deeply"

// closed writes a container that the depth of the budget keeps closed.
func (p *Page) closed(b block) bool {
	b.extra = tooDeep
	return p.write(b, func() int { return 0 })
}

// members writes members in their order until one does not fit. How much room
// each may take is planned, so that a long one does not push the later ones out.
func (p *Page) members(raw []byte) (shown int) {
	plan := newPlan(p.subject.contents(raw), len(raw), p.room(), memberShare)
	for key, value := range p.subject.children(raw) {
		allowed := plan.next(p.room())
		if rawjson.KindOf(value) != rawjson.Null {
			show := func() bool { return p.at(key, func() bool { return p.member(key, value) }) }
			if !p.within(allowed, show, true) && !p.within(3*allowed+memberShare, show, false) {
				return shown
			}
		}
		shown++
	}
	return shown
}

func (p *Page) member(key string, value []byte) bool {
	if len(key) > p.room() {
		return false
	}
	name := "- " + keyText(key)
	return p.value(label{name + ": ", name}, key, value)
}

// reference reports the id of a value that is {"$resource": id}.
func reference(raw []byte) (id string, ok bool) {
	if len(raw) > 512 || rawjson.KindOf(raw) != rawjson.Object || rawjson.Len(raw) != 1 {
		return "", false
	}
	value, ok := rawjson.At(raw, "/"+abi.ReferenceKey)
	if !ok {
		return "", false
	}
	return rawjson.Unquote(value)
}

func itoa(n int) string { return strconv.Itoa(n) }
