package api

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"vcphost/server/problem"
)

// maxFormParts bounds the parts of a multipart body.
const maxFormParts = 64

// readForm finds the file of a multipart/form-data body: the first part with a
// file name. Fields before it are passed over.
func readForm(body io.Reader, boundary string) (upload, error) {
	if boundary == "" {
		return upload{}, problem.BadRequest("the Content-Type multipart/form-data has no boundary")
	}
	// The parser takes a body that ends after any boundary for a whole one, so to
	// it the body never ends; the line break is one that the last boundary may lack.
	endless := io.MultiReader(body, strings.NewReader("\r\n"), brokenOff{})
	form := &formReader{parts: multipart.NewReader(endless, boundary), body: body}
	part, err := form.nextFile()
	if err == io.EOF {
		return upload{}, problem.BadRequest("the form has no part with a file name")
	}
	if err != nil {
		return upload{}, formProblem(err)
	}
	draft, err := readDraft(http.Header(part.Header))
	if err != nil {
		return upload{}, err
	}
	wanted, err := readDigests(func(name string) string { return part.Header.Get(name) })
	if err != nil {
		return upload{}, err
	}
	form.file = wanted.check(part)
	return upload{draft: draft, content: form}, nil
}

// brokenOff is the end of what should not end there.
type brokenOff struct{}

// Read implements [io.Reader].
func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// formReader reads the file of a form, and makes sure that the rest of the body
// is well formed and has no other file before it says that the file is whole.
type formReader struct {
	parts *multipart.Reader
	body  io.Reader
	file  io.Reader
	seen  int
}

func (f *formReader) nextFile() (*multipart.Part, error) {
	for ; f.seen < maxFormParts; f.seen++ {
		part, err := f.parts.NextRawPart()
		if err != nil {
			return nil, err
		}
		if part.FileName() != "" {
			return part, nil
		}
	}
	return nil, problem.BadRequest("the form has more than %d parts", maxFormParts)
}

// Read implements [io.Reader].
func (f *formReader) Read(p []byte) (int, error) {
	n, err := f.file.Read(p)
	if err == nil {
		return n, nil
	}
	if err != io.EOF {
		return n, formProblem(err)
	}
	return n, f.finish()
}

// finish reads what is after the file. It gives io.EOF where that is right.
func (f *formReader) finish() error {
	_, err := f.nextFile()
	if err == nil {
		return problem.BadRequest("the form has more than one file; send them one by one")
	}
	if err != io.EOF {
		return formProblem(err)
	}
	if _, err := io.Copy(io.Discard, f.body); err != nil {
		return formProblem(err)
	}
	return io.EOF
}

// formProblem is the answer to a form that cannot be read, unless what is below
// it has one.
func formProblem(err error) error {
	var told *problem.Problem
	if errors.As(err, &told) {
		return told
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return problem.BadRequest("the form breaks off")
	}
	return problem.BadRequest("the %s body is malformed", fiber.MIMEMultipartForm)
}
