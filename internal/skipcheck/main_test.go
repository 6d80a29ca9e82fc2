package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const list = "p TestRoot # .ci/unprivileged\n"
	skip := `{"Action":"skip","Package":"p","Test":"TestRoot"}` + "\n"
	for _, test := range []struct{ name, in, list, says string }{
		{"what is expected", skip, list, ""},
		{"a skip that is not expected", skip + `{"Action":"output","Package":"p","Test":"TestNew","Output":"no curl\n"}` + "\n" +
			`{"Action":"skip","Package":"p","Test":"TestNew"}`, list, "p TestNew skipped itself: no curl"},
		{"a package without tests", skip + `{"Action":"skip","Package":"q"}`, list, ""},
		{"what depends on the machine, and did not", "", "p TestRoot? # .ci/unprivileged", ""},
		{"what depends on the machine, and did", skip, "p TestRoot? # .ci/unprivileged", ""},
		{"a stale line", "", list, "p TestRoot is expected to skip itself, and does not"},
		{"a failure", skip + `{"Action":"fail","Package":"p","Test":"TestBad"}`, list, "p TestBad failed"},
		{"a package that fails to build", skip + "broken.go:1: bad\n" + `{"Action":"fail","Package":"p"}`, list, "p failed"},
		{"a line without a reason", "", "p TestRoot\n", "does not name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			err := check(strings.NewReader(test.in), &out, test.list)
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}
