package ai

import (
	"unicode/utf8"

	"vcphost/internal/rawjson"
)

// plan shares room out between the members of an object or the elements of an
// array. As long as all fit, each gets what it needs. Otherwise the small ones
// get what they need and the large ones the same share each; and where that share
// would be too small to tell anything, room goes to the first ones.
type plan struct {
	needs []int // of the values from the next one on, empty if not planned
	later int   // what is set aside for the values after the next one
	share int   // the most that is set aside for one
	left  int   // how many values are to come
	roomy bool  // everything fits, whatever each one takes
}

const (
	planned     = 64  // containers of more values are filled from the start on
	memberShare = 48  // the least share of a member: room for its name and a number
	itemShare   = 400 // the least share of an element: few whole ones tell more than many stumps
)

// newPlan plans for the contents of a container of so many bytes; least is the
// smallest share that is of use.
func newPlan(c *contents, bytes, room, least int) *plan {
	p := &plan{left: c.total, roomy: 4*bytes+256 <= room}
	if p.roomy || len(c.few) == 0 {
		return p
	}
	p.needs = make([]int, len(c.few))
	for i, child := range c.few {
		p.needs[i] = min(need(child.value)+len(child.key), room)
	}
	if p.share = level(p.needs, room); p.share < least {
		p.share, p.needs = 0, nil
	}
	for _, n := range p.needs {
		p.later += min(n, p.share)
	}
	return p
}

// need is a guess, rather too high than too low, of how many code points a value
// takes without its name.
func need(value []byte) int {
	n := len(value)
	if n < 4096 { // the length in bytes will do for longer ones
		n = utf8.RuneCount(value)
	}
	switch rawjson.KindOf(value) {
	case rawjson.Null:
		return 0
	case rawjson.Array, rawjson.Object:
		return 2*n + 80
	}
	return n + 24
}

// level is the largest share for which all shares fit into room.
func level(needs []int, room int) int {
	low, high := 0, max(room, 0)
	for low < high {
		middle := (low + high + 1) / 2
		sum := 0
		for _, n := range needs {
			sum += min(n, middle)
		}
		if sum <= room {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// next is how much of room the next value may take.
func (p *plan) next(room int) int {
	left := max(p.left, 1)
	p.left--
	switch {
	case p.roomy:
		return room
	case len(p.needs) == 0:
		return max(room/min(left, 8), min(room, itemShare))
	}
	p.later -= min(p.needs[0], p.share)
	p.needs = p.needs[1:]
	return max(room-p.later, 0)
}
