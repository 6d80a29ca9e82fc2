package api

import (
	"io"
	"net"

	"github.com/gofiber/fiber/v2"
)

// maxDrainBytes is how much of a body that nobody wants is read so that its
// connection can be kept.
const maxDrainBytes = 8 << 10

// requestBody is the body of a request as its client meant it. The stream below
// it tells a body that broke off like one that ended, and reads on into the next
// request where it is asked once more; this one does neither.
type requestBody struct {
	stream io.Reader
	conn   net.Conn
	left   int64 // of the bytes that Content-Length promises; below zero without one
	err    error // of the last Read, and of all after it
}

func newRequestBody(c *fiber.Ctx) *requestBody {
	b := &requestBody{stream: c.Context().RequestBodyStream(), conn: plainConn(c.Context().Conn())}
	b.left = int64(c.Request().Header.ContentLength())
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
	chunked := b.left < 0
	if !chunked {
		b.left -= int64(n)
	}
	// A chunked body that ended in its middle shows only in that the client is gone.
	if err == io.EOF && (b.left > 0 || chunked && peerLeft(b.conn)) {
		err = io.ErrUnexpectedEOF
	}
	b.err = err
	return n, err
}

// settle makes sure that what is left of the body is not taken for the next
// request: little is read, of more the connection is closed after the answer.
func (b *requestBody) settle(c *fiber.Ctx) {
	if b.err == nil && b.left >= 0 && b.left <= maxDrainBytes {
		_, _ = io.Copy(io.Discard, b)
	}
	if b.err != io.EOF {
		c.Response().SetConnectionClose()
	}
}
