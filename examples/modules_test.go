package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Examples with a go.mod of their own are out of reach of ./... in this module;
// their tests run from here, so that one command runs all.
func TestExamplesThatAreModulesOfTheirOwn(t *testing.T) {
	modules, err := filepath.Glob("*/go.mod")
	if err != nil || len(modules) == 0 {
		t.Fatalf("found %v, %v; want at least csvchart", modules, err)
	}
	for _, module := range modules {
		dir := filepath.Dir(module)
		t.Run(dir, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), "go", "test", "./...")
			command.Dir = dir
			command.Env = append(os.Environ(), "GOWORK=off")
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("go test in %s: %v\n%s", dir, err, out)
			}
		})
	}
}
