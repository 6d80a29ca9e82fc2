package wasmbin_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// specScript is a script of the official core specification suite, as wazero's
// module carries it: commands in JSON beside the modules in binary.
type specScript struct {
	folder, name string
	Commands     []specCommand `json:"commands"`
}

type specCommand struct {
	Type       string      `json:"type"`
	Line       int         `json:"line"`
	Name       string      `json:"name"`
	Filename   string      `json:"filename"`
	As         string      `json:"as"`
	Action     specAction  `json:"action"`
	Expected   []specValue `json:"expected"`
	ModuleType string      `json:"module_type"`
	Text       string      `json:"text"`
}

type specAction struct {
	Type   string      `json:"type"`
	Field  string      `json:"field"`
	Module string      `json:"module"`
	Args   []specValue `json:"args"`
}

type specValue struct {
	Type     string          `json:"type"`
	LaneType string          `json:"lane_type"`
	Value    json.RawMessage `json:"value"`
}

// engineFolder is where the engine's module lies on this machine.
var engineFolder = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	return strings.TrimSpace(string(out)), err
})

// engineFile is a path inside the engine's module; without the module's source
// on this machine, as with a vendor folder, the test is skipped.
func engineFile(t testing.TB, elements ...string) string {
	t.Helper()
	folder, err := engineFolder()
	if err != nil || folder == "" {
		t.Skipf("the engine's source is not here: %v", err)
	}
	return filepath.Join(append([]string{folder, "internal", "integration_test"}, elements...)...)
}

// specScripts are all scripts of one version of the suite.
func specScripts(t testing.TB, version string) []specScript {
	t.Helper()
	folder := engineFile(t, "spectest", version, "testdata")
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", folder, err)
	}
	scripts := make([]specScript, len(files))
	for i, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts[i] = specScript{folder: folder, name: strings.TrimSuffix(filepath.Base(file), ".json")}
		if err := json.Unmarshal(raw, &scripts[i]); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return scripts
}

// at is the place of a command in its script.
func (s specScript) at(c specCommand) string {
	if c.Line == 0 {
		return s.name + ".wast:end"
	}
	return fmt.Sprintf("%s.wast:%d", s.name, c.Line)
}

func (s specScript) binary(t testing.TB, c specCommand) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.folder, c.Filename))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// lanes are the parts of a value: one, or those of a vector, with their width
// in bits.
func (v specValue) lanes() (texts []string, width int) {
	kind := v.Type
	if kind == "v128" {
		kind = v.LaneType
		if err := json.Unmarshal(v.Value, &texts); err != nil {
			panic(err)
		}
	} else {
		var text *string
		if err := json.Unmarshal(v.Value, &text); err != nil && len(v.Value) > 0 {
			panic(err)
		}
		texts = []string{""}
		if text != nil {
			texts[0] = *text
		}
	}
	if strings.HasSuffix(kind, "ref") {
		return texts, 64
	}
	width, err := strconv.Atoi(kind[1:])
	if err != nil {
		panic(err)
	}
	return texts, width
}

// bits is a value as the engine takes it: one word, or two of a vector.
func (v specValue) bits() []uint64 {
	texts, width := v.lanes()
	var words [2]uint64
	for i, text := range texts {
		words[i*width/64] |= v.number(text, width) << (i * width % 64)
	}
	if v.Type == "v128" {
		return words[:]
	}
	return words[:1]
}

func (v specValue) number(text string, width int) uint64 {
	switch {
	case text == "" || text == "null" || strings.HasPrefix(text, "nan:"):
		return 0
	case strings.HasPrefix(text, "-"):
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			panic(err)
		}
		return uint64(n) & (1<<width - 1)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic(err)
	}
	if v.Type == "externref" {
		n++ // the engine takes 0 for null
	}
	return n
}

// holds tells whether the engine's words are a value that the script allows, and
// whether the script allows several, as it does for NaN and for references.
func (v specValue) holds(words []uint64) (ok, several bool) {
	texts, width := v.lanes()
	if v.Type == "funcref" || v.Type == "externref" && texts[0] == "" {
		return texts[0] != "null" || words[0] == 0, true
	}
	for i, text := range texts {
		got := words[i*width/64] >> (i * width % 64)
		if width < 64 {
			got &= 1<<width - 1
		}
		if !strings.HasPrefix(text, "nan:") {
			if want := v.number(text, width); got != want {
				return false, several
			}
			continue
		}
		several = true
		if !isNaN(got, width, text == "nan:canonical") {
			return false, several
		}
	}
	return true, several
}

// isNaN tells whether bits are a NaN of which the first bit of the payload is
// set, and if it is to be canonical, no other.
func isNaN(bits uint64, width int, canonical bool) bool {
	quiet, sign := math.Float64bits(math.Inf(1))|1<<51, uint64(1)<<63
	if width == 32 {
		quiet, sign = uint64(math.Float32bits(float32(math.Inf(1))))|1<<22, 1<<31
	}
	if canonical {
		return bits&^sign == quiet
	}
	return bits&quiet == quiet
}
