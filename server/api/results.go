package api

import (
	"errors"
	"strconv"

	"vcphost/host/record"
	"vcphost/internal/rawjson"
	"vcphost/presenters"
	"vcphost/server/identity"
	"vcphost/server/problem"
)

func (a *API) resultRoutes() []Route {
	return []Route{{
		Method: "GET", Path: "/v1/results/{id}", Scope: identity.ScopeResultsRead, OperationID: "getResult",
		Summary: "A stored result, or a part of it",
		Doc: Doc{
			Parameters: []Parameter{
				{Name: "id", In: "path", Type: "string", Required: true, Description: "id of the result, tr_…"},
				viewParameter(),
				{Name: "maxCharacters", In: "query", Schema: aboveZero, Description: "budget of the ai view in code points"},
				{Name: "pointer", In: "query", Type: "string", Description: "JSON pointer into the result; answers {value, total, offset}"},
				{Name: "offset", In: "query", Schema: `{"type":"integer","minimum":0,"maximum":2147483647}`, Description: "first element of the array or object at the pointer"},
				{Name: "limit", In: "query", Schema: `{"type":"integer","minimum":0,"maximum":2147483647}`, Description: "how many elements"},
			},
			Responses: map[int]Content{200: {jsonType, "StoredAnswer"}, 500: {jsonType, "LegacyAnswer"}},
		},
		Handle: a.getResult,
	}}
}

func (a *API) getResult(r *Request) error {
	result, err := a.opts.Results.Get(r.Context(), r.Identity.Viewer(), r.Param("id"))
	if errors.Is(err, record.ErrNotFound) {
		return problem.NotFound("there is no such result")
	}
	if err != nil {
		return err
	}
	options := callOptions{view: viewCanonical}
	if err := options.query(r); err != nil {
		return err
	}
	// The store gave it, so it is the caller's own or the caller an administrator.
	status, body, err := present(result, r.Identity, options)
	if errors.Is(err, presenters.ErrNotVisible) {
		return problem.NotFound("there is no such result")
	}
	if err != nil {
		return err
	}
	if !r.fiber.Context().QueryArgs().Has("pointer") {
		return r.JSON(status, body)
	}
	return r.part(body)
}

// part answers with a page of the value at a pointer into the presented result.
func (r *Request) part(body []byte) error {
	pointer := r.Query("pointer")
	value, found := rawjson.At(body, pointer)
	if !found {
		return problem.NotFound("the result has nothing at this pointer").At(pointer)
	}
	offset, err := r.wholeNumber("offset", 0)
	if err != nil {
		return err
	}
	limit, err := r.wholeNumber("limit", maxPage)
	if err != nil {
		return err
	}
	total := rawjson.Len(value)
	out := append([]byte(`{"value":`), page(value, offset, min(limit, maxPage))...)
	out = append(out, `,"total":`...)
	out = strconv.AppendInt(out, int64(total), 10)
	out = append(out, `,"offset":`...)
	out = strconv.AppendInt(out, int64(offset), 10)
	return r.JSON(200, append(out, '}'))
}

// maxPage bounds the elements of one page.
const maxPage = 10_000

// page copies some elements of an array or members of an object; another value
// is its own page.
func page(value []byte, offset, limit int) []byte {
	switch rawjson.KindOf(value) {
	case rawjson.Array:
		out := []byte{'['}
		for i, element := range rawjson.Elements(value) {
			if i >= offset && i < offset+limit {
				out = append(separate(out), element...)
			}
		}
		return append(out, ']')
	case rawjson.Object:
		out, i := []byte{'{'}, 0
		for name, member := range rawjson.Members(value) {
			if i >= offset && i < offset+limit {
				out = append(append(rawjson.Quote(separate(out), name), ':'), member...)
			}
			i++
		}
		return append(out, '}')
	}
	return value
}

func separate(out []byte) []byte {
	if len(out) > 1 {
		return append(out, ',')
	}
	return out
}

func (r *Request) wholeNumber(name string, missing int) (int, error) {
	asked := r.Query(name)
	if asked == "" {
		return missing, nil
	}
	n, err := strconv.ParseUint(asked, 10, 31)
	if err != nil {
		return 0, problem.BadRequest("the query parameter %s must be a whole number", name)
	}
	return int(n), nil
}
