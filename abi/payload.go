package abi

import (
	"bytes"
	"encoding/json"
)

// Payload is what a plugin returns: the business outcome of one command and
// nothing that belongs to the core (§5.1, §5.2).
//
// A payload on the wire has status and data (null counts); resources, warnings
// and extensions may be left out and are then empty; presentation, aiAdvice,
// task and error are optional; any other member is refused.
type Payload struct {
	Status       Status          `json:"status"`
	Data         json.RawMessage `json:"data"`
	Resources    []ResourceDraft `json:"resources"`
	Warnings     []Warning       `json:"warnings"`
	Error        *Error          `json:"error,omitempty"`
	Task         *Task           `json:"task,omitempty"`
	Presentation *Presentation   `json:"presentation,omitempty"`
	AIAdvice     *AIAdvice       `json:"aiAdvice,omitempty"`
	Extensions   Extensions      `json:"extensions"`
}

// HasData reports whether data is there and not null.
func (p *Payload) HasData() bool { return hasJSON(p.Data) }

// MarshalJSON writes the payload as every sample of §5.2 does: data as null
// when there is none, empty lists and an empty extensions object rather than
// null.
func (p Payload) MarshalJSON() ([]byte, error) {
	type wire Payload
	if len(p.Data) == 0 {
		p.Data = json.RawMessage("null")
	}
	p.Resources = orEmpty(p.Resources)
	p.Warnings = orEmpty(p.Warnings)
	if p.Extensions == nil {
		p.Extensions = Extensions{}
	}
	return Encode(wire(p))
}

// Extensions are members under namespaced keys, such as "vendor.example"
// (§5.10). The keys of [HostExtensionKeys] are written by the host alone.
type Extensions map[string]json.RawMessage

// Presentation hints at how a general user interface may show the result
// (§5.8). It carries no facts, no HTML and no message shape of a model vendor.
// An empty string stands for an absent member.
type Presentation struct {
	Summary           string `json:"summary,omitempty"`
	PreferredView     string `json:"preferredView,omitempty"`
	Title             string `json:"title,omitempty"`
	PrimaryResourceID string `json:"primaryResourceId,omitempty"`
}

// Warning tells of something that did not prevent a usable result (§5.7).
type Warning struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Target  string          `json:"target,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// Warnings that the host adds to a result.
const (
	// WarningForbiddenField: data holds what §5.6 and §13.2 forbid.
	WarningForbiddenField = "DATA_FORBIDDEN_FIELD"
	// WarningErrorCodeReserved: a plugin used a code that only the host may raise.
	WarningErrorCodeReserved = "ERROR_CODE_RESERVED"
	// WarningErrorCodeUndeclared: a plugin used a code outside its errorCodes.
	WarningErrorCodeUndeclared = "ERROR_CODE_UNDECLARED"
	// WarningDanglingReference: advice or presentation named a resource that
	// does not exist; the name was dropped.
	WarningDanglingReference = "REFERENCE_DROPPED"
	// WarningResourceUnfinished: an output resource was begun and not closed;
	// it is not published.
	WarningResourceUnfinished = "RESOURCE_UNFINISHED"
	// WarningResourceOutputMissing: a declared resourceOutputs pointer holds no
	// reference.
	WarningResourceOutputMissing = "RESOURCE_OUTPUT_MISSING"
	// WarningMIMEMismatch: the declared media type and the bytes disagree.
	WarningMIMEMismatch = "MIME_MISMATCH"
	// WarningResultNotKept: the host could not store the result.
	WarningResultNotKept = "RESULT_NOT_KEPT"
	// WarningLogTruncated: the plugin logged more than its limit.
	WarningLogTruncated = "LOG_TRUNCATED"
)

func hasJSON(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) > 0 && !bytes.Equal(trimmed, []byte("null"))
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
