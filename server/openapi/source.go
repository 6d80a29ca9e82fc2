package openapi

import "encoding/json"

// Version is the version of the specification that documents are written in.
const Version = "3.1.0"

// Names of components that the package makes itself. A schema of a Source must
// not have the first one.
const (
	// ProblemSchema is the schema of every error that is no tool result.
	ProblemSchema = "Problem"
	// ReferenceSchema is what vcp:resource becomes: the Source must have it.
	ReferenceSchema = "ResourceReference"
	// ResultSchema is the canonical result, which the result of every command
	// narrows: the Source must have it where it has tools.
	ResultSchema = "Result"
)

// Source is what a document is made of. It is only read.
type Source struct {
	Title, Version, Description string
	Operations                  []Operation
	Tools                       []Tool
	// Schemas are the named schemas that operations refer to; those that none
	// leads to are left out. One may refer to another as
	// #/components/schemas/NAME, and to its own places as #/….
	Schemas map[string]json.RawMessage
	// ProblemTypes are the values of "type" in a problem, with what each means.
	ProblemTypes []ProblemType
}

// Operation is one endpoint.
type Operation struct {
	Method string // in capitals
	Path   string // /v1/results/{id}
	ID     string // unique
	Tag    string // the group that it belongs to
	// Summary is one line; Description is Markdown and may be empty.
	Summary, Description string
	// Public needs no key.
	Public bool
	// Scope is what the key needs, "" where that depends on the request.
	Scope      string
	Parameters []Parameter
	// Bodies are what the operation takes, by content type; none means no body.
	Bodies    []Content
	Responses []Response
}

// Parameter is one of a path, a query or a header.
type Parameter struct {
	Name        string          `json:"name"`
	In          string          `json:"in"`
	Required    bool            `json:"required,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
}

// Content is a body: its content type and the name of its schema, "" where the
// bytes have none.
type Content struct{ Type, Schema string }

// Response is one form of an answer; a status may have several.
type Response struct {
	Status int
	Content
}

// Tool is a plugin whose commands become operations.
type Tool struct {
	Name, Title, Description string
	Commands                 []Command
}

// Command is one command of a tool. Nil schemas allow anything.
type Command struct {
	Name, Description                  string
	Input, Output                      json.RawMessage
	ErrorCodes                         []string
	Asynchronous, Idempotent, ReadOnly bool
}

// ProblemType is a value of "type" in a problem.
type ProblemType struct {
	Type, Title, Description string
	Status                   int
}
