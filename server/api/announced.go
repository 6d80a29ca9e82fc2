package api

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"vcphost/server/problem"
)

// ignoredBytes is how long a body may be that no route takes; it is read and
// thrown away, so that the connection goes on.
const ignoredBytes = 64 << 10

// announcedHeader holds the length of a body that was taken away from its
// request. A client that sends it, which the space in it makes hard, only gets
// itself refused.
const announcedHeader = "body taken away"

// Announced looks at the head of a request before any of its body is read. A
// body that is longer than what its route takes is taken away, so that the
// answer does not wait for it; the connection ends with the answer.
func (a *API) Announced(header *fasthttp.RequestHeader) {
	length := int64(header.ContentLength())
	if length <= a.shortBody {
		return
	}
	limit, bounded := a.bodyLimit(header)
	if !bounded || length <= limit {
		return
	}
	header.Set(announcedHeader, strconv.FormatInt(length, 10)+" "+strconv.FormatInt(limit, 10))
	header.Del(fiber.HeaderExpect)
	header.SetContentLength(0)
	header.SetConnectionClose()
}

// taken is the refusal of a body that was taken away, nil where none was.
func taken(header *fasthttp.RequestHeader) error {
	length, limit, found := strings.Cut(string(header.Peek(announcedHeader)), " ")
	if !found {
		return nil
	}
	return problem.PayloadTooLarge("the body has %s bytes, and at most %s are taken", length, limit)
}

// bodyLimit tells how long the body of a request may be. It is not bounded here
// where the handler alone knows.
func (a *API) bodyLimit(header *fasthttp.RequestHeader) (limit int64, bounded bool) {
	route := a.find(string(header.Method()), header.RequestURI())
	switch {
	case route == nil, route.Doc.RequestTypes == nil && route.MaxBody == 0 && !route.Local:
		return ignoredBytes, true
	case route.MaxForm > 0 && bareType(string(header.ContentType())) == fiber.MIMEMultipartForm:
		return route.MaxForm, true
	}
	return route.MaxBody, route.MaxBody > 0
}

// find gives the route that a request will be answered by, nil without one.
func (a *API) find(method string, requestURI []byte) *Route {
	var uri fasthttp.URI
	if uri.Parse(nil, requestURI) != nil {
		return nil
	}
	path, err := url.PathUnescape(string(uri.PathOriginal()))
	if err != nil {
		return nil
	}
	for _, list := range [][]Route{a.routes, withHeads(a.LocalRoutes())} {
		for i := range list {
			if list[i].Method == method && list[i].matches(path) {
				return &list[i]
			}
		}
	}
	return nil
}

// matches reports whether a path is one of the route's.
func (r *Route) matches(path string) bool {
	return slices.EqualFunc(strings.Split(r.Path, "/"), strings.Split(path, "/"), func(pattern, part string) bool {
		return pattern == part || strings.HasPrefix(pattern, "{") && part != ""
	})
}

// shortestLimit is the lowest limit of all routes; shorter bodies need no look.
func (a *API) shortestLimit() int64 {
	lowest := int64(ignoredBytes)
	for i := range a.routes {
		if limit := a.routes[i].MaxBody; limit > 0 {
			lowest = min(lowest, limit)
		}
	}
	return lowest
}
