package api

import (
	"mime"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzContentDisposition(f *testing.F) {
	for _, name := range []string{"a.txt", "报告.csv", `a"b\c%41'.txt`, "a\r\nX: y", "", "\u202e", " ", strings.Repeat("ü", 300)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !utf8.ValidString(name) {
			return // no descriptor has such a name
		}
		header := contentDisposition("inline", name)
		if strings.ContainsFunc(header, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Fatalf("%q: got %q", name, header)
		}
		disposition, parameters, err := mime.ParseMediaType(header)
		if err != nil || disposition != "inline" || parameters["filename"] != name {
			t.Fatalf("%q: %q is read as %q, %v", name, header, parameters["filename"], err)
		}
	})
}

func FuzzReadDigests(f *testing.F) {
	f.Add("sha-256=:AAAA:")
	f.Add("md5=:x:, sha-512=:" + strings.Repeat("A", 86) + "==:;a=b")
	f.Add(",=:")
	f.Add("sha-256=:,sha-256=::")
	f.Fuzz(func(t *testing.T, value string) {
		for _, name := range digestHeaders() {
			all, err := readDigests(func(header string) string {
				if header == name {
					return value
				}
				return ""
			})
			if err == nil && value != "" && len(all) == 0 {
				t.Fatalf("%s: %q passes without being checked", name, value)
			}
			for _, d := range all {
				if d.hash == nil || len(d.want) != d.hash.Size() {
					t.Fatalf("%s: %q gives %+v", name, value, d)
				}
			}
		}
	})
}
