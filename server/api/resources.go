package api

import (
	"errors"
	"time"

	"vcphost/abi"
	"vcphost/server/identity"
	"vcphost/server/problem"
)

func (o *Options) boundTransfers() {
	if o.MaxUploadBytes <= 0 {
		o.MaxUploadBytes = defaultMaxUploadBytes
	}
	if o.TransferStall <= 0 {
		o.TransferStall = defaultTransferStall
	}
}

func (a *API) resourceRoutes() []Route {
	routes := []Route{
		{
			Method: "POST", Path: "/v1/resources", Scope: identity.ScopeResourcesWrite, Limited: true,
			MaxBody: a.opts.MaxUploadBytes, MaxForm: a.opts.MaxUploadBytes + maxFormBytes, OperationID: "uploadResource",
			Summary: "Store the body, or the file of a form, as a resource and answer with its descriptor",
			Doc: Doc{
				Parameters: []Parameter{
					{Name: "kind", In: "query", Type: "string", Description: "kind of the resource; the media type says it where this is missing"},
					{Name: "role", In: "query", Type: "string", Description: "role of the resource, output where this is missing"},
					{Name: "Content-Disposition", In: "header", Type: "string", Description: `file name of a body that is no form: attachment; filename="…"`},
					{Name: "Content-Digest", In: "header", Type: "string", Description: "sha-256=:…: of the body, checked; Repr-Digest and Digest too"},
				},
				RequestTypes: map[string]string{"*/*": "", "multipart/form-data": "Upload"},
				Responses:    map[int]Content{201: {jsonType, "Resource"}},
			},
			Handle: a.uploadResource,
		},
		a.download("GET", "getResource", "The bytes of a resource, or ranges of them"),
		a.download("HEAD", "headResource", "What a GET of the whole resource would say of it"),
		{
			Method: "GET", Path: "/v1/resources/{id}/descriptor", Scope: identity.ScopeResourcesRead, OperationID: "describeResource",
			Summary: "The descriptor of a resource",
			Doc:     Doc{Parameters: []Parameter{resourceID()}, Responses: map[int]Content{200: {jsonType, "Resource"}}},
			Handle:  a.describeResource,
		},
	}
	if a.opts.URLs == nil {
		return routes
	}
	return append(routes, Route{
		Method: "POST", Path: "/v1/resources/{id}/url", Scope: identity.ScopeResourcesRead, MaxBody: 4 << 10, OperationID: "signResource",
		Summary: "A URL that opens the resource without a key for a time",
		Doc: Doc{
			Parameters: []Parameter{resourceID()}, RequestTypes: map[string]string{jsonType: "SignResource"},
			Responses: map[int]Content{200: {jsonType, "SignedURL"}},
		},
		Handle: a.signResource,
	})
}

func resourceID() Parameter {
	return Parameter{Name: "id", In: "path", Type: "string", Required: true, Description: "id of the resource, res_…"}
}

// download is the route of the bytes for one method.
func (a *API) download(method, operation, summary string) Route {
	any := Content{"*/*", ""}
	route := Route{
		Method: method, Path: "/v1/resources/{id}", Scope: identity.ScopeResourcesRead, Alternative: a.bySignedURL, Limited: true,
		OperationID: operation, Summary: summary,
		Doc: Doc{
			Parameters: []Parameter{
				resourceID(),
				{Name: "If-None-Match", In: "header", Type: "string", Description: "entity tags, of which one that matches is answered with 304"},
				{Name: "expires", In: "query", Type: "integer", Description: "of a signed URL: Unix seconds"},
				{Name: "signature", In: "query", Type: "string", Description: "of a signed URL"},
			},
			Responses: map[int]Content{200: any, 304: {}},
		},
		Handle: a.getResource,
	}
	if method == "GET" {
		route.Doc.Parameters = append(route.Doc.Parameters,
			Parameter{Name: "Range", In: "header", Type: "string", Description: "bytes=first-last, first- or -length, also several"},
			Parameter{Name: "If-Range", In: "header", Type: "string", Description: "entity tag without which Range does not count"})
		route.Doc.Responses[206] = any
	}
	return route
}

func (a *API) describeResource(r *Request) error {
	resource, err := a.opts.Resources.Describe(r.Context(), r.Identity.Viewer(), r.Param("id"))
	if err != nil {
		return resourceProblem(err)
	}
	return r.Encode(resource)
}

// fullRetry is when a client that met a full disk may come again.
const fullRetry = time.Minute

// resourceProblem says in HTTP's words what the store of resources refused.
func resourceProblem(err error) error {
	var told *problem.Problem
	if errors.As(err, &told) {
		return told
	}
	var known *abi.Error
	if !errors.As(err, &known) {
		return err
	}
	switch known.Code {
	case abi.CodeFileNotFound:
		return problem.NotFound("there is no such resource")
	case abi.CodeResourceTooLarge:
		return problem.PayloadTooLarge("%s", known.Message)
	case abi.CodeInvalidArgument, abi.CodeInvalidToolResult:
		return problem.BadRequest("%s", known.Message)
	case abi.CodeDependencyUnavailable:
		return problem.Unavailable(fullRetry, "%s", known.Message)
	case abi.CodeToolCancelled:
		return problem.Unavailable(time.Second, "the request was stopped")
	}
	return err
}
