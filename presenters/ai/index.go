package ai

import (
	"bytes"
	"iter"
	"unicode/utf8"

	"vcphost/internal/rawjson"
)

// child is a member of an object, or an element of an array, whose key is "".
type child struct {
	key   string
	value []byte
}

// contents is what is in a container: how many values, and all of them if there
// are few.
type contents struct {
	total int
	few   []child // all children if there are no more than planned, or else none
	null  bool    // an object without any member that is not null
}

// index remembers what was found out about parts of a document, each under its
// first byte, so that a large one is read once for each level it lies under and
// not again for every question.
type index struct {
	containers map[*byte]*contents
	texts      map[*byte]int
}

func newIndex() index {
	return index{map[*byte]*contents{}, map[*byte]int{}}
}

// contents gives what is in an array or an object.
func (x index) contents(raw []byte) *contents {
	if c, ok := x.containers[&raw[0]]; ok {
		return c
	}
	c := &contents{null: true}
	var few [planned]child
	note := func(key string, value []byte) {
		if c.total < planned {
			few[c.total] = child{key, value}
		}
		c.total++
		c.null = c.null && rawjson.KindOf(value) == rawjson.Null
	}
	if rawjson.KindOf(raw) == rawjson.Array {
		for _, value := range rawjson.Elements(raw) {
			note("", value)
		}
	} else {
		for key, value := range rawjson.Members(raw) {
			note(key, value)
		}
	}
	if c.total <= planned {
		c.few = append([]child(nil), few[:c.total]...)
	}
	x.containers[&raw[0]] = c
	return c
}

// children yields the members or elements of raw in their order.
func (x index) children(raw []byte) iter.Seq2[string, []byte] {
	c := x.contents(raw)
	if c.total > planned {
		if rawjson.KindOf(raw) == rawjson.Object {
			return rawjson.Members(raw)
		}
		return func(yield func(string, []byte) bool) {
			for _, value := range rawjson.Elements(raw) {
				if !yield("", value) {
					return
				}
			}
		}
	}
	return func(yield func(string, []byte) bool) {
		for _, child := range c.few {
			if !yield(child.key, child.value) {
				return
			}
		}
	}
}

// textLength is how many code points a JSON string has.
func (x index) textLength(raw []byte) int {
	const short = 256
	if len(raw) < short {
		return textLength(raw)
	}
	if n, ok := x.texts[&raw[0]]; ok {
		return n
	}
	n := textLength(raw)
	x.texts[&raw[0]] = n
	return n
}

func textLength(raw []byte) int {
	if len(raw) < 2 {
		return 0
	}
	inside := raw[1 : len(raw)-1]
	total := utf8.RuneCount(inside)
	for {
		n := bytes.IndexByte(inside, '\\')
		if n < 0 {
			return total
		}
		size := unitBytes(inside[n:])
		total -= size - 1
		inside = inside[n+size:]
	}
}

// size is how much there is of a value: members, elements, code points, or one.
func (x index) size(raw []byte) int {
	switch rawjson.KindOf(raw) {
	case rawjson.Array, rawjson.Object:
		return x.contents(raw).total
	case rawjson.String:
		return x.textLength(raw)
	}
	return 1
}
