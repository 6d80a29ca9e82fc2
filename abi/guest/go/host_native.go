//go:build !wasip1

package guest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Export makes a plugin of the commands. Under go test its handlers run by
// Plugin.Run; in a wasip1 build it becomes the plugin of the module.
func Export(commands ...Command) *Plugin { return &Plugin{commands: commands} }

// Fake stands in for a host in tests. Its zero value has no configuration, no
// inputs and an empty store, and is never cancelled.
type Fake struct {
	Config    map[string]string
	KV        map[string][]byte // calls change it; a nil map is made by the first call
	Inputs    map[string]Input  // by resource id
	Cancelled func() bool       // nil: never
	Fail      map[string]Errno  // answers by name of the host's function, such as "kv_set"
	Caller    Actor             // what Call.Actor says
}

// Input is an input resource of a Fake. ID and Size of the description are
// filled in from the key and the content.
type Input struct {
	Resource
	Content []byte
}

// Recording is what one call of a handler came to.
type Recording struct {
	Payload    json.RawMessage // as it would go to the host
	Status     string
	Data       json.RawMessage
	Error      *Error // Details are as decoded from JSON
	Warnings   []Warning
	Resources  []Output
	Progress   []Event
	Logs       []Line
	Unfinished []string // ids of output resources that were not closed
}

// Output is a resource that was written and closed.
type Output struct {
	Draft
	Content []byte
}

// Event is one report of progress.
type Event struct {
	Stage    string  `json:"stage"`
	Progress float64 `json:"progress"`
	Message  string  `json:"message"`
}

// Line is one line of log.
type Line struct {
	Level Level
	Text  string
}

// Run calls a command as a host would, with arguments that are encoded as JSON
// first (json.RawMessage goes as it is). A nil fake is an empty one. The error
// is about the test itself: arguments or a payload that are no JSON.
func (p *Plugin) Run(command string, arguments any, fake *Fake) (*Recording, error) {
	if fake == nil {
		fake = &Fake{}
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		return nil, fmt.Errorf("encode arguments: %w", err)
	}
	resources := []Resource{}
	for _, id := range slices.Sorted(maps.Keys(fake.Inputs)) {
		in := fake.Inputs[id]
		in.ID, in.Size = id, int64(len(in.Content))
		resources = append(resources, in.Resource)
	}
	invocation, err := json.Marshal(map[string]any{
		"command": command, "arguments": json.RawMessage(raw), "invocationId": "ti_test",
		"deadlineMs": nil, "actor": fake.Caller, "source": "cli", "resources": resources,
	})
	if err != nil {
		return nil, fmt.Errorf("encode invocation: %w", err)
	}
	run := &fakeHost{fake: fake}
	return run.recording(p.serve(run.host(), invocation))
}

// fakeHost is a Fake during one call. Handles are indices, counted from 1.
type fakeHost struct {
	fake    *Fake
	handles []*fakeHandle
	events  []Event
	lines   []Line
}

type fakeHandle struct {
	draft   Draft
	written bytes.Buffer
	input   *bytes.Reader // nil for an output
	size    int64
	closed  bool
}

func (f *fakeHost) recording(raw []byte) (*Recording, error) {
	r := &Recording{Payload: raw, Progress: f.events, Logs: f.lines}
	var wire struct {
		Status   string          `json:"status"`
		Data     json.RawMessage `json:"data"`
		Error    *Error          `json:"error"`
		Warnings []Warning       `json:"warnings"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, fmt.Errorf("decode payload: %w", err)
	}
	r.Status, r.Data, r.Error, r.Warnings = wire.Status, wire.Data, wire.Error, wire.Warnings
	for _, h := range f.handles {
		switch {
		case h.input != nil:
		case h.closed:
			r.Resources = append(r.Resources, Output{Draft: h.draft, Content: h.written.Bytes()})
		default:
			r.Unfinished = append(r.Unfinished, h.draft.ID)
		}
	}
	return r, nil
}

func (f *fakeHost) host() *host {
	return &host{
		resourceCreate: f.resourceCreate,
		resourceWrite:  f.resourceWrite,
		resourceClose:  f.resourceClose,
		resourceOpen:   f.resourceOpen,
		resourceSize:   f.resourceSize,
		resourceRead:   f.resourceRead,
		progress:       f.progress,
		cancelled:      f.cancelled,
		log:            func(level int32, line []byte) { f.lines = append(f.lines, Line{Level(level), string(line)}) },
		configGet:      f.configGet,
		kvGet:          f.kvGet,
		kvSet:          f.kvSet,
		kvDelete:       f.kvDelete,
	}
}

func (f *fakeHost) fails(function string) (int32, bool) {
	errno, ok := f.fake.Fail[function]
	return int32(errno), ok
}

func (f *fakeHost) handle(h int32, input bool) (*fakeHandle, bool) {
	if h < 1 || int(h) > len(f.handles) {
		return nil, false
	}
	handle := f.handles[h-1]
	return handle, !handle.closed && input == (handle.input != nil)
}

func (f *fakeHost) add(h *fakeHandle) int32 {
	f.handles = append(f.handles, h)
	return int32(len(f.handles))
}

func (f *fakeHost) resourceCreate(raw []byte) int32 {
	if n, ok := f.fails("resource_create"); ok {
		return n
	}
	h := &fakeHandle{}
	if json.Unmarshal(raw, &h.draft) != nil || h.draft.ID == "" {
		return int32(ErrInvalid)
	}
	return f.add(h)
}

func (f *fakeHost) resourceWrite(handle int32, p []byte) int32 {
	if n, ok := f.fails("resource_write"); ok {
		return n
	}
	h, ok := f.handle(handle, false)
	if !ok {
		return int32(ErrBadHandle)
	}
	h.written.Write(p)
	return int32(len(p))
}

func (f *fakeHost) resourceClose(handle int32) int32 {
	if n, ok := f.fails("resource_close"); ok {
		return n
	}
	if handle < 1 || int(handle) > len(f.handles) || f.handles[handle-1].closed {
		return int32(ErrBadHandle)
	}
	f.handles[handle-1].closed = true
	return 0
}

func (f *fakeHost) resourceOpen(id []byte) int32 {
	if n, ok := f.fails("resource_open"); ok {
		return n
	}
	in, ok := f.fake.Inputs[string(id)]
	if !ok {
		return int32(ErrNotFound)
	}
	return f.add(&fakeHandle{input: bytes.NewReader(in.Content), size: int64(len(in.Content))})
}

func (f *fakeHost) resourceSize(handle int32) int64 {
	if n, ok := f.fails("resource_size"); ok {
		return int64(n)
	}
	h, ok := f.handle(handle, true)
	if !ok {
		return int64(ErrBadHandle)
	}
	return h.size
}

func (f *fakeHost) resourceRead(handle int32, buf []byte) int32 {
	if n, ok := f.fails("resource_read"); ok {
		return n
	}
	h, ok := f.handle(handle, true)
	if !ok {
		return int32(ErrBadHandle)
	}
	n, _ := h.input.Read(buf) // the one error is io.EOF, with n = 0
	return int32(n)
}

func (f *fakeHost) progress(raw []byte) int32 {
	var event Event
	if json.Unmarshal(raw, &event) != nil {
		return int32(ErrInvalid)
	}
	f.events = append(f.events, event)
	return 0
}

func (f *fakeHost) cancelled() int32 {
	if f.fake.Cancelled != nil && f.fake.Cancelled() {
		return 1
	}
	return 0
}

func (f *fakeHost) configGet(key, buf []byte) int32 {
	if n, ok := f.fails("config_get"); ok {
		return n
	}
	value, ok := f.fake.Config[string(key)]
	return answer([]byte(value), ok, buf)
}

func (f *fakeHost) kvGet(key, buf []byte) int32 {
	if n, ok := f.fails("kv_get"); ok {
		return n
	}
	value, ok := f.fake.KV[string(key)]
	return answer(value, ok, buf)
}

func (f *fakeHost) kvSet(key, value []byte) int32 {
	if n, ok := f.fails("kv_set"); ok {
		return n
	}
	if f.fake.KV == nil {
		f.fake.KV = map[string][]byte{}
	}
	f.fake.KV[string(key)] = bytes.Clone(value)
	return 0
}

func (f *fakeHost) kvDelete(key []byte) int32 {
	if n, ok := f.fails("kv_delete"); ok {
		return n
	}
	if _, ok := f.fake.KV[string(key)]; !ok {
		return int32(ErrNotFound)
	}
	delete(f.fake.KV, string(key))
	return 0
}

// answer gives a value as the binding does: its full length, written only if
// the buffer holds it.
func answer(value []byte, ok bool, buf []byte) int32 {
	if !ok {
		return int32(ErrNotFound)
	}
	if len(value) <= len(buf) {
		copy(buf, value)
	}
	return int32(len(value))
}
