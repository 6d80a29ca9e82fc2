// Package viewer is the page that shows the API's description to people:
// Swagger UI and a form that asks for a key, all of it in the program.
//
// # What it promises
//
//   - The page holds no data and needs no network beyond its own server. It reads
//     /openapi.json with the key that is typed in.
//   - The key stays in the page's memory: it is not stored, and gone when the page
//     is left.
//   - Under [Policy] a browser runs and asks nothing but the page's own server.
package viewer

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/swaggest/swgui/v5/static"
)

// Policy is the Content-Security-Policy of the page. Swagger UI has small images
// in its style sheet, which are data: URLs.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Index is the name of the page itself; the others are what it loads.
const Index = "index.html"

//go:embed index.html docs.js docs.css
var own embed.FS

// File is a file of the page.
type File struct {
	ContentType string
	// Bytes are the file's, compressed with gzip where Gzip is set.
	Bytes []byte
	Gzip  bool
}

// Open gives a file of the page by its name; there is only a fixed list of them.
func Open(name string) (File, bool) {
	kind, ok := map[string]string{
		Index: "text/html; charset=utf-8", "docs.js": "text/javascript; charset=utf-8", "docs.css": "text/css; charset=utf-8",
		"swagger-ui-bundle.js": "text/javascript; charset=utf-8", "swagger-ui.css": "text/css; charset=utf-8",
		"favicon-32x32.png": "image/png",
	}[name]
	if !ok {
		return File{}, false
	}
	if raw, err := own.ReadFile(name); err == nil {
		return File{kind, raw, false}, true
	}
	if raw, err := static.FS.ReadFile(name); err == nil {
		return File{kind, raw, false}, true
	}
	raw, err := static.FS.ReadFile(name + ".gz")
	return File{kind, raw, true}, err == nil
}

// Names lists the files in the order in which a browser loads them.
func Names() []string {
	return []string{Index, "swagger-ui.css", "docs.css", "swagger-ui-bundle.js", "docs.js", "favicon-32x32.png"}
}

// Plain is the file for a client that takes no gzip.
func (f File) Plain() ([]byte, error) {
	if !f.Gzip {
		return f.Bytes, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(f.Bytes))
	if err != nil {
		return nil, fmt.Errorf("unpack a file of the page: %w", err)
	}
	raw, err := io.ReadAll(reader)
	if err != nil {
		return nil, fmt.Errorf("unpack a file of the page: %w", err)
	}
	return raw, nil
}

// TakesGzip reads an Accept-Encoding header.
func TakesGzip(accept string) bool {
	for coding := range strings.SplitSeq(accept, ",") {
		name, parameters, _ := strings.Cut(strings.TrimSpace(coding), ";")
		quality := strings.TrimRight(strings.ReplaceAll(parameters, " ", ""), "0")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			return quality != "q=" && quality != "q=0."
		}
	}
	return false
}
