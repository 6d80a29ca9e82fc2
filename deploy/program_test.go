package deploy

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vcphost/internal/config"
)

// TestProgram holds what the files start against the program itself.
func TestProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	program := filepath.Join(t.TempDir(), "vcphost")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "../cmd/vcphost")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as the image has it
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	t.Run("command lines", func(t *testing.T) {
		for _, line := range commandLines(t) {
			// With --help behind it, a line is read and not done.
			out, err := exec.Command(program, append(slices.Clone(line), "--help")...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "vcphost "+line[0]) {
				t.Errorf("vcphost %s: %v\n%s", strings.Join(line, " "), err, out)
			}
		}
	})
	t.Run("image", func(t *testing.T) { runImage(t, program) })
}

// commandLines lists the arguments with which the files start the program.
func commandLines(t *testing.T) [][]string {
	t.Helper()
	list, _ := dockerfile(t)
	entry := words(t, only(t, list, "ENTRYPOINT"))
	if len(entry) != 1 {
		t.Errorf("ENTRYPOINT is %q", entry)
	}
	_, check, _ := strings.Cut(only(t, list, "HEALTHCHECK"), " CMD ")
	lines := [][]string{words(t, only(t, list, "CMD")), words(t, check)[1:]}
	for _, start := range directives(t, read(t, "vcphost.service"), "Service")["ExecStart"] {
		fields := strings.Fields(start)
		if fields[0] != entry[0] {
			t.Errorf("the unit starts %s, the image %s", fields[0], entry[0])
		}
		lines = append(lines, fields[1:])
	}
	return lines
}

// words reads the form of a Dockerfile's commands that needs no shell.
func words(t *testing.T, value string) []string {
	t.Helper()
	var list []string
	if err := json.Unmarshal([]byte(value), &list); err != nil || len(list) == 0 {
		t.Fatalf("%s is no list of words: %v", value, err)
	}
	return list
}

// What the files name of the program's settings, in directives or in comments,
// is in the table of settings, and each path of the host means one thing.
func TestNamesAreTheProgramsOwn(t *testing.T) {
	environment, names := []string{config.FileVariable}, []string{}
	for _, row := range config.Reference() {
		environment, names = append(environment, row.Environment), append(names, row.Name)
	}
	paths := []string{
		"/usr/local/bin/vcphost", "/usr/local/lib/vcphost/plugins", "/var/lib/vcphost",
		"/etc/vcphost/vcphost.yaml", "/etc/vcphost/vcphost.env",
		"/etc/systemd/system/vcphost.service", "/etc/sysusers.d/vcphost.conf",
	}
	named := 0
	for _, file := range []string{"Dockerfile", "Dockerfile.dockerignore", "compose.yaml", "vcphost.service", "vcphost.sysusers", "vcphost.yaml"} {
		text := read(t, file)
		for _, kind := range []struct {
			what, form string
			known      []string
		}{
			{"variable", `\b(VCPHOST_\w+)`, environment},
			{"setting", `the setting (\w+(?:\.\w+)*)`, names},
			{"path", `(?:^|[\s="\[:])(/(?:usr|var|etc)/[\w./-]*vcphost[\w./-]*)`, paths},
		} {
			for _, match := range regexp.MustCompile("(?m)"+kind.form).FindAllStringSubmatch(text, -1) {
				named++
				if !slices.Contains(kind.known, strings.TrimRight(match[1], ".")) {
					t.Errorf("%s names the %s %s, which there is none", file, kind.what, match[1])
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("found %d names; the files have changed, and this test must follow", named)
	}
}
