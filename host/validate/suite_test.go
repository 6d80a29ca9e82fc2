package validate

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// suiteGroup is a group of the JSON Schema Test Suite.
type suiteGroup struct {
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Tests       []struct {
		Description string          `json:"description"`
		Data        json.RawMessage `json:"data"`
		Valid       bool            `json:"valid"`
	} `json:"tests"`
}

// TestSuite runs the official tests of the dialect, which come with the module of
// the validator. What is refused at compile time must be among what the package's
// documentation says is refused; everything else must agree.
func TestSuite(t *testing.T) {
	c := newCompiler(t)
	ran := 0
	for _, path := range suiteFiles(t) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("read the suite: %v", err)
		}
		var groups []suiteGroup
		if err := json.Unmarshal(raw, &groups); err != nil {
			t.Fatalf("read %s: %v", path, err)
		}
		for _, group := range groups {
			t.Run(filepath.Base(path)+"/"+group.Description, func(t *testing.T) {
				ran += runGroup(t, c, group)
			})
		}
	}
	if ran < 1300 {
		t.Errorf("ran %d tests only", ran)
	}
}

func runGroup(t *testing.T, c *Compiler, group suiteGroup) int {
	s, err := c.Compile(group.Schema)
	if err != nil {
		for _, known := range []string{
			"names no schema of this document", "$dynamicRef is not supported", "$dynamicAnchor is not supported",
			"$id is allowed at the root", "the dialect ", `the format "unknown" is unknown`,
		} {
			if strings.Contains(err.Error(), known) {
				return 0
			}
		}
		t.Errorf("refused: %v", err)
		return 0
	}
	for _, test := range group.Tests {
		problems := s.Problems(test.Data)
		if (problems == nil) != test.Valid {
			t.Errorf("%s: got %+v, want valid = %v", test.Description, problems, test.Valid)
		}
	}
	return len(group.Tests)
}

// suiteFiles gives the files of the suite, without those that want formats to be
// annotations and those for which there is no check.
func suiteFiles(t *testing.T) []string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kaptinlin/jsonschema").Output()
	if err != nil {
		t.Fatalf("find the module of the validator: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(dir)), "testdata", "JSON-Schema-Test-Suite", "tests", "draft2020-12")
	var files []string
	for _, pattern := range []string{"*.json", filepath.Join("optional", "format", "*.json")} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("find the suite below %s: %v", root, err)
		}
		files = append(files, found...)
	}
	kept := files[:0]
	for _, file := range files {
		switch filepath.Base(file) {
		case "format.json", "idn-email.json", "idn-hostname.json":
		default:
			kept = append(kept, file)
		}
	}
	return kept
}
