package problem

import "time"

// BadRequest says that a part of the request has the wrong form or value.
func BadRequest(format string, args ...any) *Problem {
	return New(KindBadRequest, format, args...)
}

// InvalidJSON says that the body is not JSON as the server takes it.
func InvalidJSON(format string, args ...any) *Problem {
	return New(KindInvalidJSON, format, args...)
}

// Forbidden says that the key lacks a scope.
func Forbidden(format string, args ...any) *Problem {
	return New(KindForbidden, format, args...)
}

// NotFound says that there is no such path or object, or the caller may not know of it.
func NotFound(format string, args ...any) *Problem {
	return New(KindNotFound, format, args...)
}

// NotAcceptable says that no form that the server has is acceptable.
func NotAcceptable(format string, args ...any) *Problem {
	return New(KindNotAcceptable, format, args...)
}

// Timeout says that the request did not arrive in time.
func Timeout(format string, args ...any) *Problem {
	return New(KindTimeout, format, args...)
}

// Conflict says that the request conflicts with the present state.
func Conflict(format string, args ...any) *Problem {
	return New(KindConflict, format, args...)
}

// PreconditionFailed says that a condition of the request is not met.
func PreconditionFailed(format string, args ...any) *Problem {
	return New(KindPreconditionFailed, format, args...)
}

// PayloadTooLarge says that the body is too large.
func PayloadTooLarge(format string, args ...any) *Problem {
	return New(KindPayloadTooLarge, format, args...)
}

// URITooLong says that the URL is too long.
func URITooLong(format string, args ...any) *Problem {
	return New(KindURITooLong, format, args...)
}

// UnsupportedMediaType says that the operation takes no body of this type.
func UnsupportedMediaType(format string, args ...any) *Problem {
	return New(KindUnsupportedMediaType, format, args...)
}

// RangeNotSatisfiable says that no range lies within the resource.
func RangeNotSatisfiable(format string, args ...any) *Problem {
	return New(KindRangeNotSatisfiable, format, args...)
}

// HeaderTooLarge says that the header is too large.
func HeaderTooLarge(format string, args ...any) *Problem {
	return New(KindHeaderTooLarge, format, args...)
}

// MethodNotAllowed says that the path has other methods only.
func MethodNotAllowed(format string, args ...any) *Problem {
	return New(KindMethodNotAllowed, format, args...)
}

// TooManyRequests says that the caller may come again after a while.
func TooManyRequests(after time.Duration, format string, args ...any) *Problem {
	p := New(KindTooManyRequests, format, args...)
	p.RetryAfter = after
	return p
}

// Unavailable says that the server may take the request after a while.
func Unavailable(after time.Duration, format string, args ...any) *Problem {
	p := New(KindUnavailable, format, args...)
	p.RetryAfter = after
	return p
}

// Unauthorized says that a valid key is needed, and never what is wrong with the
// one given.
func Unauthorized() *Problem {
	return New(KindUnauthorized, "send an API key as: Authorization: Bearer <key>")
}

// Internal says that the server failed, and never why: the cause is for the log.
func Internal() *Problem {
	return New(KindInternal, "the cause is in the server's log under the request id")
}
