package api

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"vcphost/abi/schema"
	"vcphost/host/registry"
	"vcphost/server/identity"
	"vcphost/server/openapi"
	"vcphost/server/problem"
)

// schemaFiles holds a JSON Schema for every body that a route names in its Doc,
// NAME.json for the name. One refers to another as #/components/schemas/NAME.
//
//go:embed schemas/*.json
var schemaFiles embed.FS

// Version is the version of the API. Within it, answers gain members and never
// lose them.
const Version = "1.0.0"

const aboutAPI = `Tools in a sandbox, called over HTTP.

Every operation that takes a body of arguments answers with a canonical result (VCP Tool Result Protocol 1.0): a tool that failed is an answer of status 200 whose ` + "`status`" + ` tells. What is no result is a problem (RFC 9457). This document lists what your key may do.`

func (a *API) openapiRoutes() []Route {
	return []Route{{
		Method: "GET", Path: "/openapi.json", Scope: identity.ScopeToolsList, OperationID: "openapi",
		Summary: "This description: what the key may do, every command as an operation of its own",
		Doc:     Doc{Responses: map[int]Content{200: {jsonType, "OpenAPI"}}},
		Handle:  a.openapi,
	}}
}

// maxDocuments bounds how many documents are kept; each is of a set of scopes.
const maxDocuments = 64

// documents keeps the API's descriptions of one snapshot of the registry, by the
// scopes that they are for. It is safe for concurrent use.
type documents struct {
	mu       sync.Mutex
	snapshot *registry.Snapshot
	byScopes map[string][]byte
}

// get gives a document that is kept, nil without one, and forgets those of
// another snapshot.
func (d *documents) get(snapshot *registry.Snapshot, scopes string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.snapshot != snapshot {
		d.snapshot, d.byScopes = snapshot, map[string][]byte{}
	}
	return d.byScopes[scopes]
}

func (d *documents) keep(snapshot *registry.Snapshot, scopes string, document []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.snapshot != snapshot {
		return // a reload was faster
	}
	if len(d.byScopes) >= maxDocuments {
		clear(d.byScopes)
	}
	d.byScopes[scopes] = document
}

func (a *API) openapi(r *Request) error {
	snapshot := a.opts.Registry.Snapshot()
	scopes := scopeList(r.Identity)
	document := a.documents.get(snapshot, scopes)
	if document == nil {
		var err error
		if document, err = a.describe(snapshot, r.Identity); err != nil {
			return err
		}
		a.documents.keep(snapshot, scopes, document)
	}
	r.fiber.Set("Cache-Control", "private, no-cache")
	return r.JSON(200, document)
}

// scopeList is the same for identities that may do the same.
func scopeList(who *identity.Identity) string {
	list := make([]string, 0, len(who.Scopes))
	for _, scope := range who.Scopes {
		list = append(list, string(scope))
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), "\n")
}

// describe writes the document of what an identity may do.
func (a *API) describe(snapshot *registry.Snapshot, who *identity.Identity) ([]byte, error) {
	schemas, err := bodySchemas()
	if err != nil {
		return nil, err
	}
	source := &openapi.Source{
		Title: "vcphost", Version: Version, Description: aboutAPI, Schemas: schemas,
	}
	for _, info := range problem.Kinds() {
		source.ProblemTypes = append(source.ProblemTypes, openapi.ProblemType{
			Type: info.Type(), Title: info.Title, Description: info.Description, Status: info.Status,
		})
	}
	for i := range a.routes {
		if mayReach(who, &a.routes[i]) {
			source.Operations = append(source.Operations, a.routes[i].operation())
		}
	}
	for _, plugin := range snapshot.Plugins() {
		if tool, ok := describeTool(plugin, who); ok {
			source.Tools = append(source.Tools, tool.operations())
		}
	}
	document, err := openapi.Build(source)
	if err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	return document, nil
}

// mayReach reports whether an identity gets through the door of a route.
func mayReach(who *identity.Identity, route *Route) bool {
	switch {
	case route.Local:
		return false
	case route.Public:
		return true
	case route.PerTool:
		return slices.ContainsFunc(who.Scopes, func(have identity.Scope) bool {
			return have == identity.ScopeAdmin || strings.HasPrefix(string(have), string(identity.ScopeToolsCall))
		})
	}
	return who.Scopes.Allow(route.Scope)
}

// operation is the route as the description has it.
func (r *Route) operation() openapi.Operation {
	o := openapi.Operation{
		Method: r.Method, Path: r.Path, ID: r.OperationID, Summary: r.Summary,
		Tag: group(r.Path), Public: r.Public, Scope: string(r.Scope),
	}
	for _, p := range r.Doc.Parameters {
		o.Parameters = append(o.Parameters, openapi.Parameter{
			Name: p.Name, In: p.In, Required: p.Required, Description: p.Description, Schema: p.schema(),
		})
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Doc.RequestTypes)) {
		o.Bodies = append(o.Bodies, openapi.Content{Type: kind, Schema: r.Doc.RequestTypes[kind]})
	}
	for _, status := range slices.Sorted(maps.Keys(r.Doc.Responses)) {
		content := r.Doc.Responses[status]
		o.Responses = append(o.Responses, openapi.Response{Status: status, Content: openapi.Content(content)})
		if r.Doc.Streams && status == 200 {
			o.Responses = append(o.Responses, openapi.Response{Status: status, Content: openapi.Content{Type: eventStream, Schema: "EventStream"}})
		}
	}
	return o
}

func (p *Parameter) schema() json.RawMessage {
	if p.Schema != "" {
		return json.RawMessage(p.Schema)
	}
	return json.RawMessage(`{"type":"` + p.Type + `"}`)
}

// group names the sort of an endpoint: /v1/results/{id} is of results.
func group(path string) string {
	rest, versioned := strings.CutPrefix(path, "/v1/")
	if !versioned {
		return "server"
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// operations is the tool as the description has it.
func (t *toolInfo) operations() openapi.Tool {
	tool := openapi.Tool{Name: t.Name, Title: t.DisplayName, Description: t.Description}
	for _, c := range t.Commands {
		tool.Commands = append(tool.Commands, openapi.Command{
			Name: c.Command, Description: c.Description, Input: c.InputSchema, Output: c.OutputSchema,
			ErrorCodes: c.ErrorCodes, Asynchronous: c.Asynchronous, Idempotent: c.Idempotent, ReadOnly: c.ReadOnly,
		})
	}
	return tool
}

// bodySchemas are the named schemas of all bodies: those beside the handlers and
// those of the protocol.
func bodySchemas() (map[string]json.RawMessage, error) {
	list := map[string]json.RawMessage{
		openapi.ResultSchema: schema.Result(), openapi.ReferenceSchema: schema.Resource(), "Manifest": schema.Manifest(),
	}
	names, err := fs.Glob(schemaFiles, "schemas/*.json")
	if err != nil {
		return nil, fmt.Errorf("list schemas: %w", err)
	}
	for _, file := range names {
		raw, err := schemaFiles.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		list[strings.TrimSuffix(strings.TrimPrefix(file, "schemas/"), ".json")] = raw
	}
	return list, nil
}
