package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// host is the host's side of the binding: the functions of import module "vcp"
// that the SDK uses. A result below zero is an Errno.
type host struct {
	resourceCreate func(draft []byte) int32
	resourceWrite  func(handle int32, p []byte) int32
	resourceClose  func(handle int32) int32
	resourceOpen   func(id []byte) int32
	resourceSize   func(handle int32) int64
	resourceRead   func(handle int32, buf []byte) int32
	progress       func(event []byte) int32
	cancelled      func() int32
	log            func(level int32, line []byte)
	configGet      func(key, buf []byte) int32
	kvGet          func(key, buf []byte) int32
	kvSet          func(key, value []byte) int32
	kvDelete       func(key []byte) int32
}

// Errno is an error number of the host. The constants below are compared with
// errors.Is.
type Errno int32

// The error numbers of ABI 1.
const (
	ErrNotGranted    Errno = -1  // the permission was not asked for, or not granted
	ErrNotFound      Errno = -2  // no such resource, key or value
	ErrBadPointer    Errno = -3  // memory outside the module: a fault of the SDK
	ErrInvalid       Errno = -4  // an argument that the function cannot take
	ErrBadHandle     Errno = -5  // closed, or of the other direction
	ErrLimit         Errno = -6  // a limit of the manifest, the quota of KV among them
	ErrNoSpace       Errno = -7  // the host has no room
	ErrIO            Errno = -8  // the host could not read or write
	ErrCanceled      Errno = -9  // the caller has given up, or the deadline has passed
	ErrNotSupported  Errno = -10 // this host does not have the function yet
	errnoUnspecified Errno = 0   // a number that broke the contract
)

// Error says what the number means.
func (e Errno) Error() string {
	switch e {
	case ErrNotGranted:
		return "permission not granted"
	case ErrNotFound:
		return "not found"
	case ErrBadPointer:
		return "pointer outside memory"
	case ErrInvalid:
		return "invalid argument"
	case ErrBadHandle:
		return "handle is not open for this"
	case ErrLimit:
		return "limit of the manifest reached"
	case ErrNoSpace:
		return "no room left on the host"
	case ErrIO:
		return "input/output error of the host"
	case ErrCanceled:
		return "call cancelled"
	case ErrNotSupported:
		return "not supported by this host"
	case errnoUnspecified:
		return "the host broke the binding"
	}
	return fmt.Sprintf("error number %d of the host", int32(e))
}

// Error is a failure with a stable code (§6). A code outside the protocol's
// list is namespaced, such as "CSV.MALFORMED"; category and retryable are left
// to the host's table of codes unless they are set.
type Error struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Category  string `json:"category,omitempty"`
	Retryable *bool  `json:"retryable,omitempty"` // nil: as the code says
	Target    string `json:"target,omitempty"`    // the argument or place it is about
	Details   any    `json:"details,omitempty"`   // encoded as a JSON object

	cause error
}

// Errorf makes an error. The format is that of fmt.Errorf; what %w wraps is
// found by errors.Is and errors.As, and stays inside the plugin.
func Errorf(code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// Error is the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap is the cause; nil where there is none.
func (e *Error) Unwrap() error { return e.cause }

// Is reports that target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// WithTarget sets what the error is about, and returns the error.
func (e *Error) WithTarget(target string) *Error {
	e.Target = target
	return e
}

// WithDetails sets facts for programs, and returns the error.
func (e *Error) WithDetails(details any) *Error {
	e.Details = details
	return e
}

// WithRetryable says whether the same call may succeed later, and returns the
// error.
func (e *Error) WithRetryable(retryable bool) *Error {
	e.Retryable = &retryable
	return e
}

// asError gives every error a code: its own, or PLUGIN.ERROR.
func asError(err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	plain := Errorf("PLUGIN.ERROR", "%w", err).WithRetryable(false)
	plain.Category = "domain"
	return plain
}

// chunk is how much of a resource goes to the host at once: enough that the
// crossing costs nothing beside it, little in a memory of 64 MiB.
const chunk = 64 << 10

// Writer streams the bytes of an output resource. It holds back at most 64 KiB.
// The first error sticks, and such a resource is never published.
type Writer struct {
	host   *host
	handle int32
	id     string
	buf    []byte
	err    error
	closed bool
}

// Ref is the reference to this resource, for data.
func (w *Writer) Ref() Reference { return Ref(w.id) }

// Write appends bytes.
func (w *Writer) Write(p []byte) (int, error) {
	if w.closed {
		return 0, fmt.Errorf("write resource %q: %w", w.id, ErrBadHandle)
	}
	if len(w.buf)+len(p) > chunk {
		w.send(w.buf)
		w.buf = w.buf[:0]
	}
	if len(p) >= chunk {
		w.send(p)
	} else {
		w.buf = append(w.buf, p...)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close sends what is left and has the host publish the resource. It may be
// called again and then repeats its first answer.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.send(w.buf)
	w.closed, w.buf = true, nil
	if w.err != nil {
		return w.err
	}
	if n := w.host.resourceClose(w.handle); n < 0 {
		w.err = fmt.Errorf("close resource %q: %w", w.id, Errno(n))
	}
	return w.err
}

func (w *Writer) send(p []byte) {
	for len(p) > 0 && w.err == nil {
		n := w.host.resourceWrite(w.handle, p)
		if n <= 0 || int(n) > len(p) {
			w.err = fmt.Errorf("write resource %q: %w", w.id, Errno(min(n, 0)))
			return
		}
		p = p[n:]
	}
}

// Reader streams the bytes of an input resource, unbuffered.
type Reader struct {
	host   *host
	handle int32
	id     string
	closed bool
}

// Size is the length in bytes.
func (r *Reader) Size() (int64, error) {
	n := r.host.resourceSize(r.handle)
	if n < 0 {
		return 0, fmt.Errorf("size of resource %q: %w", r.id, Errno(n))
	}
	return n, nil
}

// Read reads the next bytes; io.EOF at the end.
func (r *Reader) Read(p []byte) (int, error) {
	if r.closed {
		return 0, fmt.Errorf("read resource %q: %w", r.id, ErrBadHandle)
	}
	if len(p) == 0 {
		return 0, nil
	}
	n := r.host.resourceRead(r.handle, p)
	switch {
	case n == 0:
		return 0, io.EOF
	case n < 0 || int(n) > len(p):
		return 0, fmt.Errorf("read resource %q: %w", r.id, Errno(min(n, 0)))
	}
	return int(n), nil
}

// Close gives the handle back; the host does so anyway after the call.
func (r *Reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if n := r.host.resourceClose(r.handle); n < 0 {
		return fmt.Errorf("close resource %q: %w", r.id, Errno(n))
	}
	return nil
}

// KV is the plugin's own small store with a quota. It outlives the call and is
// shared by all calls of the plugin: two that change one key at the same time
// may lose one of the changes.
type KV struct{ host *host }

// Get reads a value; ErrNotFound where there is none.
func (kv KV) Get(key string) ([]byte, error) {
	value, err := readWhole(func(buf []byte) int32 { return kv.host.kvGet([]byte(key), buf) })
	if err != nil {
		return nil, fmt.Errorf("get key %q: %w", key, err)
	}
	return value, nil
}

// Set writes a value; ErrLimit where the quota does not allow it.
func (kv KV) Set(key string, value []byte) error {
	if n := kv.host.kvSet([]byte(key), value); n < 0 {
		return fmt.Errorf("set key %q: %w", key, Errno(n))
	}
	return nil
}

// Delete removes a value; ErrNotFound where there is none.
func (kv KV) Delete(key string) error {
	if n := kv.host.kvDelete([]byte(key)); n < 0 {
		return fmt.Errorf("delete key %q: %w", key, Errno(n))
	}
	return nil
}

// readWhole reads a value of unknown length: the host answers the full length
// and fills the buffer only if it is large enough.
func readWhole(read func(buf []byte) int32) ([]byte, error) {
	buf := make([]byte, 1024)
	for {
		n := read(buf)
		if n < 0 {
			return nil, Errno(n)
		}
		if int(n) <= len(buf) {
			return buf[:n], nil
		}
		buf = make([]byte, n)
	}
}

// warm is a call that a module makes to itself before its snapshot is taken,
// so that the first real one finds the JSON codec and the heap ready. It asks
// nothing of the host.
func warm() {
	type arguments struct {
		Data   Reference      `json:"data"`
		Name   string         `json:"name"`
		Number float64        `json:"number"`
		List   []string       `json:"list"`
		More   map[string]any `json:"more"`
	}
	p := &Plugin{commands: []Command{Handle("Warm", func(c *Call, args arguments) (any, error) {
		if args.Number < 0 {
			return nil, Errorf("INVALID_ARGUMENT", "negative").WithTarget("number").WithDetails(args.More)
		}
		c.Warn("WARM", "a warning", "data", nil)
		c.Summary("warm")
		return args, nil
	})}}
	for _, args := range []string{
		`{"command":"Warm","data":{"$resource":"r"},"name":"n","number":1.5,"list":["a","b"],"more":{"k":[1,true,null,"s"]}}`,
		`{"command":"Warm","number":-1}`,
		`{"command":"Warm","unknown":1}`,
		`{"command":"Warm","number":"1"}`,
	} {
		in, err := json.Marshal(map[string]any{"command": "Warm", "arguments": json.RawMessage(args), "deadlineMs": 1})
		if err == nil {
			p.serve(&host{}, in)
		}
	}
}
