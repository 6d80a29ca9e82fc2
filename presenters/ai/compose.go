package ai

import (
	"strings"

	"vcphost/internal/rawjson"
)

// composition is the whole text, put together from its sections.
type composition struct {
	text    string
	media   []Part
	omitted Omitted
}

// cut reports whether anything is not shown.
func (c *composition) cut() bool { return len(c.omitted.Fields)+len(c.omitted.Resources) > 0 }

// tail is a section after the data. share is the part of the budget that is kept
// free for it, as a divisor, however large the data are.
type tail struct {
	render func(*Page)
	share  int
}

func tails() []tail {
	return []tail{
		{(*Page).resources, 4},
		{(*Page).warnings, 8},
		{(*Page).advice, 8},
		{(*Page).metadata, 8},
	}
}

// compose writes all sections in the order of §8.2 and gives them room in the
// order of §8.5: status, error and summary come first, then what is set aside
// for the primary resource and the others, then the data, and then whatever is
// left for the sections after them. footer is how much to keep free for the
// note that something is missing; it is written if that is not 0.
func compose(s *subject, renderer Renderer, footer int) composition {
	limit := s.budget.MaxCharacters
	if footer > limit/2 {
		footer = 0
	}
	w := &writer{subject: s, left: limit - footer, listed: len(s.shown)}
	aside := w.setAside(limit)
	w.add((*Page).head, w.headRoom(aside))
	w.add(renderer.Render, w.left-sum(aside))
	for i, t := range tails() {
		w.add(t.render, w.left-sum(aside[i+1:]))
	}
	if footer > 0 {
		w.text.WriteString(s.footer())
	}
	c := composition{text: strings.TrimRight(cutRunes(w.text.String(), limit), "\n"), omitted: w.omitted}
	if c.omitted.Fields == nil {
		c.omitted.Fields = []OmittedField{}
	}
	if c.omitted.Resources == nil {
		c.omitted.Resources = []OmittedResource{}
	}
	for _, r := range s.shown[:w.listed] {
		if part, ok := s.media(r); ok {
			c.media = append(c.media, part)
		}
	}
	return c
}

// writer joins sections.
type writer struct {
	subject *subject
	text    strings.Builder
	left    int // code points
	listed  int
	omitted Omitted
}

// setAside is how much to keep free for each section after the data: what it
// makes of its share of the budget.
func (w *writer) setAside(limit int) []int {
	var aside []int
	for _, t := range tails() {
		p := newPage(w.subject, limit/t.share-gap, len(w.subject.shown))
		t.render(p)
		need := 0
		if len(p.out) > 0 {
			need = p.used + gap
		}
		aside = append(aside, need)
	}
	return aside
}

// gap is the blank line before a section.
const gap = 1

// headRoom leaves half of the budget for data, if there are any, but always has
// room for the status.
func (w *writer) headRoom(aside []int) int {
	const status = 160
	if rawjson.KindOf(w.subject.data) == rawjson.Null {
		return max(w.left-sum(aside), min(w.left, status))
	}
	return max(w.left/2, min(w.left, status))
}

// add writes one section with at most room code points, the gap before it
// included.
func (w *writer) add(render func(*Page), room int) {
	p := newPage(w.subject, max(room-gap, 0), w.listed)
	render(p)
	w.listed = p.listed
	w.omitted.Fields = append(w.omitted.Fields, p.omitted.Fields...)
	w.omitted.Resources = append(w.omitted.Resources, p.omitted.Resources...)
	if len(p.out) == 0 {
		return
	}
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	w.text.Write(p.out)
	w.left -= p.used + gap
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}
