package server

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"vcphost/server/problem"
)

// maxURLBytes bounds a path with its query.
const maxURLBytes = 4 << 10

// strict refuses requests that another program on the way may read differently
// than this one, which is how one request is smuggled in another: lines that end
// with a bare LF, folded header lines, a length beside a transfer coding (RFC 9112
// §2.2, §5.2, §6.1), and two keys, of which each may take another. What it refuses
// it closes. It also bounds the URL.
func strict(request *fasthttp.Request) *problem.Problem {
	head := &request.Header
	if length := len(head.RequestURI()); length > maxURLBytes {
		return problem.New(problem.KindURITooLong, "the URL has %d bytes, and at most %d are taken", length, maxURLBytes)
	}
	if version := string(head.Protocol()); version != "HTTP/1.1" && version != "HTTP/1.0" {
		return problem.BadRequest("the version of HTTP is not 1.1 or 1.0")
	}
	length, coded, keys := false, false, 0
	for rest := head.RawHeaders(); len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			break
		}
		line := rest[:end]
		rest = rest[end+1:]
		switch {
		case len(line) == 0 || line[len(line)-1] != '\r':
			return problem.BadRequest("a line of the header does not end with CR LF")
		case line[0] == ' ' || line[0] == '\t':
			return problem.BadRequest("a line of the header is folded")
		}
		name, _, _ := bytes.Cut(line, []byte{':'})
		length = length || bytes.EqualFold(name, []byte("Content-Length"))
		coded = coded || bytes.EqualFold(name, []byte("Transfer-Encoding"))
		if bytes.EqualFold(name, []byte("Authorization")) {
			keys++
		}
	}
	switch {
	case length && coded:
		return problem.BadRequest("the request has both Content-Length and Transfer-Encoding")
	case keys > 1:
		return problem.BadRequest("the request has %d Authorization lines", keys)
	}
	return nil
}
