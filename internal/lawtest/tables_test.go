package lawtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row gives the line of a table that begins with a cell.
func row(text, cell string) (line string, found bool) {
	_, rest, found := strings.Cut(text, "\n| "+cell+" |")
	line, _, _ = strings.Cut(rest, "\n")
	return line, found
}

// Every library that may be imported has a row that names its owners, and every
// module that go.mod requires has an owner or is named as one of the tests.
func TestDocsHaveEveryLibrary(t *testing.T) {
	text := document(t, "architecture.md")
	for prefix, allowed := range owners {
		line, found := row(text, "`"+prefix+"`")
		if !found {
			t.Errorf("architecture.md has no row of the library %s", prefix)
		}
		for _, owner := range allowed {
			if folder := "`" + strings.TrimPrefix(owner, "vcphost/") + "`"; !strings.Contains(line, folder) {
				t.Errorf("architecture.md does not name %s as an owner of %s", folder, prefix)
			}
		}
	}
	tests, _ := row(text, "of tests alone")
	raw, err := os.ReadFile(filepath.Join(repository(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(raw), -1) {
		module := match[1]
		owned := slices.ContainsFunc(ownedPrefixes(), func(prefix string) bool {
			return module == prefix || strings.HasPrefix(module, prefix+"/")
		})
		if !owned && !strings.Contains(tests, "`"+module+"`") {
			t.Errorf("architecture.md does not say whose the module %s is", module)
		}
	}
}

func ownedPrefixes() []string {
	var list []string
	for prefix := range owners {
		list = append(list, prefix)
	}
	return list
}

// The keys that package comments lay down are those of the table of the store.
func TestDocsHaveEveryKeyOfTheStore(t *testing.T) {
	text := document(t, "architecture.md")
	key := regexp.MustCompile(`(?m)^//\t([a-z]+/\S*(?:<[^>]+>\S*)+|[a-z]+/key)\s`)
	found := 0
	for _, source := range sources(t) {
		if strings.HasPrefix(source.name, "examples/") {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(repository(t), filepath.FromSlash(source.name)))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range key.FindAllStringSubmatch(string(raw), -1) {
			found++
			if line, ok := row(text, "`"+match[1]+"`"); !ok || !strings.HasSuffix(line, "| `"+source.pkg+"` |") {
				t.Errorf("architecture.md has no row of the key %s of %s", match[1], source.pkg)
			}
		}
	}
	if found < 12 {
		t.Errorf("found %d keys; the form of the comments has changed, and this test must follow", found)
	}
}
