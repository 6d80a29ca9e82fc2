package api

import (
	"crypto/rand"
	"fmt"
	"io"
	"mime"
	"net"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"vcphost/abi"
	"vcphost/resources"
	"vcphost/server/httprange"
	"vcphost/server/pace"
)

const (
	// pieceBytes is what a client must take or give within the stall time. In
	// memory a transfer has a chunk of the store, which is a MiB.
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
func newContent(from *resources.Reader, resource abi.Resource, ranges []httprange.Range) content {
	switch len(ranges) {
	case 0:
		return content{reader: from, size: resource.SizeBytes}
	case 1:
		only := ranges[0]
		return content{
			reader: &section{from, only.Start, only.Length}, size: only.Length,
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
		add(&section{from, part.Start, part.Length}, part.Length)
	}
	tail := "\r\n--" + boundary + "--\r\n"
	add(strings.NewReader(tail), int64(len(tail)))
	return content{
		reader: io.MultiReader(readers...), size: size,
		headers: map[string]string{fiber.HeaderContentType: "multipart/byteranges; boundary=" + boundary},
	}
}

// section reads a part of a resource from its beginning on. It moves the
// resource's position, unlike io.SectionReader, because reading at an offset
// fetches a whole chunk from the store each time, and reading on keeps it.
type section struct {
	from       *resources.Reader
	next, left int64
}

// Read implements [io.Reader].
func (s *section) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	if _, err := s.from.Seek(s.next, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := s.from.Read(p[:min(int64(len(p)), s.left)])
	s.moved(int64(n))
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// WriteTo implements [io.WriterTo].
func (s *section) WriteTo(w io.Writer) (int64, error) {
	if _, err := s.from.Seek(s.next, io.SeekStart); err != nil {
		return 0, err
	}
	n, err := s.from.WriteNext(w, s.left)
	s.moved(n)
	return n, err
}

func (s *section) moved(n int64) {
	s.next += n
	s.left -= n
}

// send makes the content the body of the answer. It is written after the handler
// returned.
func (r *Request) send(c content, reader *resources.Reader) {
	body := &download{sending: r.startSending(), content: c.reader, large: c.size > pieceBytes, source: reader}
	_ = body.extend() // for the head of the answer; a stopped server fails at the body
	r.fiber.Context().SetBodyStream(body, int(c.size))
	r.fiber.Response().ImmediateHeaderFlush = body.large
}

// download is the body of an answer on its way. A slow client is served, and one
// that stands still is left.
type download struct {
	*sending
	content io.Reader
	// large content goes to the connection itself, in writes as large as the chunks
	// of the store; the head of the answer is there already.
	large  bool
	source io.Closer
}

// Read implements [io.Reader].
func (d *download) Read(p []byte) (int, error) {
	n, err := d.content.Read(p)
	if stopped := d.extend(); stopped != nil {
		return 0, stopped
	}
	return n, err
}

// WriteTo implements [io.WriterTo].
func (d *download) WriteTo(w io.Writer) (int64, error) {
	if d.large {
		w = directly{d.sending, plainConn(d.conn.Conn())}
	} else if err := d.extend(); err != nil {
		return 0, err
	}
	return io.Copy(w, d.content)
}

// directly writes to a connection past what buffers its answers.
type directly struct {
	sending *sending
	conn    net.Conn
}

// Write implements [io.Writer].
func (d directly) Write(p []byte) (int, error) {
	return pace.Write(d.conn, p, pieceBytes, d.sending.extend)
}

// Close ends the download.
func (d *download) Close() error {
	d.end()
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
