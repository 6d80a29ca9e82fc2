package abi

import (
	"encoding/json"
	"time"
)

// Result is the Canonical Tool Result: the one truth of a call, of which every
// consumer is shown a view (§5.3, §5.4). All its members are on the wire,
// always. It is read-only once built.
type Result struct {
	Protocol     Protocol        `json:"protocol"`
	ID           string          `json:"id"`
	Status       Status          `json:"status"`
	Tool         Tool            `json:"tool"`
	Execution    Execution       `json:"execution"`
	Actor        *Actor          `json:"actor"`
	Origin       Origin          `json:"origin"`
	Data         json.RawMessage `json:"data"`
	Resources    []Resource      `json:"resources"`
	Warnings     []Warning       `json:"warnings"`
	Error        *Error          `json:"error"`
	Task         *Task           `json:"task"`
	Presentation *Presentation   `json:"presentation"`
	AIAdvice     *AIAdvice       `json:"aiAdvice"`
	Policy       Policy          `json:"policy"`
	Extensions   Extensions      `json:"extensions"`
}

// MarshalJSON writes every member of §5.4: null data, empty lists and an empty
// extensions object where there is nothing.
func (r Result) MarshalJSON() ([]byte, error) {
	type wire Result
	if len(r.Data) == 0 {
		r.Data = json.RawMessage("null")
	}
	r.Resources = orEmpty(r.Resources)
	r.Warnings = orEmpty(r.Warnings)
	r.Policy.RedactionsApplied = orEmpty(r.Policy.RedactionsApplied)
	if r.Extensions == nil {
		r.Extensions = Extensions{}
	}
	return Encode(wire(r))
}

// Tool identifies the tool and the command that were called. Version and
// DisplayName are empty for a tool that was not found.
type Tool struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Version     string `json:"version"`
	Command     string `json:"command"`
}

// Execution tells when and under which identities a call ran. RecordID is nil
// where the call was not recorded; TimeoutMs is the one limit in force, in
// milliseconds; Attempt starts at 1.
type Execution struct {
	InvocationID string    `json:"invocationId"`
	RequestID    string    `json:"requestId"`
	RecordID     *string   `json:"recordId"`
	StartedAt    Timestamp `json:"startedAt"`
	FinishedAt   Timestamp `json:"finishedAt"`
	DurationMs   int64     `json:"durationMs"`
	TimeoutMs    int64     `json:"timeoutMs"`
	Attempt      int       `json:"attempt"`
}

// Timestamp is a point in time that goes over the wire as RFC 3339 with
// milliseconds (§5.3).
type Timestamp time.Time

const timestampLayout = "2006-01-02T15:04:05.000Z07:00"

// String gives the wire form without quotes.
func (t Timestamp) String() string { return time.Time(t).Format(timestampLayout) }

// MarshalText writes the wire form.
func (t Timestamp) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads any RFC 3339 time.
func (t *Timestamp) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339Nano, string(text))
	*t = Timestamp(parsed)
	return err
}

// Actor is who made a call.
type Actor struct {
	Type ActorType `json:"type"`
	ID   *string   `json:"id"`
	Name *string   `json:"name"`
	Maid *string   `json:"maid"` // the name that callers of older systems give
}

// ActorType is the sort of an actor.
type ActorType string

// The actor types.
const (
	ActorUser     ActorType = "user"
	ActorAgent    ActorType = "agent"
	ActorWorkflow ActorType = "workflow"
	ActorSchedule ActorType = "schedule"
	ActorNode     ActorType = "node"
	ActorSystem   ActorType = "system"
)

// ActorTypes lists every valid actor type.
func ActorTypes() []ActorType {
	return []ActorType{ActorUser, ActorAgent, ActorWorkflow, ActorSchedule, ActorNode, ActorSystem}
}

// Origin tells from where a call came and where it ran.
type Origin struct {
	Source      OriginSource `json:"source"`
	NodeID      *string      `json:"nodeId"`
	ServerID    string       `json:"serverId"`
	Distributed bool         `json:"distributed"`
	RequestIP   *string      `json:"requestIp"`
}

// OriginSource is the trigger of a call.
type OriginSource string

// The origin sources.
const (
	FromCLI       OriginSource = "cli"
	FromHumanTool OriginSource = "human-tool"
	FromAILoop    OriginSource = "ai-loop"
	FromWorkflow  OriginSource = "workflow"
	FromSchedule  OriginSource = "schedule"
	FromMCP       OriginSource = "mcp"
	FromBridge    OriginSource = "bridge"
	FromNode      OriginSource = "node"
	FromCallback  OriginSource = "callback"
)

// OriginSources lists every valid origin source.
func OriginSources() []OriginSource {
	return []OriginSource{FromCLI, FromHumanTool, FromAILoop, FromWorkflow, FromSchedule, FromMCP, FromBridge, FromNode, FromCallback}
}

// Policy is the security summary of a result. ContainsSensitiveData and
// RedactionsApplied are filled in a viewer's copy only.
type Policy struct {
	Classification        Classification `json:"classification"`
	ContainsSensitiveData bool           `json:"containsSensitiveData"`
	RedactionsApplied     []Redaction    `json:"redactionsApplied"`
}

// Classification says how widely a result may be shown.
type Classification string

// The classifications; a manifest that names none means internal.
const (
	ClassificationPublic       Classification = "public"
	ClassificationInternal     Classification = "internal"
	ClassificationConfidential Classification = "confidential"
	ClassificationRestricted   Classification = "restricted"
)

// Classifications lists every valid classification.
func Classifications() []Classification {
	return []Classification{ClassificationPublic, ClassificationInternal, ClassificationConfidential, ClassificationRestricted}
}

// Redaction tells that something was hidden from a view, never what it was.
type Redaction struct {
	Pointer string `json:"pointer"` // JSON pointer into the result
	Reason  string `json:"reason"`
}

// Trust is the class of confinement that a plugin ran under.
type Trust string

// The trust classes.
const (
	TrustWASM    Trust = "wasm"    // sandboxed
	TrustProcess Trust = "process" // a child process, confined as far as the system allows
	TrustRemote  Trust = "remote"
	TrustBuiltin Trust = "builtin"
)
