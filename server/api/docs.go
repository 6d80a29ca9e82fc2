package api

import (
	"strings"

	"vcphost/server/openapi/viewer"
	"vcphost/server/problem"
)

func (a *API) docsRoutes() []Route {
	return []Route{
		{
			Method: "GET", Path: "/docs", Public: true, OperationID: "docs",
			Summary: "A page for people that shows this description; it asks for a key",
			Doc:     Doc{Responses: map[int]Content{200: {"text/html", ""}}},
			Handle:  func(r *Request) error { return r.page(viewer.Index) },
		},
		{
			Method: "GET", Path: "/docs/{file}", Public: true, OperationID: "docsFile",
			Summary: "What the page loads",
			Doc: Doc{
				Parameters: []Parameter{{Name: "file", In: "path", Schema: pageFiles(), Required: true, Description: "name of the file"}},
				Responses:  map[int]Content{200: {"*/*", ""}},
			},
			Handle: func(r *Request) error { return r.page(r.Param("file")) },
		},
	}
}

// pageFiles is the schema of the names of the page's files.
func pageFiles() string {
	return `{"enum":["` + strings.Join(viewer.Names(), `","`) + `"]}`
}

// page answers with a file of the page for people.
func (r *Request) page(name string) error {
	file, ok := viewer.Open(name)
	if !ok {
		return problem.NotFound("the page has no such file")
	}
	body := file.Bytes
	r.fiber.Set("Vary", "Accept-Encoding")
	if file.Gzip && viewer.TakesGzip(r.Header("Accept-Encoding")) {
		r.fiber.Set("Content-Encoding", "gzip")
	} else {
		var err error
		if body, err = file.Plain(); err != nil {
			return err
		}
	}
	r.fiber.Set("Content-Type", file.ContentType)
	r.fiber.Set("Content-Security-Policy", viewer.Policy)
	r.fiber.Set("X-Content-Type-Options", "nosniff")
	r.fiber.Set("Referrer-Policy", "no-referrer")
	r.fiber.Set("Cache-Control", "public, max-age=300")
	r.fiber.Response().SetBodyRaw(body)
	return nil
}
