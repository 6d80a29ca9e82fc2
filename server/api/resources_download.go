package api

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"vcphost/abi"
	"vcphost/server/httprange"
	"vcphost/server/problem"
)

// getResource answers GET and HEAD with the bytes of a resource or a part of
// them. They never change, so their hash is a strong entity tag.
func (a *API) getResource(r *Request) error {
	reader, err := a.opts.Resources.OpenReader(r.Context(), r.Identity.Viewer(), r.Param("id"))
	if err != nil {
		return resourceProblem(err)
	}
	resource := reader.Resource()
	parts, err := r.choose(resource)
	if err != nil {
		return errors.Join(err, reader.Close())
	}
	r.describe(resource)
	if parts.status == fiber.StatusNotModified {
		r.fiber.Status(parts.status)
		return reader.Close()
	}
	r.fiber.Set(fiber.HeaderContentType, resource.MIMEType)
	content := newContent(reader, resource, parts.ranges)
	for name, value := range content.headers {
		r.fiber.Set(name, value)
	}
	r.fiber.Status(parts.status)
	if r.fiber.Method() == fiber.MethodHead {
		r.fiber.Response().SkipBody = true
		r.fiber.Response().Header.SetContentLength(int(content.size))
		return reader.Close()
	}
	r.send(content, reader)
	return nil
}

// choice is what a conditional or partial request is to get.
type choice struct {
	status int
	ranges []httprange.Range // nil for all of it
}

// choose reads the preconditions in the order of RFC 9110 §13.2.2.
func (r *Request) choose(resource abi.Resource) (choice, error) {
	tag := entityTag(resource)
	if match := r.Header(fiber.HeaderIfMatch); match != "" && !httprange.Match(match, tag) {
		return choice{}, problem.PreconditionFailed("the resource has the entity tag %s", tag)
	}
	if httprange.MatchNone(r.Header(fiber.HeaderIfNoneMatch), tag) {
		return choice{status: fiber.StatusNotModified}, nil
	}
	whole := choice{status: fiber.StatusOK}
	// HEAD has no ranges (RFC 9110 §14.2), and If-Range turns them off where the
	// client has parts of something else.
	if r.fiber.Method() != fiber.MethodGet {
		return whole, nil
	}
	if condition := r.Header(fiber.HeaderIfRange); condition != "" && !httprange.MatchRange(condition, tag) {
		return whole, nil
	}
	ranges, err := httprange.Parse(r.Header(fiber.HeaderRange), resource.SizeBytes)
	if err != nil {
		r.fiber.Set(fiber.HeaderContentRange, httprange.Unsatisfied(resource.SizeBytes))
		return choice{}, problem.RangeNotSatisfiable("%s", err)
	}
	if len(ranges) == 0 {
		return whole, nil
	}
	return choice{fiber.StatusPartialContent, ranges}, nil
}

func entityTag(resource abi.Resource) string { return `"` + resource.SHA256 + `"` }

// describe sets the headers that every answer about the bytes has.
func (r *Request) describe(resource abi.Resource) {
	disposition := "inline"
	if !passive(resource.MIMEType) {
		disposition = "attachment"
		r.fiber.Set(fiber.HeaderContentSecurityPolicy, "sandbox")
	}
	r.fiber.Set(fiber.HeaderContentDisposition, contentDisposition(disposition, resource.FileName))
	r.fiber.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	r.fiber.Set(fiber.HeaderAcceptRanges, "bytes")
	r.fiber.Set(fiber.HeaderETag, entityTag(resource))
	// A cache of one caller may keep them, but not show them to the next who uses it.
	r.fiber.Set(fiber.HeaderCacheControl, "private, max-age="+strconv.FormatInt(r.cacheSeconds(), 10)+", immutable")
	r.fiber.Set(fiber.HeaderVary, fiber.HeaderAuthorization)
	if sum, err := hex.DecodeString(resource.SHA256); err == nil {
		r.fiber.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(sum)+":")
	}
}

// passive reports whether a browser shows the type without running anything
// that is in it. What is not known to be passive is active (VCP hosts serve
// html, svg, xml and pdf for saving only).
func passive(mimeType string) bool {
	switch bareType(mimeType) {
	case "image/png", "image/apng", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/tiff", "image/x-icon",
		"audio/mpeg", "audio/wav", "audio/x-wav", "audio/ogg", "audio/flac", "audio/aac", "audio/mp4", "audio/webm",
		"video/mp4", "video/webm", "video/ogg", "video/quicktime",
		"text/plain", "text/csv", "text/markdown", "application/json":
		return true
	}
	return false
}

// contentDisposition writes a file name for old and new clients (RFC 6266, RFC
// 8187).
func contentDisposition(disposition, name string) string {
	fallback, exact := make([]byte, 0, len(name)), true
	for _, c := range name {
		if c < ' ' || c > '~' || c == '"' || c == '\\' || c == '%' {
			c, exact = '_', false
		}
		fallback = append(fallback, byte(c))
	}
	header := fmt.Sprintf(`%s; filename="%s"`, disposition, fallback)
	if exact {
		return header
	}
	return header + "; filename*=UTF-8''" + percentEncode(name)
}

// percentEncode leaves only the attr-char of RFC 8187 as they are.
func percentEncode(s string) string {
	const hexDigits = "0123456789ABCDEF"
	out := make([]byte, 0, 3*len(s))
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '.', c == '_', c == '~', c == '!', c == '#', c == '$', c == '&', c == '+', c == '^', c == '`', c == '|':
			out = append(out, c)
		default:
			out = append(out, '%', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return string(out)
}
