package hostfunc

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// Bounds of what a guest may pass as names and drafts.
const (
	maxDraftBytes = 32 << 10
	maxOpen       = 64 // handles that are open at a time
)

// handle is one resource that the guest is writing or reading.
type handle struct {
	id     string // the guest's draft id, or the id of an input
	sink   abi.ResourceSink
	stream abi.ResourceStream
}

// handles are numbered from 1 in the order of opening; a number is not used
// twice in a call. What was closed is forgotten, so that a guest which opens
// and closes for ever costs the host nothing.
type handles struct {
	open map[int32]*handle
	last int32
}

func (h *handles) full() bool { return len(h.open) >= maxOpen || h.last == math.MaxInt32 }

func (h *handles) add(entry *handle) int32 {
	if h.open == nil {
		h.open = map[int32]*handle{}
	}
	h.last++
	h.open[h.last] = entry
	return h.last
}

func (h *handles) closeInputs() {
	for number, entry := range h.open {
		if entry.stream != nil {
			delete(h.open, number)
			// Reading is over; what a close of an input says changes nothing.
			_ = entry.stream.Close()
		}
	}
}

func (h *handles) unfinished() []abi.Warning {
	if len(h.open) == 0 {
		return nil
	}
	var list []abi.Warning
	for _, number := range slices.Sorted(maps.Keys(h.open)) {
		if entry := h.open[number]; entry.sink != nil {
			list = append(list, abi.Warning{
				Code:    abi.WarningResourceUnfinished,
				Message: "resource " + quoted(entry.id) + " was begun and not closed; it is not published",
				Target:  entry.id,
			})
		}
	}
	return list
}

// ResourceCreate begins an output resource from its JSON draft and returns its
// handle. A draft holds id, kind, role, fileName and mimeType; only id is
// required. ELIMIT once a limit of the manifest is reached.
func (c *Call) ResourceCreate(draft []byte) int32 {
	parsed, errno := parseDraft(draft)
	switch {
	case errno != OK:
		return int32(errno)
	case c.ctx.Err() != nil:
		return int32(ECANCELED)
	case c.handles.full():
		return int32(ELIMIT)
	}
	sink, err := c.inv.Resources.Create(c.ctx, parsed)
	if err != nil {
		return int32(c.errnoOf(err))
	}
	return c.handles.add(&handle{id: parsed.ID, sink: sink})
}

func parseDraft(raw []byte) (abi.ResourceDraft, Errno) {
	var draft abi.ResourceDraft
	if len(raw) > maxDraftBytes {
		return draft, ELIMIT
	}
	if rawjson.Check(raw, rawjson.Limits{MaxDepth: 8}) != nil || rawjson.KindOf(raw) != rawjson.Object {
		return draft, EINVAL
	}
	for name, value := range rawjson.Members(raw) {
		text, isText := rawjson.Unquote(value)
		if !isText && rawjson.KindOf(value) != rawjson.Null {
			return draft, EINVAL
		}
		text = strings.Clone(text)
		switch name {
		case "id":
			draft.ID = text
		case "kind":
			draft.Kind = abi.ResourceKind(text)
		case "role":
			draft.Role = abi.ResourceRole(text)
		case "fileName":
			draft.FileName = text
		case "mimeType":
			draft.MIMEType = text
		default:
			return draft, EINVAL
		}
	}
	if draft.ID == "" {
		return draft, EINVAL
	}
	return draft, OK
}

// ResourceWrite appends bytes to an output resource and returns how many: all
// of them, or an error number.
func (c *Call) ResourceWrite(number int32, p []byte) int32 {
	entry := c.handles.open[number]
	if entry == nil || entry.sink == nil {
		return int32(EBADF)
	}
	if c.ctx.Err() != nil {
		return int32(ECANCELED)
	}
	n, err := entry.sink.Write(p)
	if err != nil {
		return int32(c.errnoOf(err))
	}
	return int32(n)
}

// ResourceClose finishes an output resource, or ends the reading of an input.
func (c *Call) ResourceClose(number int32) Errno {
	entry := c.handles.open[number]
	if entry == nil {
		return EBADF
	}
	if entry.stream != nil {
		delete(c.handles.open, number)
		if err := entry.stream.Close(); err != nil {
			return c.errnoOf(err)
		}
		return OK
	}
	if err := entry.sink.Close(); err != nil {
		return c.errnoOf(err)
	}
	delete(c.handles.open, number)
	return OK
}

// ResourceOpen opens an input resource that the call was given.
func (c *Call) ResourceOpen(id []byte) int32 {
	switch {
	case len(id) > abi.MaxDraftIDBytes:
		return int32(ENOENT)
	case c.ctx.Err() != nil:
		return int32(ECANCELED)
	case c.handles.full():
		return int32(ELIMIT)
	}
	stream, err := c.inv.Reader.Open(c.ctx, string(id))
	if err != nil {
		return int32(c.errnoOf(err))
	}
	return c.handles.add(&handle{id: string(id), stream: stream})
}

// ResourceSize is the length of an open input in bytes.
func (c *Call) ResourceSize(number int32) int64 {
	entry := c.handles.open[number]
	if entry == nil || entry.stream == nil {
		return int64(EBADF)
	}
	return entry.stream.Size()
}

// ResourceRead reads the next bytes of an input into buf and returns how many;
// 0 at the end.
func (c *Call) ResourceRead(number int32, buf []byte) int32 {
	entry := c.handles.open[number]
	if entry == nil || entry.stream == nil {
		return int32(EBADF)
	}
	if c.ctx.Err() != nil {
		return int32(ECANCELED)
	}
	if len(buf) == 0 {
		return 0
	}
	n, err := io.ReadAtLeast(entry.stream, buf, 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return int32(c.errnoOf(err))
	}
	return int32(n)
}

func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(raw)
}
