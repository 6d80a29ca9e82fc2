package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"vcphost/abi"
	"vcphost/resources"
	"vcphost/server/httprange"
)

const (
	// pieceBytes is the most of a resource that a transfer has in memory, and
	// what a client must take or give within the stall time.
	pieceBytes = 128 << 10
	// defaultTransferStall allows some 2 KiB a second.
	defaultTransferStall = time.Minute
)

// content is the body of an answer before it is sent.
type content struct {
	reader  io.Reader
	size    int64
	headers map[string]string
}

// newContent lays out the whole, one range, or several as multipart/byteranges.
func newContent(from io.ReaderAt, resource abi.Resource, ranges []httprange.Range) content {
	switch len(ranges) {
	case 0:
		return content{reader: io.NewSectionReader(from, 0, resource.SizeBytes), size: resource.SizeBytes}
	case 1:
		only := ranges[0]
		return content{
			reader: io.NewSectionReader(from, only.Start, only.Length), size: only.Length,
			headers: map[string]string{fiber.HeaderContentRange: only.ContentRange(resource.SizeBytes)},
		}
	}
	boundary := rand.Text()
	var readers []io.Reader
	size := int64(0)
	add := func(r io.Reader, n int64) {
		readers = append(readers, r)
		size += n
	}
	for i, part := range ranges {
		head := fmt.Sprintf("--%s\r\nContent-Range: %s\r\nContent-Type: %s\r\n\r\n", boundary, part.ContentRange(resource.SizeBytes), resource.MIMEType)
		if i > 0 {
			head = "\r\n" + head
		}
		add(strings.NewReader(head), int64(len(head)))
		add(io.NewSectionReader(from, part.Start, part.Length), part.Length)
	}
	tail := "\r\n--" + boundary + "--\r\n"
	add(strings.NewReader(tail), int64(len(tail)))
	return content{
		reader: io.MultiReader(readers...), size: size,
		headers: map[string]string{fiber.HeaderContentType: "multipart/byteranges; boundary=" + boundary},
	}
}

// send makes the content the body of the answer. It is written after the handler
// returned, so the place that the request has within the bounds goes with it.
func (r *Request) send(c content, reader *resources.Reader) {
	body := &download{
		content: c.reader, conn: r.fiber.Context(), lifetime: r.api.opts.Lifetime, stall: r.api.opts.TransferStall,
		piece: int(min(c.size, pieceBytes)), source: reader, release: r.detach(),
	}
	body.stopped = make(chan struct{})
	body.unhook = context.AfterFunc(body.lifetime, func() {
		defer close(body.stopped)
		_ = body.conn.SetWriteDeadline(time.Unix(1, 0)) // ends a write that waits for the client
	})
	body.extend() // for the head of the answer
	r.fiber.Context().SetBodyStream(body, int(c.size))
}

// download is the body of an answer on its way: it moves a piece at a time, and
// gives each the stall time, so that a slow client is served and one that stands
// still is left.
type download struct {
	content  io.Reader
	conn     *fasthttp.RequestCtx // it takes its deadlines back itself, with what it buffers flushed
	lifetime context.Context
	stall    time.Duration
	piece    int
	source   io.Closer
	release  func()
	unhook   func() bool
	stopped  chan struct{} // closed when the server's end has reached the connection
}

func (d *download) extend() {
	// A connection that takes no deadline any more fails when it is written to.
	_ = d.conn.SetWriteDeadline(time.Now().Add(d.stall))
}

// Read implements [io.Reader].
func (d *download) Read(p []byte) (int, error) {
	n, err := d.content.Read(p)
	d.extend()
	// In this order: the server's end either finds this deadline or is found here.
	if d.lifetime.Err() != nil {
		return 0, errors.New("the server has stopped")
	}
	return n, err
}

// WriteTo implements [io.WriterTo].
func (d *download) WriteTo(w io.Writer) (int64, error) {
	// The wrappers hide the methods that would move other pieces.
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{d}, make([]byte, max(d.piece, 1)))
}

// Close ends the download.
func (d *download) Close() error {
	if !d.unhook() {
		<-d.stopped // else it could reach the connection's next request
	}
	d.release()
	return d.source.Close()
}

// bareType is a media type without parameters, in lower case.
func bareType(mimeType string) string {
	bare, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ""
	}
	return bare
}
