package viewer

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryFileIsThere(t *testing.T) {
	for _, name := range Names() {
		file, ok := Open(name)
		if !ok || file.ContentType == "" {
			t.Errorf("%s: got %v %q", name, ok, file.ContentType)
			continue
		}
		plain, err := file.Plain()
		if err != nil || len(plain) == 0 || file.Gzip && len(plain) <= len(file.Bytes) {
			t.Errorf("%s: %d bytes are %d unpacked, %v", name, len(file.Bytes), len(plain), err)
		}
	}
	for _, name := range []string{"", "viewer.go", "../viewer.go", "swagger-ui.css.gz", "index.html/", "oauth2-redirect.html"} {
		if _, ok := Open(name); ok {
			t.Errorf("%q is served", name)
		}
	}
}

// The page must work under its own policy: nothing inline, nothing from
// elsewhere, and every file that it names is there.
func TestThePageKeepsToItsPolicy(t *testing.T) {
	file, _ := Open(Index)
	page := string(file.Bytes)
	for _, match := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		name, own := strings.CutPrefix(match[1], "/docs/")
		if !own || !slices.Contains(Names(), name) {
			t.Errorf("the page loads %q", match[1])
		}
	}
	if inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son\w+=|<script>|javascript:`).FindString(page); inline != "" {
		t.Errorf("the page has %q inline", inline)
	}
	script, _ := Open("docs.js")
	for _, word := range []string{"localStorage", "sessionStorage", "cookie", "innerHTML", "eval"} {
		if bytes.Contains(script.Bytes, []byte(word)) {
			t.Errorf("the script uses %s", word)
		}
	}
}

func TestTakesGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "deflate, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.000": false, "br": false, "x-gzip": false, "gzip;q=0.1": true,
	} {
		if got := TakesGzip(header); got != want {
			t.Errorf("TakesGzip(%q) = %v", header, got)
		}
	}
}
