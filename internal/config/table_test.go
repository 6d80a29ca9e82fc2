package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite docs/configuration.md from the table")

// TestTheTableIsWhole: each field of Settings has one row of its type, and names
// are unique and made by rule.
func TestTheTableIsWhole(t *testing.T) {
	var s Settings
	pointers, names := map[any]string{}, map[string]bool{}
	for _, r := range rows() {
		field := r.field(&s)
		if other, ok := pointers[field]; ok {
			t.Errorf("%s and %s are one field", r.Name, other)
		}
		pointers[field] = r.Name
		if got := typeOf(field, r.Type); got != r.Type {
			t.Errorf("%s is a %T and has type %s", r.Name, field, r.Type)
		}
		for _, name := range []string{r.Name, r.Environment, "--" + r.Flag} {
			if names[name] {
				t.Errorf("%s is there twice", name)
			}
			names[name] = true
		}
		last := r.Name[strings.LastIndex(r.Name, ".")+1:]
		words := regexp.MustCompile(`[A-Z]?[a-z]+`).FindAllString(last, -1)
		flagName := strings.ToLower(strings.Join(words, "-"))
		if want := environmentPrefix + strings.ToUpper(strings.Join(words, "_")); r.Environment != want {
			t.Errorf("%s has the variable %s, want %s", r.Name, r.Environment, want)
		}
		if r.Secret != (r.Flag == "") || !r.Secret && r.Flag != flagName {
			t.Errorf("%s (secret %v) has the flag %q, want %q", r.Name, r.Secret, r.Flag, flagName)
		}
		if r.Description == "" {
			t.Errorf("%s has no description", r.Name)
		}
	}
	if want := leaves(reflect.TypeOf(s)); len(pointers) != want {
		t.Errorf("%d rows for %d fields", len(pointers), want)
	}
}

func typeOf(field any, written Type) Type {
	switch field.(type) {
	case *string:
		return TypeString
	case *int64:
		return TypeBytes
	case *int:
		if written == TypeBytes { // what another package takes as an int
			return TypeBytes
		}
		return TypeInt
	case *time.Duration:
		return TypeDuration
	case *bool:
		return TypeBool
	case *[]string:
		return TypeList
	}
	return ""
}

func leaves(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return 1
	}
	n := 0
	for i := range t.NumField() {
		n += leaves(t.Field(i).Type)
	}
	return n
}

func TestAFlagIsReadFromTrueAndFalse(t *testing.T) {
	var on bool
	r := row{Row: Row{Name: "on", Type: TypeBool}, field: func(*Settings) any { return &on }}
	if err := r.set(nil, "true"); err != nil || !on || r.yaml(nil) != "true" {
		t.Errorf("true gave %v, %v", on, err)
	}
	if err := r.set(nil, "yes"); err == nil {
		t.Error("yes was taken")
	}
}

func TestPrintMasksSecretsAndReadsBack(t *testing.T) {
	secret := strings.Repeat("s", 40)
	loaded, err := Load(Sources{Environment: []string{"VCPHOST_KEY=" + secret}, Flags: map[string][]string{"plugins": {"a b", `c"d`}, "retention": {"90m"}}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := loaded.Print(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"key: \"********\" # VCPHOST_KEY\n", `plugins: ["a b", "c\"d"] # --plugins`, "retention: 1h30m # --retention", "# data is not set",
		"limits:\n  maxInFlight: 64 # default\n", "minFreeBytes: 256MiB # default",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, secret) {
		t.Error("the secret is printed")
	}
}

// TestConfigurationPage: docs/configuration.md has the table as it is here.
func TestConfigurationPage(t *testing.T) {
	const begin, end = "<!-- settings: made by go test ./internal/config -update -->\n", "<!-- end -->\n"
	path := filepath.Join("..", "..", "docs", "configuration.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(raw), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", path)
	}
	page := head + begin + reference() + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page != string(raw) {
		t.Errorf("%s is not what the table says; go test ./internal/config -update", path)
	}
}

func reference() string {
	var out strings.Builder
	out.WriteString("| name | type | default | environment | flag | meaning |\n|---|---|---|---|---|---|\n")
	for _, r := range Reference() {
		kind, fallback, flagName := string(r.Type), "", ""
		if r.Secret {
			kind += ", secret"
		}
		if r.Default != "" {
			fallback = "`" + r.Default + "`"
		}
		if r.Flag != "" {
			flagName = "`--" + r.Flag + "`"
		}
		description := r.Description
		if r.Values != nil {
			description += " One of `" + strings.Join(r.Values, "`, `") + "`."
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | `%s` | %s | %s |\n", r.Name, kind, fallback, r.Environment, flagName, description)
	}
	return out.String()
}

func TestTheExampleOnThePageLoads(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	if len(examples) == 0 {
		t.Fatal("the page has no example")
	}
	for _, example := range examples {
		if _, err := loadBytes([]byte(example[1])); err != nil {
			t.Errorf("%s\n%v", example[1], err)
		}
	}
}
