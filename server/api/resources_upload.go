package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"vcphost/abi"
	"vcphost/server/problem"
)

const (
	// defaultMaxUploadBytes bounds an upload where the options name no bound.
	defaultMaxUploadBytes = 1 << 30
	// maxFormBytes is what a multipart body may have around its file.
	maxFormBytes = 64 << 10
)

// upload is what a request brings: what it says of the bytes, and the bytes.
type upload struct {
	draft   abi.ResourceDraft
	content io.Reader
}

// uploadResource stores the body, or the file of a multipart body, as a resource
// of the caller. Nothing is kept unless all of it came and fits its digests.
func (a *API) uploadResource(r *Request) error {
	body, err := r.uploadBody()
	if err != nil {
		return err
	}
	sent, err := r.readUpload(body)
	if err != nil {
		return err
	}
	resource, err := a.opts.Resources.Import(r.Context(), r.Identity.Owner, sent.draft, sent.content, a.opts.MaxUploadBytes)
	if err != nil {
		return resourceProblem(err)
	}
	if err := a.opts.Resources.Sync(); err != nil {
		return resourceProblem(err)
	}
	described, err := abi.Encode(resource)
	if err != nil {
		return err
	}
	r.fiber.Set(fiber.HeaderLocation, resourcePath(resource.ID))
	return r.JSON(fiber.StatusCreated, described)
}

// uploadBody is the body under the limits of an upload: its bytes, its time, and
// the digests that the client names.
func (r *Request) uploadBody() (io.Reader, error) {
	limit := r.route.MaxForm
	if !r.isForm() {
		limit = r.route.MaxBody
	}
	if err := taken(&r.fiber.Request().Header); err != nil {
		return nil, err
	}
	if coding := r.Header(fiber.HeaderContentEncoding); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, problem.UnsupportedMediaType("the Content-Encoding %.40q is not taken; send the bytes as they are", coding)
	}
	wanted, err := readDigests(func(name string) string { return r.headerList(name) })
	if err != nil {
		return nil, err
	}
	timed := &timedReader{from: r.body, conn: r.fiber.Context(), stall: r.api.opts.TransferStall}
	return wanted.check(&limitedReader{from: timed, left: limit, limit: limit}), nil
}

func (r *Request) isForm() bool { return r.ContentType() == fiber.MIMEMultipartForm }

// headerList joins the lines of a header that is a list.
func (r *Request) headerList(name string) string {
	var lines []string
	for _, line := range r.fiber.Request().Header.PeekAll(name) {
		lines = append(lines, string(line))
	}
	return strings.Join(lines, ", ")
}

func (r *Request) readUpload(body io.Reader) (upload, error) {
	sent := upload{content: body}
	if r.isForm() {
		_, parameters, _ := mime.ParseMediaType(r.Header(fiber.HeaderContentType)) // isForm parsed it
		var err error
		if sent, err = readForm(body, parameters["boundary"]); err != nil {
			return upload{}, err
		}
	} else {
		header := http.Header{}
		for _, name := range []string{fiber.HeaderContentType, fiber.HeaderContentDisposition} {
			header.Set(name, r.Header(name))
		}
		var err error
		if sent.draft, err = readDraft(header); err != nil {
			return upload{}, err
		}
	}
	sent.draft.Kind, sent.draft.Role = abi.ResourceKind(r.Query("kind")), abi.ResourceRole(r.Query("role"))
	return sent, nil
}

// readDraft takes what the headers of a body, or of a part of one, say of it.
func readDraft(header http.Header) (abi.ResourceDraft, error) {
	var draft abi.ResourceDraft
	if kind := header.Get(fiber.HeaderContentType); kind != "" {
		bare, _, err := mime.ParseMediaType(kind)
		if err != nil || !strings.Contains(bare, "/") {
			return draft, problem.BadRequest("the Content-Type %.80q is malformed", kind)
		}
		// What HTTP clients say of a body when nobody told them says nothing.
		if bare != fiber.MIMEApplicationForm {
			draft.MIMEType = kind
		}
	}
	if disposition := header.Get(fiber.HeaderContentDisposition); disposition != "" {
		_, parameters, err := mime.ParseMediaType(disposition)
		if err != nil {
			return draft, problem.BadRequest("the Content-Disposition is malformed")
		}
		draft.FileName = parameters["filename"]
	}
	return draft, nil
}

// limitedReader fails once more than limit bytes came.
type limitedReader struct {
	from        io.Reader
	left, limit int64
}

// Read implements [io.Reader].
func (l *limitedReader) Read(p []byte) (int, error) {
	// One byte more than is allowed tells a body that is too long from one that fits.
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	if int64(n) > l.left {
		return 0, problem.PayloadTooLarge("at most %d bytes are taken", l.limit)
	}
	l.left -= int64(n)
	return n, err
}

// timedReader gives the client the stall time for each piece, in place of the
// time that the server has for a whole request.
type timedReader struct {
	from  io.Reader
	conn  *fasthttp.RequestCtx
	stall time.Duration
	left  int // of the piece
}

// Read implements [io.Reader].
func (t *timedReader) Read(p []byte) (int, error) {
	if t.left <= 0 {
		t.left = pieceBytes
		if err := t.conn.SetReadDeadline(time.Now().Add(t.stall)); err != nil {
			return 0, fmt.Errorf("time an upload: %w", err)
		}
	}
	n, err := t.from.Read(p)
	t.left -= n
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = problem.Timeout("the body comes too slowly")
	}
	return n, err
}
