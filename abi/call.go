package abi

import (
	"context"
	"encoding/json"
	"io"
	"strconv"
	"time"
)

// Call is a request to run one command of one tool, as a trigger hands it to
// the host. Tool is the name of a plugin, or "TOOL.COMMAND".
//
// Only Tool, Arguments and Options may come from a caller's body; Context is
// the trigger's own statement of who calls and from where.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // one JSON object; empty means {}
	Options   CallOptions     `json:"options"`
	Context   CallContext     `json:"-"`
}

// CallOptions are the caller's wishes for one call.
type CallOptions struct {
	// TimeoutMs shortens the deadline of the call, in milliseconds; zero leaves
	// the manifest's. It never lengthens it.
	TimeoutMs int64 `json:"timeoutMs,omitempty"`
	// NoRecord keeps the call out of the records.
	NoRecord bool `json:"-"`
}

// CallContext is who calls, from where and under which identities.
type CallContext struct {
	Owner        Owner
	Actor        *Actor
	Source       OriginSource
	NodeID       string // "" when local
	RequestIP    string // "" when unknown
	RequestID    string // "" lets the host make one
	InvocationID string // "" lets the host make one
	Progress     ProgressReporter
}

// Invocation is everything that a transport gets for one call. Its JSON form
// is what a guest receives; the host's services in it are not part of that.
type Invocation struct {
	Plugin       string          // name of the plugin
	Command      string          // true commandIdentifier, "" where the manifest has none
	Arguments    json.RawMessage // checked against the input schema
	InvocationID string
	Deadline     time.Time // zero means none; the context carries it as well
	Actor        *Actor
	Source       OriginSource
	Inputs       []Resource // descriptors of what the arguments reference

	Resources ResourceWriter // begins output resources
	Reader    ResourceReader // opens the inputs, and only those
	Progress  ProgressReporter
}

// inputWire is what a guest is told of an input resource.
type inputWire struct {
	ID        string       `json:"id"`
	Kind      ResourceKind `json:"kind"`
	MIMEType  string       `json:"mimeType"`
	FileName  string       `json:"fileName"`
	SizeBytes int64        `json:"sizeBytes"`
	SHA256    string       `json:"sha256"`
}

// MarshalJSON writes the invocation as a guest receives it: command,
// arguments, invocationId, deadlineMs (Unix time in milliseconds, null without
// a deadline), actor, source and resources.
func (inv Invocation) MarshalJSON() ([]byte, error) { return inv.AppendJSON(nil) }

// AppendJSON appends what MarshalJSON writes. Arguments go in as they are: they
// must be valid JSON, and empty ones count as {}. Every call of every plugin
// passes here, so what is plain is written without reflection.
func (inv *Invocation) AppendJSON(dst []byte) ([]byte, error) {
	arguments := []byte(inv.Arguments)
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	dst = appendString(append(dst, `{"command":`...), inv.Command)
	dst = append(append(dst, `,"arguments":`...), arguments...)
	dst = appendString(append(dst, `,"invocationId":`...), inv.InvocationID)
	dst = append(dst, `,"deadlineMs":`...)
	if inv.Deadline.IsZero() {
		dst = append(dst, "null"...)
	} else {
		dst = strconv.AppendInt(dst, inv.Deadline.UnixMilli(), 10)
	}
	dst = inv.Actor.append(append(dst, `,"actor":`...))
	dst = appendString(append(dst, `,"source":`...), string(inv.Source))
	dst = append(dst, `,"resources":[`...)
	for i, r := range inv.Inputs {
		raw, err := Encode(inputWire{r.ID, r.Kind, r.MIMEType, r.FileName, r.SizeBytes, r.SHA256})
		if err != nil {
			return nil, err
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, raw...)
	}
	return append(dst, "]}"...), nil
}

func (a *Actor) append(dst []byte) []byte {
	if a == nil {
		return append(dst, "null"...)
	}
	dst = appendString(append(dst, `{"type":`...), string(a.Type))
	for _, member := range []struct {
		name  string
		value *string
	}{{`,"id":`, a.ID}, {`,"name":`, a.Name}, {`,"maid":`, a.Maid}} {
		dst = append(dst, member.name...)
		if member.value == nil {
			dst = append(dst, "null"...)
		} else {
			dst = appendString(dst, *member.value)
		}
	}
	return append(dst, '}')
}

// appendString appends a JSON string as Encode writes it.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			raw, err := Encode(s)
			if err != nil { // no string fails to encode
				return append(dst, `""`...)
			}
			return append(dst, raw...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// Reply is what a transport brings back: the payload's bytes as the plugin
// wrote them, unchecked, and what the transport itself has to say.
type Reply struct {
	Payload    json.RawMessage
	Warnings   []Warning
	Extensions Extensions // "vcp." keys of the transport
}

// ResourceWriter begins output resources for one call. Implementations are
// safe for concurrent use.
type ResourceWriter interface {
	// Create begins the resource that draft describes. It fails with an *Error
	// (RESOURCE_TOO_LARGE for a limit, INVALID_TOOL_RESULT for a bad draft).
	Create(ctx context.Context, draft ResourceDraft) (ResourceSink, error)
}

// ResourceSink takes the bytes of one output resource. It is not safe for
// concurrent use.
type ResourceSink interface {
	io.Writer
	// Close finishes the resource, which can be referenced from then on. A sink
	// that is never closed leaves nothing behind.
	Close() error
}

// ResourceReader opens the input resources of one call, and no others.
// Implementations are safe for concurrent use.
type ResourceReader interface {
	// Open gives the bytes of an input, or an *Error of code FILE_NOT_FOUND.
	Open(ctx context.Context, id string) (ResourceStream, error)
}

// ResourceStream reads the bytes of one input resource.
type ResourceStream interface {
	io.ReadCloser
	// Size is the length of the whole resource in bytes.
	Size() int64
}

// Progress is one event of a running call (§10.6). It is no part of a result
// and never stands for success.
type Progress struct {
	Stage    string   `json:"stage"`
	Progress *float64 `json:"progress"` // 0 to 1, nil when unknown
	Message  string   `json:"message"`
}

// ProgressReporter takes progress events of one call. It must not block and is
// safe for concurrent use.
type ProgressReporter func(Progress)
