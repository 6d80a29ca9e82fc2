package registry

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"vcphost/abi"
	"vcphost/internal/edit"
	"vcphost/internal/rawjson"
)

// findings collects what is wrong with one manifest.
type findings struct {
	file     string
	refusals []Refusal
	notices  []Notice
}

func (f *findings) refuse(pointer, format string, args ...any) {
	f.refusals = append(f.refusals, Refusal{File: f.file, Pointer: pointer, Reason: fmt.Sprintf(format, args...)})
}

func (f *findings) notice(pointer, format string, args ...any) {
	f.notices = append(f.notices, Notice{File: f.file, Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

// value is one place of a manifest, whether or not something stands there. Its
// readers report what has the wrong form and return the zero value for it.
type value struct {
	*findings
	pointer string
	raw     []byte // nil where the manifest has nothing there
	lenient bool   // what has the wrong form is a notice, not a refusal
}

func (v value) present() bool { return v.raw != nil }

// refuse reports the value itself, whatever the leniency.
func (v value) refuse(format string, args ...any) { v.findings.refuse(v.pointer, format, args...) }

// complain reports the value itself, as a notice where that is allowed.
func (v value) complain(format string, args ...any) {
	if v.lenient {
		v.notice(v.pointer, format, args...)
		return
	}
	v.refuse(format, args...)
}

func (v value) strict() value {
	v.lenient = false
	return v
}

func (v value) member(key string) value {
	child := value{findings: v.findings, pointer: rawjson.AppendPointer(v.pointer, key), lenient: v.lenient}
	if v.raw != nil {
		for name, raw := range rawjson.Members(v.raw) {
			if name == key {
				child.raw = raw
				break
			}
		}
	}
	return child
}

// orNull takes null for an absent value.
func (v value) orNull() value {
	if rawjson.KindOf(v.raw) == rawjson.Null {
		v.raw = nil
	}
	return v
}

// is reports whether the value is there and of the kind; another kind is
// reported.
func (v value) is(kind rawjson.Kind) bool {
	if v.raw == nil {
		return false
	}
	if got := rawjson.KindOf(v.raw); got != kind {
		v.complain("must be %s %s, is %s", article(kind.String()), kind, got)
		return false
	}
	return true
}

func (v value) members() iter.Seq2[string, value] {
	return func(yield func(string, value) bool) {
		if !v.is(rawjson.Object) {
			return
		}
		for name, raw := range rawjson.Members(v.raw) {
			child := value{findings: v.findings, pointer: rawjson.AppendPointer(v.pointer, name), raw: raw, lenient: v.lenient}
			if !yield(name, child) {
				return
			}
		}
	}
}

func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		if !v.is(rawjson.Array) {
			return
		}
		for i, raw := range rawjson.Elements(v.raw) {
			child := value{findings: v.findings, pointer: rawjson.AppendPointer(v.pointer, strconv.Itoa(i)), raw: raw, lenient: v.lenient}
			if !yield(child) {
				return
			}
		}
	}
}

func (v value) text() string {
	if !v.is(rawjson.String) {
		return ""
	}
	s, _ := rawjson.Unquote(v.raw)
	return s
}

// requiredText is a text that must be there and hold more than white space.
func (v value) requiredText() string {
	if !v.present() {
		v.complain("is required")
		return ""
	}
	s := v.text()
	if strings.TrimSpace(s) == "" && rawjson.KindOf(v.raw) == rawjson.String {
		v.complain("must not be empty")
	}
	return s
}

func (v value) texts() []string {
	var list []string
	for element := range v.elements() {
		list = append(list, element.requiredText())
	}
	return list
}

func (v value) flag(otherwise bool) bool {
	if !v.is(rawjson.Bool) {
		return otherwise
	}
	return v.raw[0] == 't'
}

// span is the range of an integer and what it is where the manifest is silent.
type span struct{ otherwise, least, most int64 }

func (v value) integer(s span) int64 {
	if !v.is(rawjson.Number) {
		return s.otherwise
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	switch {
	case err != nil && strings.ContainsAny(string(v.raw), ".eE"):
		v.complain("must be an integer, is %s", clip(string(v.raw)))
	case err != nil || n < s.least || n > s.most:
		v.complain("must be from %d to %d, is %s", s.least, s.most, clip(string(v.raw)))
	default:
		return n
	}
	return s.otherwise
}

// oneOf is a text from a list; "" where the manifest is silent or wrong.
func oneOf[T ~string](v value, list ...T) T {
	if !v.is(rawjson.String) {
		return ""
	}
	s := T(v.text())
	if slices.Contains(list, s) {
		return s
	}
	v.complain("must be one of %s, is %q%s", join(list), clip(string(s)), suggest(string(s), list))
	return ""
}

// unknown reports every member that is not in known: by refusal where the value
// is strict in its keys, else by notice.
func (v value) unknown(refuse bool, known ...string) {
	if v.raw == nil || rawjson.KindOf(v.raw) != rawjson.Object {
		return
	}
	for name, child := range v.members() {
		if slices.Contains(known, name) {
			continue
		}
		hint := suggest(name, known)
		if refuse {
			child.refuse("unknown key %q%s", clip(name), hint)
		} else {
			child.notice(child.pointer, "unknown key %q is ignored%s", clip(name), hint)
		}
	}
}

// suggest names the member of list that is nearest to s, if one is near.
func suggest[T ~string](s string, list []T) string {
	best, least := "", 3
	for _, candidate := range list {
		name := string(candidate)
		if abi.SameName(s, name) {
			return fmt.Sprintf("; did you mean %q?", name)
		}
		if d := distance(s, name, least); d < least && d < len(name)/2 {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is the number of edits from a to b in bytes, or bound if it is not
// below that.
func distance(a, b string, bound int) int {
	if d := len(a) - len(b); d >= bound || -d >= bound {
		return bound
	}
	return min(edit.Distance(a, b), bound)
}

func join[T ~string](list []T) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(string(s))
	}
	return strings.Join(quoted, ", ")
}

// clip shortens what a stranger wrote before it goes into a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	cut := s[:most]
	for len(cut) > 0 && cut[len(cut)-1]&0xc0 == 0x80 {
		cut = cut[:len(cut)-1]
	}
	if len(cut) > 0 && cut[len(cut)-1] >= 0xc0 {
		cut = cut[:len(cut)-1]
	}
	return cut + "…"
}

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an"
	}
	return "a"
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }
