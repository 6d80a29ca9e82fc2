package rawjson

import (
	"strconv"
	"strings"
)

// Path is where Walk or Rewrite is in a document: a JSON pointer that is put
// together only when somebody asks for it. It is valid until the visit function
// returns.
type Path struct{ steps []step }

// step is one token of a path: the name of a member, or, if index is not
// negative, the index of an element.
type step struct {
	key   string
	index int
}

// String returns the RFC 6901 pointer of the place; "" is the root.
func (p *Path) String() string {
	if len(p.steps) == 0 {
		return ""
	}
	var text []byte
	for _, s := range p.steps {
		text = append(text, '/')
		if s.index >= 0 {
			text = strconv.AppendInt(text, int64(s.index), 10)
			continue
		}
		text = appendToken(text, s.key)
	}
	return string(text)
}

// Depth returns the number of tokens: 0 at the root.
func (p *Path) Depth() int { return len(p.steps) }

// Index returns the index of the value in its array; it reports false if the
// value is a member of an object or the root.
func (p *Path) Index() (int, bool) {
	if n := len(p.steps); n > 0 && p.steps[n-1].index >= 0 {
		return p.steps[n-1].index, true
	}
	return 0, false
}

// AppendPointer returns pointer with one more token, in which ~ and / are
// written as RFC 6901 asks.
func AppendPointer(pointer, token string) string {
	text := make([]byte, 0, len(pointer)+1+len(token))
	text = append(append(text, pointer...), '/')
	return string(appendToken(text, token))
}

func appendToken(dst []byte, token string) []byte {
	for {
		n := strings.IndexAny(token, "~/")
		if n < 0 {
			return append(dst, token...)
		}
		dst = append(dst, token[:n]...)
		if token[n] == '~' {
			dst = append(dst, "~0"...)
		} else {
			dst = append(dst, "~1"...)
		}
		token = token[n+1:]
	}
}

// pointerToken resolves the escapes of one token; it reports false for a ~ that
// is followed by neither 0 nor 1.
func pointerToken(token string) (string, bool) {
	if strings.IndexByte(token, '~') < 0 {
		return token, true
	}
	text := make([]byte, 0, len(token))
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c == '~' {
			i++
			switch {
			case i < len(token) && token[i] == '0':
			case i < len(token) && token[i] == '1':
				c = '/'
			default:
				return "", false
			}
		}
		text = append(text, c)
	}
	return string(text), true
}
