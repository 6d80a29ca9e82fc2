package api

import (
	"io"

	"github.com/gofiber/fiber/v2"
)

// requestBody is the body of a request as its client meant it: the stream below
// it tells a body that broke off before its Content-Length like one that ended.
type requestBody struct {
	stream io.Reader
	left   int64 // of the bytes that Content-Length promises; below zero without one
	err    error // of the last Read, and of all after it
}

func newRequestBody(c *fiber.Ctx) *requestBody {
	b := &requestBody{stream: c.Context().RequestBodyStream(), left: int64(c.Request().Header.ContentLength())}
	if b.stream == nil {
		b.err = io.EOF
	}
	return b
}

// Read implements [io.Reader]. A body that breaks off ends with
// io.ErrUnexpectedEOF.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.stream.Read(p)
	if b.left >= 0 {
		b.left -= int64(n)
	}
	if err == io.EOF && b.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	b.err = err
	return n, err
}
