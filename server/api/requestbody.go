package api

import (
	"io"
	"net"

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
	header := &c.Request().Header
	b := &requestBody{stream: c.Context().RequestBodyStream(), left: int64(header.ContentLength())}
	if b.err = taken(header); b.err != nil {
		lingers(c.Context().Conn())
		return b
	}
	if b.stream == nil {
		b.err = io.EOF
	}
	return b
}

// lingers has a connection closed in such a way that a client which still sends
// gets its answer nevertheless.
func lingers(conn net.Conn) {
	if c, ok := plainConn(conn).(interface{ Linger() }); ok {
		c.Linger()
	}
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
