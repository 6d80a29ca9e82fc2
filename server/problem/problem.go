package problem

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// maxTextBytes bounds detail, instance and pointer, which may repeat what a
// client sent.
const maxTextBytes = 1024

// Problem is an answer of type application/problem+json. It is an error, so that
// handlers can return it. It is not safe for concurrent changes.
type Problem struct {
	Type       string // relative to the server; empty is "about:blank"
	Title      string
	Status     int    // the HTTP status; zero is 500
	Detail     string // what is wrong with this request
	Instance   string // the path of the request
	RequestID  string
	Pointer    string        // RFC 6901, into the body
	RetryAfter time.Duration // on the wire in whole seconds, rounded up; zero is not told
	// Extra are further members. A member of the wire form above cannot be
	// overridden, and a value that is no JSON is left out.
	Extra map[string]any
}

// New makes a problem of a kind. The detail is written as by fmt.Sprintf, and is
// for the client's eyes.
func New(kind Kind, format string, args ...any) *Problem {
	info := Lookup(kind)
	return &Problem{Type: info.Type(), Title: info.Title, Status: info.Status, Detail: fmt.Sprintf(format, args...)}
}

// ForStatus makes a problem without detail of the general kind of an HTTP status.
// A status that has no kind is answered as a bad request from 400 to 499, else as
// internal.
func ForStatus(status int) *Problem {
	for _, info := range Kinds() {
		if info.Status == status {
			return New(info.Kind, "")
		}
	}
	if status >= 400 && status < 500 {
		return New(KindBadRequest, "")
	}
	return Internal()
}

// Error tells title and detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Title + ": " + p.Detail
}

// HTTPStatus is the status to answer with.
func (p *Problem) HTTPStatus() int {
	if p.Status == 0 {
		return http.StatusInternalServerError
	}
	return p.Status
}

// At sets the pointer into the body and returns p.
func (p *Problem) At(pointer string) *Problem {
	p.Pointer = pointer
	return p
}

// With adds a member and returns p.
func (p *Problem) With(name string, value any) *Problem {
	if p.Extra == nil {
		p.Extra = map[string]any{}
	}
	p.Extra[name] = value
	return p
}

// RetryAfterSeconds is the value of the Retry-After header, zero for none.
func (p *Problem) RetryAfterSeconds() int64 {
	if p.RetryAfter <= 0 {
		return 0
	}
	return int64(math.Ceil(p.RetryAfter.Seconds()))
}

// Bytes is the wire form. It never fails, and the caller owns it.
func (p *Problem) Bytes() []byte {
	problemType := p.Type
	if problemType == "" {
		problemType = "about:blank"
	}
	title := p.Title
	if title == "" {
		title = http.StatusText(p.HTTPStatus())
	}
	w := writer{}
	w.member("type", problemType)
	w.member("title", title)
	w.member("status", p.HTTPStatus())
	w.text("detail", p.Detail)
	w.text("instance", p.Instance)
	w.text("requestId", p.RequestID)
	w.text("pointer", p.Pointer)
	if seconds := p.RetryAfterSeconds(); seconds > 0 {
		w.member("retryAfterSeconds", seconds)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		if !reserved(name) {
			w.member(name, p.Extra[name])
		}
	}
	return append(w.out.Bytes(), '}')
}

// MarshalJSON is Bytes.
func (p *Problem) MarshalJSON() ([]byte, error) { return p.Bytes(), nil }

// reserved reports whether a member is the wire form's own. Invalid UTF-8 would
// become another name when it is encoded, so it is nobody's.
func reserved(name string) bool {
	switch name {
	case "type", "title", "status", "detail", "instance", "requestId", "pointer", "retryAfterSeconds":
		return true
	}
	return !utf8.ValidString(name)
}

// writer writes the members of an object.
type writer struct {
	out bytes.Buffer
}

// member writes one member, unless its value cannot be encoded.
func (w *writer) member(name string, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		return
	}
	key, err := json.Marshal(name)
	if err != nil {
		return
	}
	if w.out.Len() == 0 {
		w.out.WriteByte('{')
	} else {
		w.out.WriteByte(',')
	}
	w.out.Write(key)
	w.out.WriteByte(':')
	w.out.Write(raw)
}

// text writes a text that is there, cut to maxTextBytes.
func (w *writer) text(name, value string) {
	if value == "" {
		return
	}
	if len(value) > maxTextBytes {
		cut := maxTextBytes
		for cut > maxTextBytes-utf8.UTFMax && !utf8.RuneStart(value[cut]) {
			cut--
		}
		value = value[:cut] + "…"
	}
	w.member(name, strings.ToValidUTF8(value, "\uFFFD"))
}
