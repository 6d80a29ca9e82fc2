package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"vcphost/abi"
)

// document is the wire form of the whole.
type document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       info                             `json:"info"`
	Servers    []map[string]string              `json:"servers"`
	Security   []map[string][]string            `json:"security"`
	Tags       []tag                            `json:"tags,omitempty"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Components map[string]any                   `json:"components"`
}

type info struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Version     string `json:"version"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type operation struct {
	Tags        []string               `json:"tags,omitempty"`
	Summary     string                 `json:"summary,omitempty"`
	Description string                 `json:"description,omitempty"`
	OperationID string                 `json:"operationId"`
	Security    *[]map[string][]string `json:"security,omitempty"`
	Parameters  []any                  `json:"parameters,omitempty"`
	RequestBody *body                  `json:"requestBody,omitempty"`
	Responses   map[string]any         `json:"responses"`
	Command     *commandNote           `json:"x-vcp-command,omitempty"`
}

type body struct {
	Required bool                 `json:"required"`
	Content  map[string]mediaType `json:"content"`
}

type mediaType struct {
	Schema any `json:"schema,omitempty"`
}

type response struct {
	Description string               `json:"description"`
	Headers     map[string]any       `json:"headers,omitempty"`
	Content     map[string]mediaType `json:"content,omitempty"`
}

type reference struct {
	Ref string `json:"$ref"`
}

// The names of what is not a schema among the components.
const (
	bearer       = "bearer"
	problemReply = "Problem"
	requestID    = "RequestId"
	problemType  = "application/problem+json"
	jsonType     = "application/json"
)

// builder is one document in the making.
type builder struct {
	components *components
	used       map[string]bool // components that operations refer to
	doc        document
	ids        map[string]bool
}

// Build writes the document. It fails where the source contradicts itself: an
// operation names a schema that is not there, or two have one id or one place.
func Build(source *Source) ([]byte, error) {
	b := &builder{components: newComponents(), used: map[string]bool{}, ids: map[string]bool{}}
	b.doc = document{
		OpenAPI: Version, Info: info{source.Title, source.Description, source.Version},
		Servers:  []map[string]string{{"url": "/"}},
		Security: []map[string][]string{{bearer: {}}},
		Paths:    map[string]map[string]*operation{},
	}
	names := slices.Sorted(maps.Keys(source.Schemas))
	for _, name := range append(names, ProblemSchema) {
		if got := b.components.name(name); got != name {
			return nil, fmt.Errorf("the schema %q cannot be a component of that name", name)
		}
	}
	for _, name := range names {
		b.components.add(name, source.Schemas[name])
	}
	b.components.add(ProblemSchema, problemSchema(source.ProblemTypes))
	b.used[ProblemSchema] = true
	for i := range source.Operations {
		if err := b.operation(&source.Operations[i]); err != nil {
			return nil, fmt.Errorf("describe %s: %w", source.Operations[i].ID, err)
		}
	}
	for i := range source.Tools {
		if err := b.tool(&source.Tools[i]); err != nil {
			return nil, fmt.Errorf("describe the tool %s: %w", source.Tools[i].Name, err)
		}
	}
	schemas, err := b.components.reachable(b.used)
	if err != nil {
		return nil, err
	}
	b.doc.Components = map[string]any{
		"schemas":         schemas,
		"responses":       map[string]any{problemReply: problemResponse()},
		"parameters":      map[string]any{requestID: requestIDParameter()},
		"headers":         map[string]any{requestID: requestIDHeader()},
		"securitySchemes": map[string]any{bearer: map[string]string{"type": "http", "scheme": "bearer", "description": "An API key."}},
	}
	return abi.Encode(b.doc)
}

// operation adds one endpoint.
func (b *builder) operation(o *Operation) error {
	out := &operation{Summary: o.Summary, Description: o.Description, OperationID: o.ID, Responses: map[string]any{}}
	if o.Tag != "" {
		out.Tags = []string{o.Tag}
	}
	switch {
	case o.Public:
		out.Security = &[]map[string][]string{}
	case o.Scope != "":
		out.Security = &[]map[string][]string{{bearer: {o.Scope}}}
	}
	for i := range o.Parameters {
		out.Parameters = append(out.Parameters, &o.Parameters[i])
	}
	if len(o.Bodies) > 0 {
		out.RequestBody = &body{Required: true, Content: b.contents(o.Bodies)}
	}
	for _, r := range o.Responses {
		b.respond(out, o.Method, r)
	}
	return b.place(o.Method, o.Path, out)
}

// place files an operation under its path and method, with what all operations
// have.
func (b *builder) place(method, path string, o *operation) error {
	if b.ids[o.OperationID] {
		return fmt.Errorf("the operation id %q is there twice", o.OperationID)
	}
	b.ids[o.OperationID] = true
	o.Parameters = append(o.Parameters, reference{"#/components/parameters/" + requestID})
	o.Responses["default"] = reference{"#/components/responses/" + problemReply}
	methods := b.doc.Paths[path]
	if methods == nil {
		methods = map[string]*operation{}
		b.doc.Paths[path] = methods
	}
	method = strings.ToLower(method)
	if methods[method] != nil {
		return fmt.Errorf("%s %s is there twice", method, path)
	}
	methods[method] = o
	return nil
}

// respond adds a form of an answer. A status of an error may also be a problem.
func (b *builder) respond(o *operation, method string, r Response) {
	status := strconv.Itoa(r.Status)
	known, ok := o.Responses[status].(*response)
	if !ok {
		known = &response{Description: http.StatusText(r.Status), Headers: requestIDHeaders()}
		o.Responses[status] = known
	}
	if method == http.MethodHead || r.Type == "" {
		return
	}
	if known.Content == nil {
		known.Content = map[string]mediaType{}
	}
	known.Content[r.Type] = mediaType{}
	if r.Schema != "" {
		known.Content[r.Type] = b.media(r.Content)
	}
	if r.Status >= http.StatusBadRequest {
		known.Content[problemType] = b.media(Content{problemType, ProblemSchema})
	}
}

func (b *builder) contents(list []Content) map[string]mediaType {
	out := make(map[string]mediaType, len(list))
	for _, c := range list {
		out[c.Type] = b.media(c)
	}
	return out
}

func (b *builder) media(c Content) mediaType {
	if c.Schema == "" {
		return mediaType{Schema: json.RawMessage(`{}`)}
	}
	return mediaType{Schema: b.refer(c.Schema)}
}

// refer gives a reference to a component, which is thereby used.
func (b *builder) refer(name string) reference {
	b.used[name] = true
	return reference{componentPrefix + name}
}
