package rawjson

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
)

// Members yields the members of an object in document order: the name, without
// escapes, and the raw value. It yields nothing if object is no object.
func Members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		i, ok := open(object, '{')
		for ok {
			var m member
			if m, ok = memberAt(object, i); !ok {
				return
			}
			i = skipValue(object, m.value)
			if i == m.value || !yield(unescape(object[m.keyStart:m.keyEnd]), object[m.value:i]) {
				return
			}
		}
	}
}

// Elements yields the elements of an array in order: the index and the raw
// value. It yields nothing if array is no array.
func Elements(array []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		i, ok := open(array, '[')
		for n := 0; ok; n++ {
			var start int
			if start, ok = elementAt(array, i); !ok {
				return
			}
			i = skipValue(array, start)
			if i == start || !yield(n, array[start:i]) {
				return
			}
		}
	}
}

// Len returns the number of members of an object or of elements of an array,
// and 0 for any other value. It reads the whole value.
func Len(raw []byte) int {
	n := 0
	if i, ok := open(raw, '['); ok {
		for {
			start, more := elementAt(raw, i)
			if !more {
				return n
			}
			if i = skipValue(raw, start); i == start {
				return n
			}
			n++
		}
	}
	if i, ok := open(raw, '{'); ok {
		for {
			m, more := memberAt(raw, i)
			if !more {
				return n
			}
			if i = skipValue(raw, m.value); i == m.value {
				return n
			}
			n++
		}
	}
	return n
}

// At returns the value that the RFC 6901 pointer names, "" being the whole of
// raw. A pointer that is malformed, or names nothing, finds nothing; so does
// "-", the element after the last.
func At(raw []byte, pointer string) (value []byte, found bool) {
	start := skipSpace(raw, 0)
	end := skipValue(raw, start)
	value = raw[start:end]
	for pointer != "" {
		if pointer[0] != '/' {
			return nil, false
		}
		token, rest := pointer[1:], ""
		if n := strings.IndexByte(token, '/'); n >= 0 {
			token, rest = token[:n], token[n:]
		}
		token, ok := pointerToken(token)
		if !ok {
			return nil, false
		}
		if value, ok = child(value, token); !ok {
			return nil, false
		}
		pointer = rest
	}
	if len(value) == 0 {
		return nil, false
	}
	return value, true
}

// child returns the member or element that token names.
func child(raw []byte, token string) ([]byte, bool) {
	switch KindOf(raw) {
	case Object:
		m, ok := find(raw, token)
		if !ok {
			return nil, false
		}
		return raw[m.value:skipValue(raw, m.value)], true
	case Array:
		index, ok := arrayIndex(token)
		if !ok {
			return nil, false
		}
		i, _ := open(raw, '[')
		for ; ; index-- {
			start, more := elementAt(raw, i)
			if !more {
				return nil, false
			}
			if i = skipValue(raw, start); i == start {
				return nil, false
			}
			if index == 0 {
				return raw[start:i], true
			}
		}
	}
	return nil, false
}

// find returns the member of object whose name is key.
func find(object []byte, key string) (member, bool) {
	i, ok := open(object, '{')
	for ok {
		var m member
		if m, ok = memberAt(object, i); !ok {
			break
		}
		if i = skipValue(object, m.value); i == m.value {
			break
		}
		if sameKey(object[m.keyStart:m.keyEnd], key) {
			return m, true
		}
	}
	return member{}, false
}

// sameKey reports whether the raw name, escapes and all, stands for key.
func sameKey(raw []byte, key string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw) == key
	}
	return unescape(raw) == key
}

// arrayIndex reads an array index of a pointer: digits without a leading zero.
func arrayIndex(token string) (int, bool) {
	if token == "" || len(token) > 1 && token[0] == '0' {
		return 0, false
	}
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(token)
	return n, err == nil
}

// SetMember returns object with the member key set to value: the value of an
// existing member is replaced, a new member goes to the end, and every other
// byte stays. It returns object itself, unchanged, if that is no object.
func SetMember(object []byte, key string, value []byte) []byte {
	inside, ok := open(object, '{')
	if !ok {
		return object
	}
	if m, ok := find(object, key); ok {
		end := skipValue(object, m.value)
		out := make([]byte, 0, len(object)-(end-m.value)+len(value))
		out = append(out, object[:m.value]...)
		out = append(out, value...)
		return append(out, object[end:]...)
	}
	at, comma := inside, false
	for {
		m, more := memberAt(object, at)
		if !more {
			break
		}
		end := skipValue(object, m.value)
		if end == m.value {
			break
		}
		at, comma = end, true
	}
	out := make([]byte, 0, len(object)+len(key)+len(value)+4)
	out = append(out, object[:at]...)
	if comma {
		out = append(out, ',')
	}
	out = append(Quote(out, key), ':')
	out = append(out, value...)
	return append(out, object[at:]...)
}
