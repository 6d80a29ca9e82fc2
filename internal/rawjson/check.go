package rawjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/valyala/fastjson"
)

// Check reports whether raw may be used: nil, or an *Error for the first rule it
// breaks. It takes linear time, recurses nowhere deeper than limits.MaxDepth,
// and allocates nothing for a document whose objects are small.
//
// Beyond the grammar, which is exactly that of encoding/json.Valid, it refuses
// bytes that are not UTF-8, escapes of lone surrogates, and member names that
// come twice in one object once their escapes are resolved.
func Check(raw []byte, limits Limits) error {
	limits = limits.withDefaults()
	if len(raw) > limits.MaxBytes {
		return &Error{Reason: ReasonSize, Offset: limits.MaxBytes,
			Detail: fmt.Sprintf("the document has %d bytes, more than %d", len(raw), limits.MaxBytes)}
	}
	// First of all, so that everything after it may rely on the bound on depth.
	s := scanner{raw: raw, maxDepth: limits.MaxDepth}
	if found := s.scan(); found != nil {
		return found
	}
	if !utf8.Valid(raw) {
		return fail(raw, ReasonUTF8, firstInvalidUTF8(raw), "a byte sequence is not UTF-8")
	}
	// The scan has also refused what fastjson lets pass (control
	// characters before an escape) or would quote whole in its error (a literal
	// gone wrong); the rest of the grammar is fastjson's.
	if fastjson.ValidateBytes(raw) != nil {
		return syntaxError(raw)
	}
	// What the scan noted is certain only in a document whose syntax is right.
	if s.noted.reason != "" {
		return fail(raw, s.noted.reason, s.noted.offset, s.noted.detail)
	}
	return nil
}

func fail(raw []byte, reason Reason, offset int, detail string) *Error {
	return &Error{Reason: reason, Offset: offset, Pointer: pointerAt(raw, offset), Detail: detail}
}

// syntaxError asks encoding/json, which keeps count, where the syntax is wrong. It
// adds a byte that is wrong everywhere, so that a document that ends too early
// can be told from one whose last byte is the offence.
func syntaxError(raw []byte) *Error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return fail(raw, ReasonSyntax, 0, "the document is empty")
	}
	var value json.RawMessage
	err := json.Unmarshal(append(bytes.Clone(raw), 0), &value)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || int(syntax.Offset) > len(raw) {
		return fail(raw, ReasonSyntax, len(raw), "not JSON: the document ends too early")
	}
	return fail(raw, ReasonSyntax, max(int(syntax.Offset)-1, 0), "not JSON: "+syntax.Error())
}

func firstInvalidUTF8(raw []byte) int {
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(raw)
}

// scanner goes once over the tokens of a document that may not even be JSON. It
// ends with an error for what is wrong whatever the rest says, and notes the
// first offence that counts only if the syntax turns out right.
type scanner struct {
	raw      []byte
	maxDepth int
	noted    struct {
		reason Reason
		offset int
		detail string
	}
}

func (s *scanner) note(reason Reason, offset int, detail string) {
	if s.noted.reason == "" {
		s.noted.reason, s.noted.offset, s.noted.detail = reason, offset, detail
	}
}

// scan keeps its stacks in local arrays, for small documents on the Go stack.
func (s *scanner) scan() *Error {
	var frameArray [32]keyFrame
	var nameArray [64][]byte
	frames, names := frameArray[:0], nameArray[:0]
	var tables keyTables
	raw := s.raw
	// wantKey says that a string here is the name of a member.
	wantKey := false
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			end, plain, bad := s.text(i)
			if bad != nil {
				return bad
			}
			if wantKey {
				wantKey = false
				name := raw[i+1 : end-1]
				if !plain {
					name = []byte(unescape(name))
				}
				f := &frames[len(frames)-1]
				if tables.seen(len(frames)-1, f, names[f.base:], name) {
					s.note(ReasonDuplicateKey, i, fmt.Sprintf("the member %.100s comes twice", raw[i:end]))
				} else {
					names = append(names, name)
				}
			}
			i = end
			continue
		case '{', '[':
			if len(frames) == s.maxDepth {
				return fail(raw, ReasonDepth, i, fmt.Sprintf("arrays and objects are nested more than %d deep", s.maxDepth))
			}
			wantKey = raw[i] == '{'
			frames = append(frames, keyFrame{object: wantKey, base: len(names)})
		case '}', ']':
			if n := len(frames) - 1; n >= 0 {
				names, frames = names[:frames[n].base], frames[:n]
			}
			wantKey = false
		case ',':
			wantKey = len(frames) > 0 && frames[len(frames)-1].object
		case 't', 'f', 'n':
			size := literal(raw[i:])
			if size == 0 {
				return fail(raw, ReasonSyntax, i, "not JSON: a value begins like true, false or null and is neither")
			}
			i += size
			continue
		}
		i++
	}
	return nil
}

// literal returns the length of the literal that raw begins with, 0 if none.
func literal(raw []byte) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if len(raw) >= len(word) && string(raw[:len(word)]) == word {
			return len(word)
		}
	}
	return 0
}

// text reads the string that begins at i. plain says that it has no escapes.
func (s *scanner) text(i int) (end int, plain bool, bad *Error) {
	raw := s.raw
	plain = true
	for i++; i < len(raw); {
		i += plainPrefix(raw[i:])
		if i == len(raw) {
			break
		}
		switch c := raw[i]; {
		case c == '"':
			return i + 1, plain, nil
		case c == '\\':
			plain = false
			i = s.escape(i)
		default:
			return 0, false, fail(raw, ReasonSyntax, i, fmt.Sprintf("not JSON: the control character 0x%02x is in a string", c))
		}
	}
	return len(raw), plain, fail(raw, ReasonSyntax, len(raw), "not JSON: a string has no end")
}

// escape returns the position after the escape sequence at i and notes a lone
// surrogate. Whether the sequence is one at all is fastjson's to say.
func (s *scanner) escape(i int) int {
	raw := s.raw
	unit, ok := hexUnit(raw[i:])
	if !ok {
		return min(i+2, len(raw))
	}
	if !utf16.IsSurrogate(unit) {
		return i + 6
	}
	low, ok := hexUnit(raw[i+6:])
	if !ok || utf16.DecodeRune(unit, low) == utf8.RuneError {
		s.note(ReasonUTF8, i, fmt.Sprintf("the escape %s is half of a surrogate pair", raw[i:i+6]))
		return i + 6
	}
	return i + 12
}

// pointerAt returns the pointer of the innermost value that begins at or before
// offset and does not end before it, as far as the text up to there tells. It
// serves error messages, so it works on text that is no JSON; it relies on the
// bound on depth.
func pointerAt(raw []byte, offset int) string {
	var at locator
	for i := 0; i < len(raw) && i <= offset; {
		switch c := raw[i]; c {
		case '"':
			end := skipString(raw, i)
			at.text(raw[i+1 : max(i+1, end-1)])
			i = end
			continue
		case '{', '[':
			at.open(c == '{')
		case '}', ']':
			if i < offset { // the bracket itself still belongs to the inside
				at.close()
			}
		case ',':
			at.next()
		}
		i++
	}
	return at.pointer()
}
