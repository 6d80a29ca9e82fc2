package lawtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goPackage is what `go list -json` tells of a package.
type goPackage struct {
	ImportPath string
	Dir        string
	Doc        string
	Imports    []string
	GoFiles    []string
	Standard   bool
}

func repository(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatalf("go env GOMOD: %v", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

// packages lists the packages of this module.
func packages(t *testing.T) []goPackage {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Dir,Doc,Imports,GoFiles", "./...")
	command.Dir = repository(t)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatalf("read go list: %v", err)
		}
		list = append(list, p)
	}
}

// floors gives each top folder its floor. A package imports lower floors, its
// own folder, and what is beside it on floor 0 never.
var floors = map[string]int{
	"abi": 0, "internal": 0,
	"sandbox": 1, "legacy-stdio": 1, "resources": 1, "presenters": 1,
	"host":   2,
	"chat":   3,
	"server": 4,
	"cmd":    5,
}

// owners names the only packages that may import a third-party module, by
// prefix of the import path. What is not listed may not be imported at all.
var owners = map[string][]string{
	"github.com/tetratelabs/wazero":      {"vcphost/sandbox"},
	"github.com/dgraph-io/badger":        {"vcphost/internal/kv"},
	"github.com/valyala/fastjson":        {"vcphost/internal/rawjson"},
	"github.com/oklog/ulid":              {"vcphost/internal/ids"},
	"github.com/kaptinlin/jsonschema":    {"vcphost/host/validate"},
	"github.com/gabriel-vasile/mimetype": {"vcphost/resources"},
	"golang.org/x/image":                 {"vcphost/resources"},
	"golang.org/x/sys":                   {"vcphost/internal/kv", "vcphost/server/api", "vcphost/server/pace", "vcphost/sandbox/snapshot"},
	"golang.org/x/time":                  {"vcphost/server/limit"},
	"github.com/mattn/go-isatty":         {"vcphost/cmd/vcphost"},
	"github.com/prometheus":              {"vcphost/server/metrics"},
	"go.opentelemetry.io":                {"vcphost/server/trace"},
	"github.com/spf13/cobra":             {"vcphost/cmd/vcphost"},
	"github.com/gofiber/fiber":           {"vcphost/server"},
	"github.com/swaggest/swgui":          {"vcphost/server/openapi"},
	"github.com/goccy/go-yaml":           {"vcphost/internal/config"},
	"github.com/valyala/fasthttp":        {"vcphost/server"},
}

func folder(path string) string {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "vcphost/"), "/")
	return top
}

func TestImportLaw(t *testing.T) {
	for _, p := range packages(t) {
		top := folder(p.ImportPath)
		for _, imported := range p.Imports {
			switch {
			case strings.HasPrefix(imported, "vcphost/"):
				if reason := forbiddenImport(top, p.ImportPath, imported); reason != "" {
					t.Errorf("%s imports %s: %s", p.ImportPath, imported, reason)
				}
			case strings.Contains(strings.SplitN(imported, "/", 2)[0], "."):
				if !mayOwn(p.ImportPath, imported) {
					t.Errorf("%s imports %s, which it does not own", p.ImportPath, imported)
				}
			}
		}
	}
}

// forbiddenImport says why a package must not import another one of this
// module; "" means that it may.
func forbiddenImport(top, from, imported string) string {
	target := folder(imported)
	switch {
	case imported == "vcphost/examples":
		if top != "cmd" {
			return "the bundled examples are for the composition root"
		}
		return ""
	case top == "examples":
		if strings.HasPrefix(imported, "vcphost/abi/") || imported == "vcphost/abi" || target == "examples" {
			return ""
		}
		return "an example uses the guest SDK and nothing of the host"
	case target == top:
		return ""
	case top == "abi":
		return "the protocol stands on the standard library alone"
	case top == "internal" && target == "abi":
		return ""
	}
	from0, ok := floors[top]
	if !ok {
		return "its folder " + top + " has no floor"
	}
	to, ok := floors[target]
	if !ok {
		return "the folder " + target + " has no floor"
	}
	if to >= from0 {
		return "imports go to lower floors only"
	}
	return ""
}

func mayOwn(from, imported string) bool {
	for prefix, allowed := range owners {
		if imported != prefix && !strings.HasPrefix(imported, prefix+"/") {
			continue
		}
		for _, owner := range allowed {
			if from == owner || strings.HasPrefix(from, owner+"/") {
				return true
			}
		}
	}
	return false
}

func TestForbiddenImportKnowsTheLaw(t *testing.T) {
	for _, test := range []struct {
		from, imported string
		allowed        bool
	}{
		{"vcphost/abi", "vcphost/internal/rawjson", false},
		{"vcphost/internal/kv", "vcphost/sandbox", false},
		{"vcphost/sandbox", "vcphost/resources", false},
		{"vcphost/sandbox", "vcphost/host", false},
		{"vcphost/sandbox/hostfunc", "vcphost/sandbox", true},
		{"vcphost/host", "vcphost/sandbox", true},
		{"vcphost/host", "vcphost/server", false},
		{"vcphost/server", "vcphost/host", true},
		{"vcphost/newfolder", "vcphost/abi", false},
		{"vcphost/examples/schedule", "vcphost/host", false},
		{"vcphost/examples/schedule", "vcphost/abi/guest/go", true},
		{"vcphost/host", "vcphost/examples", false},
	} {
		if got := forbiddenImport(folder(test.from), test.from, test.imported) == ""; got != test.allowed {
			t.Errorf("%s importing %s: allowed %v, want %v", test.from, test.imported, got, test.allowed)
		}
	}
}
