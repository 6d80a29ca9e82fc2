package rawjson

import (
	"bytes"
	"hash/maphash"
)

// Within an object of up to smallObject members a new name is compared with each
// earlier one; beyond that a hash table takes over, so that the time stays linear.
const smallObject = 16

// keyStack knows the names that the open objects of a document have had so far.
// Its arrays make small documents free of allocations.
type keyStack struct {
	frames []keyFrame
	keys   [][]byte // of all open objects, outermost first
	// tables are the hash tables by depth; they are kept for the next object of
	// that depth.
	tables [][]uint32
	seed   maphash.Seed

	frameArray [32]keyFrame
	keyArray   [64][]byte
}

// keyFrame is an open array or object; its names are keys[base:].
type keyFrame struct {
	object bool
	hashed bool
	base   int
}

func (k *keyStack) open(object bool) {
	if k.frames == nil {
		k.frames, k.keys = k.frameArray[:0], k.keyArray[:0]
	}
	k.frames = append(k.frames, keyFrame{object: object, base: len(k.keys)})
}

func (k *keyStack) close() {
	if n := len(k.frames); n > 0 {
		k.keys = k.keys[:k.frames[n-1].base]
		k.frames = k.frames[:n-1]
	}
}

func (k *keyStack) inObject() bool {
	return len(k.frames) > 0 && k.frames[len(k.frames)-1].object
}

// add takes one more name of the innermost object and reports whether that had
// it before. plain says that the name has no escapes.
func (k *keyStack) add(name []byte, plain bool) bool {
	if !plain {
		name = []byte(unescape(name))
	}
	depth := len(k.frames) - 1
	f := &k.frames[depth]
	own := k.keys[f.base:]
	if len(own) < smallObject {
		for _, other := range own {
			if bytes.Equal(other, name) {
				return true
			}
		}
		k.keys = append(k.keys, name)
		return false
	}
	if !f.hashed || len(own)*2 >= len(k.tables[depth]) {
		k.rehash(depth, own)
		f.hashed = true
	}
	if !k.insert(depth, own, name, uint32(len(own))) {
		return true
	}
	k.keys = append(k.keys, name)
	return false
}

// rehash fills the table of the depth with own, at most a quarter full.
func (k *keyStack) rehash(depth int, own [][]byte) {
	if k.tables == nil {
		k.seed = maphash.MakeSeed()
	}
	for len(k.tables) <= depth {
		k.tables = append(k.tables, nil)
	}
	size := 4 * smallObject
	for size < 4*len(own) {
		size *= 2
	}
	// Only the part in use is cleared: after one object of a million names, each
	// small one of that depth would pay for it otherwise.
	if table := k.tables[depth]; cap(table) >= size {
		k.tables[depth] = table[:size]
		clear(k.tables[depth])
	} else {
		k.tables[depth] = make([]uint32, size)
	}
	for i, name := range own {
		k.insert(depth, own, name, uint32(i))
	}
}

// insert puts the name with its index into the table; it reports false if the
// name is there already. A slot holds an index plus one, 0 is empty.
func (k *keyStack) insert(depth int, own [][]byte, name []byte, index uint32) bool {
	table := k.tables[depth]
	mask := uint64(len(table) - 1)
	for at := maphash.Bytes(k.seed, name) & mask; ; at = (at + 1) & mask {
		slot := table[at]
		if slot == 0 {
			table[at] = index + 1
			return true
		}
		if bytes.Equal(own[slot-1], name) {
			return false
		}
	}
}

// locator follows the tokens of a document and knows the path of the value that
// it is in.
type locator struct {
	steps []step
	// keyNext says that the next string of the innermost object is a name.
	keyNext bool
	// named says of each container whether its step stands for a value yet.
	named []bool
}

func (l *locator) open(object bool) {
	s := step{index: -1}
	if !object {
		s.index = 0
	}
	l.steps = append(l.steps, s)
	l.named = append(l.named, !object)
	l.keyNext = object
}

func (l *locator) close() {
	if n := len(l.steps); n > 0 {
		l.steps, l.named = l.steps[:n-1], l.named[:n-1]
	}
	l.keyNext = false
}

func (l *locator) next() {
	n := len(l.steps)
	if n == 0 {
		return
	}
	last := &l.steps[n-1]
	if last.index >= 0 {
		last.index++
		return
	}
	l.keyNext, l.named[n-1] = true, false
}

func (l *locator) text(raw []byte) {
	if !l.keyNext {
		return
	}
	n := len(l.steps)
	l.steps[n-1].key, l.named[n-1], l.keyNext = unescape(raw), true, false
}

// maxPointerSteps bounds what a hostile document can put into an error message.
const maxPointerSteps = 64

func (l *locator) pointer() string {
	steps := l.steps
	if n := len(steps); n > 0 && !l.named[n-1] {
		steps = steps[:n-1]
	}
	path := Path{steps: steps[:min(len(steps), maxPointerSteps)]}
	return path.String()
}
