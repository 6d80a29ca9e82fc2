package abi

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Error is a failure as the protocol tells it (§6.1). It is a Go error too:
// [errors.Is] compares codes, and [errors.Unwrap] gives the cause, which stays
// inside the process. On the wire cause is always null.
type Error struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Category  Category        `json:"category"`
	Retryable bool            `json:"retryable"`
	Target    string          `json:"target"`
	Details   json.RawMessage `json:"details"`

	cause        error
	hasRetryable bool // the wire said true or false
}

// NewError makes an error of a code, with category and retryable from the
// table of codes.
func NewError(code, format string, args ...any) *Error {
	info := LookupCode(code)
	return &Error{
		Code: code, Message: fmt.Sprintf(format, args...),
		Category: info.Category, Retryable: info.Retryable, hasRetryable: true,
	}
}

// WithTarget sets what the error is about: the name of an argument or a JSON
// pointer. It returns e.
func (e *Error) WithTarget(target string) *Error {
	e.Target = target
	return e
}

// WithDetails sets the details to the JSON object of v, a map or a struct; what
// cannot be marshalled becomes an object that says so. It returns e.
func (e *Error) WithDetails(v any) *Error {
	raw, err := json.Marshal(v)
	if err != nil {
		raw, _ = json.Marshal(map[string]string{"unprintable": err.Error()})
	}
	e.Details = raw
	return e
}

// WithCause keeps the Go error behind e for logs and [errors.Is]. It returns e.
func (e *Error) WithCause(err error) *Error {
	e.cause = err
	return e
}

// Complete fills a category and a retryable that the wire left out from the
// table of codes.
func (e *Error) Complete() {
	info := LookupCode(e.Code)
	if e.Category == "" {
		e.Category = info.Category
	}
	if !e.hasRetryable {
		e.Retryable, e.hasRetryable = info.Retryable, true
	}
}

// Error gives code and message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Is reports whether target is an *Error of the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// Unwrap gives the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf gives the code of the first *Error in err's chain, "" if there is none.
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// errorWire is the wire form of §6.1; pointers tell absent from false or empty.
type errorWire struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Category  Category        `json:"category,omitempty"`
	Retryable *bool           `json:"retryable"`
	Target    *string         `json:"target"`
	Details   json.RawMessage `json:"details"`
	Cause     json.RawMessage `json:"cause"`
}

// MarshalJSON writes all seven members of §6.1; cause is null.
func (e Error) MarshalJSON() ([]byte, error) {
	e.Complete()
	wire := errorWire{Code: e.Code, Message: e.Message, Category: e.Category, Retryable: &e.Retryable, Details: e.Details}
	if e.Target != "" {
		wire.Target = &e.Target
	}
	return Encode(wire)
}

// UnmarshalJSON reads an error; a cause is dropped, since it is never on the
// wire.
func (e *Error) UnmarshalJSON(raw []byte) error {
	var wire errorWire
	if err := json.Unmarshal(raw, &wire); err != nil {
		return fmt.Errorf("read error object: %w", err)
	}
	*e = Error{Code: wire.Code, Message: wire.Message, Category: wire.Category, hasRetryable: wire.Retryable != nil}
	if wire.Retryable != nil {
		e.Retryable = *wire.Retryable
	}
	if wire.Target != nil {
		e.Target = *wire.Target
	}
	if hasJSON(wire.Details) {
		e.Details = wire.Details
	}
	return nil
}
