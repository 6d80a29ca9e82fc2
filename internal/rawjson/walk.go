package rawjson

// Visit is what a visit function wants next.
type Visit uint8

// The answers of a visit function.
const (
	// Continue goes into the value, if it has an inside, and on.
	Continue Visit = iota
	// Skip goes on after the value.
	Skip
	// Stop ends the walk.
	Stop
)

// Walk calls visit for every value of raw in document order, the root first and
// a container before what is in it. key is the name of an object's member and ""
// for elements and the root (Path.Index tells them apart); path is valid only
// during the call. The time is linear in the length of raw, however deep it is.
func Walk(raw []byte, visit func(path *Path, key string, value []byte, kind Kind) Visit) {
	w := walker{raw: raw}
	w.walk(func(key string, start, end int) Visit {
		value := raw[start:end]
		return visit(&w.path, key, value, KindOf(value))
	})
}

// Rewrite returns raw with some values replaced: replace is called as by Walk,
// and where it reports ok, its replacement stands in the value's place and the
// value's inside is not visited. All other bytes stay as they are. If nothing was
// replaced the result is raw itself.
func Rewrite(raw []byte, replace func(path *Path, value []byte, kind Kind) (replacement []byte, ok bool)) []byte {
	var out []byte
	copied, replaced := 0, false
	w := walker{raw: raw}
	w.walk(func(_ string, start, end int) Visit {
		value := raw[start:end]
		replacement, ok := replace(&w.path, value, KindOf(value))
		if !ok {
			return Continue
		}
		if !replaced {
			replaced = true
			out = make([]byte, 0, len(raw)+len(replacement))
		}
		out = append(out, raw[copied:start]...)
		out = append(out, replacement...)
		copied = end
		return Skip
	})
	if !replaced {
		return raw
	}
	return append(out, raw[copied:]...)
}

// internSize is how many member names a walk remembers, so that the rows of a
// table do not each allocate the names of its columns. A power of two.
const internSize = 64

// walker walks one document without recursion.
type walker struct {
	raw   []byte
	path  Path
	names [internSize]string
	// spans are the containers in the order in which they open; next is the first
	// of them that the walk has not passed.
	spans []span
	next  int
}

type span struct{ start, end int }

// frame is a container that the walk is in: at is where its next member or
// element is looked for, index counts elements and is -1 in an object.
type frame struct{ at, end, index int }

func (w *walker) walk(visit func(key string, start, end int) Visit) {
	start := skipSpace(w.raw, 0)
	w.spans = containers(w.raw, start)
	end := w.endOf(start)
	if end == start {
		return
	}
	frames := make([]frame, 0, 16)
	answer := visit("", start, end)
	for {
		switch {
		case answer == Stop:
			return
		case answer == Continue && w.raw[start] == '{':
			frames = append(frames, frame{start + 1, end, -1})
			w.path.steps = append(w.path.steps, step{index: -1})
		case answer == Continue && w.raw[start] == '[':
			frames = append(frames, frame{start + 1, end, 0})
			w.path.steps = append(w.path.steps, step{})
		}
		var key string
		var ok bool
		for len(frames) > 0 {
			if key, start, end, ok = w.advance(&frames[len(frames)-1]); ok {
				break
			}
			frames = frames[:len(frames)-1]
			w.path.steps = w.path.steps[:len(w.path.steps)-1]
		}
		if len(frames) == 0 {
			return
		}
		answer = visit(key, start, end)
	}
}

// advance finds the next value in f and makes it the last step of the path.
func (w *walker) advance(f *frame) (key string, start, end int, ok bool) {
	inside := w.raw[:f.end]
	last := &w.path.steps[len(w.path.steps)-1]
	if f.index < 0 {
		m, more := memberAt(inside, f.at)
		if !more {
			return "", 0, 0, false
		}
		start, key = m.value, w.name(inside[m.keyStart:m.keyEnd])
		last.key = key
	} else {
		var more bool
		if start, more = elementAt(inside, f.at); !more {
			return "", 0, 0, false
		}
		last.index = f.index
		f.index++
	}
	end = min(w.endOf(start), f.end)
	f.at = end
	return key, start, end, end > start
}

// endOf returns where the value that begins at start ends.
func (w *walker) endOf(start int) int {
	if start >= len(w.raw) {
		return start
	}
	if c := w.raw[start]; c != '[' && c != '{' {
		return skipValue(w.raw, start)
	}
	for w.next < len(w.spans) && w.spans[w.next].start < start {
		w.next++
	}
	if w.next < len(w.spans) && w.spans[w.next].start == start {
		return w.spans[w.next].end
	}
	return len(w.raw)
}

// name returns the text of a raw member name, from memory if it is a common one.
func (w *walker) name(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	slot := &w.names[(len(raw)*7+int(raw[0])*3+int(raw[len(raw)-1]))%internSize]
	if *slot == string(raw) {
		return *slot
	}
	text := unescape(raw)
	if text == string(raw) { // no escape in it, so the look-up above may compare raw bytes
		*slot = text
	}
	return text
}

// containers returns where every array and object of the value at start begins
// and ends, in the order in which they begin, in one pass.
func containers(raw []byte, start int) []span {
	if start >= len(raw) || raw[start] != '[' && raw[start] != '{' {
		return nil
	}
	var spans []span
	var open []int
	for i := start; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = skipString(raw, i) - 1
		case '[', '{':
			open = append(open, len(spans))
			spans = append(spans, span{i, len(raw)})
		case ']', '}':
			spans[open[len(open)-1]].end = i + 1
			open = open[:len(open)-1]
			if len(open) == 0 {
				return spans
			}
		}
	}
	return spans
}
