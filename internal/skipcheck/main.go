// Command skipcheck reads what "go test -json" says, prints it as "go test"
// would, and fails if a test skipped itself that is not expected to: a test that
// nobody runs shows nothing.
//
//	go test -json ./... | go run ./internal/skipcheck .ci/skips
//
// Each line of the file names a package, a test and, after " # ", what runs it
// instead. A line whose test did not skip is stale and fails as well, unless a
// question mark follows the test: whether that one skips depends on the machine.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("skipcheck: the file of expected skips is expected")
	}
	list, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatalf("skipcheck: %v", err)
	}
	if err := check(os.Stdin, os.Stdout, string(list)); err != nil {
		log.Fatalf("skipcheck: %v", err)
	}
}

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

// check copies what packages and failing tests say, and holds the skips against
// the list.
func check(in io.Reader, out io.Writer, list string) error {
	expected, err := parse(list)
	if err != nil {
		return err
	}
	said := map[string][]string{} // by package and test
	var faults []error
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(out, lines.Text()) // of a tool, such as a compiler
			continue
		}
		name := strings.TrimSpace(e.Package + " " + e.Test)
		switch e.Action {
		case "output":
			switch {
			case e.Test == "" && e.Output != "PASS\n":
				fmt.Fprint(out, e.Output)
			case e.Test != "":
				said[name] = append(said[name], e.Output)
			}
		case "fail":
			fmt.Fprint(out, strings.Join(said[name], ""))
			faults = append(faults, fmt.Errorf("%s failed", name))
		case "skip":
			if _, known := expected[name]; e.Test != "" && !known {
				faults = append(faults, fmt.Errorf("%s skipped itself: %s", name, strings.TrimSpace(strings.Join(said[name], ""))))
			}
			delete(expected, name)
		}
	}
	for name, always := range expected {
		if !always {
			continue
		}
		faults = append(faults, fmt.Errorf("%s is expected to skip itself, and does not", name))
	}
	return errors.Join(append(faults, lines.Err())...)
}

// parse gives the tests of the list, and whether each must skip.
func parse(list string) (map[string]bool, error) {
	expected := map[string]bool{}
	for line := range strings.Lines(list) {
		name, instead, ok := strings.Cut(strings.TrimSpace(line), " # ")
		switch {
		case name == "":
		case !ok || len(strings.Fields(name)) != 2 || instead == "":
			return nil, fmt.Errorf("%q does not name a package, a test and what runs it instead", line)
		default:
			test, depends := strings.CutSuffix(name, "?")
			expected[test] = !depends
		}
	}
	return expected, nil
}
