package problem

import "net/http"

// MediaType is the content type of a problem.
const MediaType = "application/problem+json"

// Base begins the type of every problem.
const Base = "/problems/"

// Kind names a sort of problem; its type is Base and the kind.
type Kind string

// The kinds.
const (
	KindBadRequest           Kind = "bad-request"
	KindInvalidJSON          Kind = "invalid-json"
	KindUnauthorized         Kind = "unauthorized"
	KindForbidden            Kind = "forbidden"
	KindNotFound             Kind = "not-found"
	KindMethodNotAllowed     Kind = "method-not-allowed"
	KindNotAcceptable        Kind = "not-acceptable"
	KindTimeout              Kind = "timeout"
	KindConflict             Kind = "conflict"
	KindPreconditionFailed   Kind = "precondition-failed"
	KindPayloadTooLarge      Kind = "payload-too-large"
	KindURITooLong           Kind = "uri-too-long"
	KindUnsupportedMediaType Kind = "unsupported-media-type"
	KindRangeNotSatisfiable  Kind = "range-not-satisfiable"
	KindTooManyRequests      Kind = "too-many-requests"
	KindHeaderTooLarge       Kind = "header-too-large"
	KindInternal             Kind = "internal"
	KindUnavailable          Kind = "unavailable"
)

// Info describes a kind.
type Info struct {
	Kind        Kind
	Status      int    // the HTTP status, of which several kinds may share one
	Title       string // the same for every problem of the kind
	Description string // when it is answered, for the documentation
}

// Type is the kind's type on the wire.
func (i Info) Type() string { return Base + string(i.Kind) }

// Kinds is the table of problems, by status. Where several share a status the
// first is the general one. The caller owns the slice.
func Kinds() []Info {
	return []Info{
		{KindBadRequest, http.StatusBadRequest, "The request cannot be understood", "A part of the request has the wrong form or value; detail and pointer tell which."},
		{KindInvalidJSON, http.StatusBadRequest, "The body is not valid JSON", "The body is not JSON in UTF-8, has a member twice, or is nested too deep."},
		{KindUnauthorized, http.StatusUnauthorized, "A valid API key is needed", "There is no key, or it is unknown, expired or revoked; which of them is not told."},
		{KindForbidden, http.StatusForbidden, "The API key does not allow this", "The key lacks the scope that the operation needs."},
		{KindNotFound, http.StatusNotFound, "There is nothing here", "There is no such path or object, or it belongs to somebody else."},
		{KindMethodNotAllowed, http.StatusMethodNotAllowed, "The method is not allowed here", "The path exists; the Allow header lists its methods."},
		{KindNotAcceptable, http.StatusNotAcceptable, "No acceptable form is available", "The Accept header rules out every form that the server has."},
		{KindTimeout, http.StatusRequestTimeout, "The request took too long to arrive", "The client did not send its request in time. A tool that takes too long is a result, not a problem."},
		{KindConflict, http.StatusConflict, "The request conflicts with the present state", "What the request wants was changed or made by somebody else."},
		{KindPreconditionFailed, http.StatusPreconditionFailed, "A condition of the request is not met", "A conditional header, or the digest of the body, does not match."},
		{KindPayloadTooLarge, http.StatusRequestEntityTooLarge, "The body is too large", "The body is longer than the operation takes."},
		{KindURITooLong, http.StatusRequestURITooLong, "The URL is too long", "The path with its query is longer than the server takes."},
		{KindUnsupportedMediaType, http.StatusUnsupportedMediaType, "The media type is not supported", "The operation takes no body of this Content-Type or Content-Encoding."},
		{KindRangeNotSatisfiable, http.StatusRequestedRangeNotSatisfiable, "The range cannot be served", "No range of the Range header lies within the resource; Content-Range tells its size."},
		{KindTooManyRequests, http.StatusTooManyRequests, "Too many requests", "The key is over its rate or its number of requests at once; Retry-After tells when to come again."},
		{KindHeaderTooLarge, http.StatusRequestHeaderFieldsTooLarge, "The header is too large", "The header fields together, or one of them, are longer than the server takes."},
		{KindInternal, http.StatusInternalServerError, "The server failed", "A fault of the server; its log has the cause under the request id."},
		{KindUnavailable, http.StatusServiceUnavailable, "The server cannot take this now", "The server is full, short of disk space, or about to stop; Retry-After tells when to come again."},
	}
}

// Lookup finds a kind in the table; of an unknown one it returns KindInternal's
// entry.
func Lookup(kind Kind) Info {
	var internal Info
	for _, info := range Kinds() {
		if info.Kind == kind {
			return info
		}
		if info.Kind == KindInternal {
			internal = info
		}
	}
	return internal
}
