package api

import (
	"errors"
	"io"
	"mime"

	"github.com/gofiber/fiber/v2"

	"vcphost/abi"
	"vcphost/server/identity"
	"vcphost/server/problem"
)

// defaultMaxUploadBytes bounds an upload where the options name no bound.
const defaultMaxUploadBytes = 1 << 30

func (a *API) resourceRoutes() []Route {
	id := Parameter{Name: "id", In: "path", Type: "string", Required: true, Description: "id of the resource, res_…"}
	return []Route{
		{
			Method: "POST", Path: "/v1/resources", Scope: identity.ScopeResourcesWrite, Limited: true, OperationID: "uploadResource",
			Summary: "Store the body as a resource and answer with its descriptor",
			Doc: Doc{
				RequestTypes: map[string]string{"*/*": ""},
				Responses:    map[int]Content{201: {jsonType, "Resource"}},
			},
			Handle: a.uploadResource,
		},
		{
			Method: "GET", Path: "/v1/resources/{id}", Scope: identity.ScopeResourcesRead, Limited: true, OperationID: "getResource",
			Summary: "The bytes of a resource",
			Doc:     Doc{Parameters: []Parameter{id}, Responses: map[int]Content{200: {"*/*", ""}}},
			Handle:  a.getResource,
		},
	}
}

func (a *API) uploadResource(r *Request) error {
	limit := a.opts.MaxUploadBytes
	if limit <= 0 {
		limit = defaultMaxUploadBytes
	}
	if length := int64(r.fiber.Request().Header.ContentLength()); length > limit {
		return problem.PayloadTooLarge("the body has %d bytes, and at most %d are taken", length, limit)
	}
	draft := abi.ResourceDraft{MIMEType: r.Header(fiber.HeaderContentType), FileName: dispositionName(r.Header(fiber.HeaderContentDisposition))}
	resource, err := a.opts.Resources.Import(r.Context(), r.Identity.Owner, draft, r.BodyReader(), limit)
	if err != nil {
		return resourceProblem(err)
	}
	body, err := abi.Encode(resource)
	if err != nil {
		return err
	}
	r.fiber.Set(fiber.HeaderLocation, "/v1/resources/"+resource.ID)
	return r.JSON(fiber.StatusCreated, body)
}

// dispositionName is the file name in a Content-Disposition, "" without one.
func dispositionName(header string) string {
	_, parameters, err := mime.ParseMediaType(header)
	if err != nil {
		return ""
	}
	return parameters["filename"]
}

func (a *API) getResource(r *Request) error {
	reader, err := a.opts.Resources.OpenReader(r.Context(), r.Identity.Viewer(), r.Param("id"))
	if err != nil {
		return resourceProblem(err)
	}
	r.fiber.Set(fiber.HeaderContentType, reader.Resource().MIMEType)
	r.fiber.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	r.fiber.Context().SetBodyStream(&download{Reader: reader, release: r.detach()}, int(reader.Size()))
	return nil
}

// download is the body of an answer; its end gives the request's place back.
type download struct {
	io.Reader
	release func()
}

// Close ends the download.
func (d *download) Close() error {
	d.release()
	if closer, ok := d.Reader.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

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
		return problem.Unavailable(0, "%s", known.Message)
	}
	return err
}
