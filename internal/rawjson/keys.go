package rawjson

import (
	"bytes"
	"hash/maphash"
)

// Within an object of up to smallObject members a new name is compared with each
// earlier one; beyond that a hash table takes over, so that the time stays linear.
const smallObject = 16

// keyFrame is an open array or object of the scan.
type keyFrame struct {
	object bool
	hashed bool // the table of its depth holds its names
	base   int  // where its names begin among those of all open objects
}

// keyTables are the hash tables of large objects by depth; each is kept for the
// next object of its depth. A slot holds an index into the names of the object
// plus one; 0 is empty.
type keyTables struct {
	byDepth [][]uint32
	seed    maphash.Seed
}

// seen reports whether name is among own, the names that the object f at the
// given depth has so far. If not, the caller appends it to them.
func (t *keyTables) seen(depth int, f *keyFrame, own [][]byte, name []byte) bool {
	if len(own) < smallObject {
		for _, other := range own {
			if bytes.Equal(other, name) {
				return true
			}
		}
		return false
	}
	if !f.hashed || len(own)*2 >= len(t.byDepth[depth]) {
		t.rehash(depth, own)
		f.hashed = true
	}
	return !t.insert(depth, own, name, uint32(len(own)))
}

// rehash fills the table of the depth with own, at most a quarter full.
func (t *keyTables) rehash(depth int, own [][]byte) {
	if t.byDepth == nil {
		t.seed = maphash.MakeSeed()
	}
	for len(t.byDepth) <= depth {
		t.byDepth = append(t.byDepth, nil)
	}
	size := 4 * smallObject
	for size < 4*len(own) {
		size *= 2
	}
	// Only the part in use is cleared: after one object of a million names, each
	// small one of that depth would pay for it otherwise.
	if table := t.byDepth[depth]; cap(table) >= size {
		t.byDepth[depth] = table[:size]
		clear(t.byDepth[depth])
	} else {
		t.byDepth[depth] = make([]uint32, size)
	}
	for i, name := range own {
		t.insert(depth, own, name, uint32(i))
	}
}

// insert puts the name, whose index is given, into the table; it reports false if
// the name is there already.
func (t *keyTables) insert(depth int, own [][]byte, name []byte, index uint32) bool {
	table := t.byDepth[depth]
	mask := uint64(len(table) - 1)
	for at := maphash.Bytes(t.seed, name) & mask; ; at = (at + 1) & mask {
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
