// Package guest is the SDK for plugins in Go: typed commands in, one Plugin
// Result Payload out (VCP Tool Result Protocol 1.0 §5.2), over the binding
// "vcp", version 1.
//
// A plugin is package main. Its commands are registered by a package variable,
// because a module built with -buildmode=c-shared never runs main:
//
//	var plugin = guest.Export(
//		guest.Handle("Greet", greet),
//	)
//
//	func greet(c *guest.Call, args greetArgs) (greeting, error) { … }
//
//	func main() {}
//
// It is built by the plain Go toolchain, 1.24 or newer:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags="-s -w" -o plugin.wasm .
//
// The package imports the standard library alone, and is vendored by copying
// its folder. guest.go is what an author sees of a call, host.go what goes to
// and from the host (streams, key-value store, error numbers), host_wasip1.go
// the table of the host's functions, which only a wasip1 build can have, and
// host_native.go its twin for every other build: it runs the same handlers
// under go test against a Fake host.
//
// Nothing here is safe for concurrent use: a module serves one call at a time,
// and a Call and what it made end when its handler returns. Memory, clock and
// randomness may be those of a snapshot, so a handler keeps what must last in
// KV, and draws random numbers from crypto/rand, not from math/rand.
package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Plugin is a set of commands.
type Plugin struct{ commands []Command }

// Command is one command of a plugin; Handle makes it.
type Command struct {
	name string
	run  func(c *Call, arguments json.RawMessage) (any, error)
}

// Handle makes a command from a function. Its arguments are decoded into A
// strictly: an unknown member or a wrong type is answered with
// INVALID_ARGUMENT, and the function does not run. The member "command" is not
// an argument; Call.Command has it.
//
// What the function returns becomes data of a success. An *Error becomes the
// payload's error as it is; any other error becomes the code PLUGIN.ERROR. A
// panic is not caught: the host reports a trap.
func Handle[A, R any](command string, fn func(*Call, A) (R, error)) Command {
	return Command{name: command, run: func(c *Call, arguments json.RawMessage) (any, error) {
		var args A
		if err := decodeArguments(arguments, &args); err != nil {
			return nil, err
		}
		return fn(c, args)
	}}
}

func (p *Plugin) find(command string) (Command, bool) {
	if command == "" && len(p.commands) == 1 {
		return p.commands[0], true
	}
	i := slices.IndexFunc(p.commands, func(c Command) bool { return c.name == command })
	if i < 0 {
		return Command{}, false
	}
	return p.commands[i], true
}

// serve answers one invocation with a payload; it has no other outcome.
func (p *Plugin) serve(h *host, invocation []byte) []byte {
	c := &Call{host: h}
	if err := json.Unmarshal(invocation, &c.in); err != nil {
		return c.payload(nil, fmt.Errorf("read invocation: %w", err))
	}
	command, ok := p.find(c.in.Command)
	if !ok {
		names := make([]string, len(p.commands))
		for i := range p.commands {
			names[i] = p.commands[i].name
		}
		return c.payload(nil, Errorf("UNKNOWN_COMMAND", "there is no command %q", c.in.Command).
			WithTarget("command").WithDetails(map[string]any{"commands": names}))
	}
	c.in.Command = command.name
	return c.payload(command.run(c, c.in.Arguments))
}

// decodeArguments decodes an arguments object into *args without its command.
func decodeArguments(raw json.RawMessage, args any) error {
	members := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &members); err != nil {
			return Errorf("INVALID_ARGUMENT", "the arguments are not an object")
		}
	}
	delete(members, "command")
	if known := memberNames(reflect.TypeOf(args).Elem()); known != nil {
		for name := range members {
			if !slices.Contains(known, name) {
				return Errorf("INVALID_ARGUMENT", "there is no argument %q", name).
					WithTarget(name).WithDetails(map[string]any{"expected": known})
			}
		}
	}
	rest, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("decode arguments: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(rest))
	dec.DisallowUnknownFields()
	err = dec.Decode(args)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return Errorf("INVALID_ARGUMENT", "the argument %s cannot be a JSON %s", wrong.Field, wrong.Value).
			WithTarget(wrong.Field).WithDetails(map[string]any{"expected": wrong.Type.String()})
	}
	if err != nil {
		return Errorf("INVALID_ARGUMENT", "the arguments do not fit: %w", err)
	}
	return nil
}

// memberNames lists the JSON names of a struct, sorted; nil for what is no
// struct or decodes itself, where every name may be right.
func memberNames(t reflect.Type) []string {
	_, decodesItself := reflect.New(t).Interface().(json.Unmarshaler)
	if t.Kind() != reflect.Struct || decodesItself {
		return nil
	}
	names := []string{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported() || field.Tag.Get("json") == "-" || field.Anonymous && name == "":
		case name == "":
			names = append(names, field.Name)
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Actor is who caused a call; fields that the host does not tell are empty.
type Actor struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Reference points to a resource, in arguments and in data alike (§5.6).
type Reference struct {
	ID string `json:"$resource"`
}

// Ref is the reference to the resource of that id. For an output it is the
// plugin's own id; the host writes the true one in its place.
func Ref(id string) Reference { return Reference{ID: id} }

// Resource describes a resource that the arguments refer to. Size is in bytes.
type Resource struct {
	ID       string `json:"id"`
	MIMEType string `json:"mimeType"`
	FileName string `json:"fileName"`
	Size     int64  `json:"sizeBytes"`
	SHA256   string `json:"sha256"`
}

// Draft describes an output resource before it has bytes (§7.4). Only ID is
// required; what is left empty the host finds out from the bytes.
type Draft struct {
	ID       string `json:"id"`
	Kind     string `json:"kind,omitempty"`
	Role     string `json:"role,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	FileName string `json:"fileName,omitempty"`
}

// Advice suggests how a model may deliver the result (§5.9). An empty Intent
// means relay, an empty Priority normal.
type Advice struct {
	Intent      string   `json:"intent"`
	Message     string   `json:"message,omitempty"`
	ResourceIDs []string `json:"resourceIds"`
	RenderHint  string   `json:"renderHint,omitempty"`
	Priority    string   `json:"priority"`
}

// Warning tells of something that left the result usable (§5.7).
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Target  string `json:"target,omitempty"`
	Details any    `json:"details,omitempty"`
}

// Level is the weight of a log line.
type Level int32

// The levels of the host's log.
const (
	Debug Level = iota
	Info
	Warn
	Failure
)

// Call is one invocation: what the host tells of it, what the handler may ask
// of the host, and what it adds to the payload beside data.
type Call struct {
	host *host
	in   struct {
		Command      string          `json:"command"`
		Arguments    json.RawMessage `json:"arguments"`
		InvocationID string          `json:"invocationId"`
		DeadlineMs   int64           `json:"deadlineMs"`
		Actor        *Actor          `json:"actor"`
		Source       string          `json:"source"`
		Resources    []Resource      `json:"resources"`
	}
	out payload
}

// Command is the command that was called, as the plugin registered it.
func (c *Call) Command() string { return c.in.Command }

// InvocationID is the host's id of this call.
func (c *Call) InvocationID() string { return c.in.InvocationID }

// Deadline is when the host gives the call up; zero means never.
func (c *Call) Deadline() time.Time {
	if c.in.DeadlineMs == 0 {
		return time.Time{}
	}
	return time.UnixMilli(c.in.DeadlineMs)
}

// Source tells where the call came from, such as "cli" or "ai-loop".
func (c *Call) Source() string { return c.in.Source }

// Actor is who caused the call.
func (c *Call) Actor() Actor {
	if c.in.Actor == nil {
		return Actor{}
	}
	return *c.in.Actor
}

// Resource describes an input; false where the call was given no such one.
func (c *Call) Resource(ref Reference) (Resource, bool) {
	i := slices.IndexFunc(c.in.Resources, func(r Resource) bool { return r.ID == ref.ID })
	if i < 0 {
		return Resource{}, false
	}
	return c.in.Resources[i], true
}

// Progress tells how far the call is: a short stage name, a fraction from 0 to
// 1, and a sentence for people. It never waits and is no part of the result.
func (c *Call) Progress(stage string, fraction float64, message string) {
	if !(fraction >= 0) { // also NaN, which JSON has not
		fraction = 0
	}
	event := map[string]any{"stage": stage, "progress": min(fraction, 1), "message": message}
	if raw, err := encode(event); err == nil {
		c.host.progress(raw)
	}
}

// Cancelled reports that the caller has given up or the deadline has passed.
// A long loop asks now and then, and returns early with ErrCanceled.
func (c *Call) Cancelled() bool { return c.host.cancelled() != 0 }

// Log writes a line to the plugin's log.
func (c *Call) Log(level Level, line string) { c.host.log(int32(level), []byte(line)) }

// Logf formats a line for the plugin's log.
func (c *Call) Logf(level Level, format string, args ...any) {
	c.Log(level, fmt.Sprintf(format, args...))
}

// Config returns a value of the plugin's configuration; false where it has
// none, or where the manifest did not ask for that key.
func (c *Call) Config(key string) (string, bool) {
	value, err := readWhole(func(buf []byte) int32 { return c.host.configGet([]byte(key), buf) })
	return string(value), err == nil
}

// KV is the plugin's own store.
func (c *Call) KV() KV { return KV{host: c.host} }

// Warn adds a warning; target is a JSON pointer or a name, details is encoded
// as JSON, and both may be empty.
func (c *Call) Warn(code, message, target string, details any) {
	c.out.Warnings = append(c.out.Warnings, Warning{Code: code, Message: message, Target: target, Details: details})
}

// Summary sets the one sentence that says what the result is (§5.8).
func (c *Call) Summary(text string) { c.presentation().Summary = text }

// Title sets the heading under which an interface may show the result.
func (c *Call) Title(text string) { c.presentation().Title = text }

// View names the view that fits the result, such as "image-result".
func (c *Call) View(name string) { c.presentation().PreferredView = name }

// Primary names the resource that stands for the result.
func (c *Call) Primary(id string) { c.presentation().PrimaryResourceID = id }

// Advise sets the advice for a model; the last one counts.
func (c *Call) Advise(advice Advice) { c.out.Advice = &advice }

// Extension adds a member under a namespaced key, such as "vendor.example".
// The keys "vcp.…" belong to the host, which refuses the whole payload.
func (c *Call) Extension(key string, value any) {
	if c.out.Extensions == nil {
		c.out.Extensions = map[string]any{}
	}
	c.out.Extensions[key] = value
}

// Partial makes the payload a partial one: data is usable, and some of the
// work failed. The error sums that up and may be nil.
func (c *Call) Partial(err *Error) { c.out.Status, c.out.Error = "partial", err }

// CreateResource begins an output resource. It is published once its Writer
// has been closed; one that is left open is thrown away with a warning.
func (c *Call) CreateResource(draft Draft) (*Writer, error) {
	raw, err := encode(draft)
	if err != nil {
		return nil, fmt.Errorf("create resource %q: %w", draft.ID, err)
	}
	handle := c.host.resourceCreate(raw)
	if handle < 0 {
		return nil, fmt.Errorf("create resource %q: %w", draft.ID, Errno(handle))
	}
	return &Writer{host: c.host, handle: handle, id: draft.ID}, nil
}

// Open opens an input resource, from its beginning, as often as wanted.
func (c *Call) Open(ref Reference) (*Reader, error) {
	handle := c.host.resourceOpen([]byte(ref.ID))
	if handle < 0 {
		return nil, fmt.Errorf("open resource %q: %w", ref.ID, Errno(handle))
	}
	return &Reader{host: c.host, handle: handle, id: ref.ID}, nil
}

// payload is a Plugin Result Payload on the wire.
type payload struct {
	Status       string         `json:"status"`
	Data         any            `json:"data"`
	Resources    []Draft        `json:"resources"` // empty: the host knows what was written
	Warnings     []Warning      `json:"warnings"`
	Error        *Error         `json:"error,omitempty"`
	Presentation *presentation  `json:"presentation,omitempty"`
	Advice       *Advice        `json:"aiAdvice,omitempty"`
	Extensions   map[string]any `json:"extensions"`
}

type presentation struct {
	Summary           string `json:"summary,omitempty"`
	PreferredView     string `json:"preferredView,omitempty"`
	Title             string `json:"title,omitempty"`
	PrimaryResourceID string `json:"primaryResourceId,omitempty"`
}

func (c *Call) presentation() *presentation {
	if c.out.Presentation == nil {
		c.out.Presentation = &presentation{}
	}
	return c.out.Presentation
}

// payload encodes the outcome of the handler. What cannot be encoded is the
// plugin's mistake, and is answered like any other plain error.
func (c *Call) payload(data any, err error) []byte {
	out := c.out
	if err != nil {
		out = payload{Status: "error", Error: asError(err), Warnings: c.out.Warnings, Extensions: c.out.Extensions}
	} else {
		out.Data = data
	}
	out.fillDefaults()
	raw, failure := encode(out)
	if failure == nil {
		return raw
	}
	out = payload{Status: "error", Error: asError(fmt.Errorf("encode payload: %w", failure))}
	out.fillDefaults()
	raw, failure = encode(out)
	if failure != nil {
		panic(failure) // holds nothing but strings and empty lists
	}
	return raw
}

func (p *payload) fillDefaults() {
	if p.Status == "" {
		p.Status = "success"
	}
	p.Resources = []Draft{}
	if p.Warnings == nil {
		p.Warnings = []Warning{}
	}
	if p.Extensions == nil {
		p.Extensions = map[string]any{}
	}
	if p.Advice != nil {
		advice := *p.Advice
		if advice.Intent == "" {
			advice.Intent = "relay"
		}
		if advice.Priority == "" {
			advice.Priority = "normal"
		}
		if advice.ResourceIDs == nil {
			advice.ResourceIDs = []string{}
		}
		p.Advice = &advice
	}
}

// encode writes JSON without the escapes that only HTML needs.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

var (
	_ io.WriteCloser = (*Writer)(nil)
	_ io.ReadCloser  = (*Reader)(nil)
)
