// Package deploy has no code: its tests hold the unit, the image and the compose
// file against the program and against each other.
package deploy

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"vcphost/internal/config"
)

func read(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// directives gives the values of a unit's section by name.
func directives(t *testing.T, text, section string) map[string][]string {
	t.Helper()
	found, in := map[string][]string{}, ""
	for i, line := range strings.Split(text, "\n") {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			in = line[1 : len(line)-1]
		default:
			name, value, ok := strings.Cut(line, "=")
			if !ok {
				t.Errorf("line %d is no directive: %s", i+1, line)
			}
			if in == section {
				found[name] = append(found[name], value)
			}
		}
	}
	return found
}

func TestUnit(t *testing.T) {
	service := directives(t, read(t, "vcphost.service"), "Service")
	for name, want := range map[string]string{
		"User": "vcphost", "NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "ProtectSystem": "strict", "ProtectHome": "yes",
		"PrivateDevices": "yes", "StateDirectory": "vcphost", "StateDirectoryMode": "0700", "RestrictNamespaces": "yes",
	} {
		if got := service[name]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	known := []string{config.FileVariable}
	for _, row := range config.Reference() {
		known = append(known, row.Environment)
	}
	for _, entry := range service["Environment"] {
		name, value, _ := strings.Cut(entry, "=")
		if !slices.Contains(known, name) {
			t.Errorf("Environment sets %s, which is no setting", name)
		}
		if name == "VCPHOST_DATA" && value != "/var/lib/"+service["StateDirectory"][0] {
			t.Errorf("the data directory %s is not the StateDirectory", value)
		}
	}
	stop, err := time.ParseDuration(service["TimeoutStopSec"][0] + "s")
	if drain := config.Default().Drain; err != nil || stop < drain+10*time.Second {
		t.Errorf("the service is killed after %v, %v; draining takes up to %v", stop, err, drain)
	}
	if !strings.HasPrefix(read(t, "vcphost.sysusers"), "u "+service["User"][0]+" ") {
		t.Error("vcphost.sysusers makes another user")
	}
}

// TestUnitIsValid lets systemd read the unit, with a program that exists.
func TestUnitIsValid(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed; TestUnit reads the unit's syntax")
	}
	unit := filepath.Join(t.TempDir(), "vcphost.service")
	text := strings.ReplaceAll(read(t, "vcphost.service"), "ExecStart=/usr/local/bin/vcphost", "ExecStart="+os.Args[0])
	if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// Exposure in tenths; systemd calls up to 19 good, and a plain service has 96.
	out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", unit).CombinedOutput()
	if err != nil && !strings.Contains(string(out), "unrecognized option") {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// instruction is a line of a Dockerfile in one stage of it.
type instruction struct {
	stage       int
	name, value string
}

func dockerfile(t *testing.T) (list []instruction, stages []string) {
	t.Helper()
	stage := -1
	for i, line := range strings.Split(read(t, "Dockerfile"), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, " ")
		if !ok || name != strings.ToUpper(name) || strings.HasSuffix(line, `\`) {
			t.Fatalf("line %d is no instruction on one line: %s", i+1, line)
		}
		if name == "FROM" {
			stage++
			_, as, _ := strings.Cut(value, " AS ")
			stages = append(stages, as)
		}
		list = append(list, instruction{stage, name, value})
	}
	return list, stages
}

// only gives the value of an instruction that the last stage has once.
func only(t *testing.T, list []instruction, name string) string {
	t.Helper()
	last, found := list[len(list)-1].stage, []string{}
	for _, in := range list {
		if in.stage == last && in.name == name {
			found = append(found, in.value)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the last stage has %d instructions %s, want 1", len(found), name)
	}
	return found[0]
}

func TestDockerfile(t *testing.T) {
	list, stages := dockerfile(t)
	if base := only(t, list, "FROM"); len(stages) < 2 || !strings.Contains(base, "distroless/static") || !strings.HasSuffix(base, ":nonroot") {
		t.Errorf("%d stages, of which the last begins with %s", len(stages), base)
	}
	if user := only(t, list, "USER"); user == "" || strings.HasPrefix(user, "0") || strings.HasPrefix(user, "root") {
		t.Errorf("the user is %q", user)
	}
	copied := map[string]bool{}
	for _, in := range list {
		if in.name != "COPY" {
			continue
		}
		words := strings.Fields(in.value)
		from := ""
		for strings.HasPrefix(words[0], "--") {
			if stage, ok := strings.CutPrefix(words[0], "--from="); ok {
				from = stage
			}
			words = words[1:]
		}
		copied[words[len(words)-1]] = true
		if from != "" {
			if !slices.Contains(stages[:in.stage], from) {
				t.Errorf("COPY from %s, which is no stage before", from)
			}
			continue
		}
		for _, source := range words[:len(words)-1] {
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(source))); err != nil {
				t.Errorf("COPY of what is not there: %v", err)
			}
		}
	}
	program := strings.Trim(only(t, list, "ENTRYPOINT"), `[]"`)
	data := strings.Trim(only(t, list, "VOLUME"), `[]"`)
	if !copied[program] || !copied[data] || only(t, list, "ENV") != "VCPHOST_DATA="+data {
		t.Errorf("the program %s, the volume %s, the environment %s and what is copied do not fit", program, data, only(t, list, "ENV"))
	}
	_, port, _ := strings.Cut(config.Default().Addr, ":")
	if only(t, list, "EXPOSE") != port || !strings.Contains(only(t, list, "CMD"), "0.0.0.0:"+port+`"`) {
		t.Errorf("the ports are not the default's, %s", port)
	}
	if check := only(t, list, "HEALTHCHECK"); !strings.HasSuffix(check, `CMD ["`+program+`", "healthcheck"]`) {
		t.Errorf("the check is %s", check)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, filepath.Join("..", "go.mod")))
	if list[0].value != "golang:"+version[1]+" AS build" {
		t.Errorf("the image is built by %s, and go.mod has %s", list[0].value, version[1])
	}
}

// compose is what is looked at of compose.yaml.
type compose struct {
	Services map[string]struct {
		Build       struct{ Context, Dockerfile string }
		User        string
		ReadOnly    bool     `yaml:"read_only"`
		CapDrop     []string `yaml:"cap_drop"`
		SecurityOpt []string `yaml:"security_opt"`
		Ports       []string
		Volumes     []string
		StopGrace   string `yaml:"stop_grace_period"`
	}
	Volumes map[string]any
}

func TestCompose(t *testing.T) {
	var file compose
	if err := yaml.Unmarshal([]byte(read(t, "compose.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	list, _ := dockerfile(t)
	service := file.Services["vcphost"]
	if _, err := os.Stat(filepath.Join(service.Build.Context, filepath.FromSlash(service.Build.Dockerfile))); err != nil {
		t.Error(err)
	}
	if service.User != only(t, list, "USER") || !service.ReadOnly || !slices.Equal(service.CapDrop, []string{"ALL"}) ||
		!slices.Equal(service.SecurityOpt, []string{"no-new-privileges:true"}) {
		t.Errorf("the container may more than it should: %+v", service)
	}
	if want := []string{"127.0.0.1:" + only(t, list, "EXPOSE") + ":" + only(t, list, "EXPOSE")}; !slices.Equal(service.Ports, want) {
		t.Errorf("the ports are %q, want %q", service.Ports, want)
	}
	volume, target, _ := strings.Cut(service.Volumes[0], ":")
	if _, ok := file.Volumes[volume]; !ok || target != strings.Trim(only(t, list, "VOLUME"), `[]"`) {
		t.Errorf("the volume %s at %s is not the image's", volume, target)
	}
	stop, err := time.ParseDuration(service.StopGrace)
	if drain := config.Default().Drain; err != nil || stop < drain+10*time.Second {
		t.Errorf("the container is killed after %v, %v; draining takes up to %v", stop, err, drain)
	}
}

func TestSettingsLoad(t *testing.T) {
	raw := read(t, "vcphost.yaml")
	// What is commented out loads as well.
	whole := regexp.MustCompile(`(?m)^# (\w+:)`).ReplaceAllString(raw, "$1")
	for _, text := range []string{raw, whole} {
		name := path.Join(t.TempDir(), "vcphost.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if loaded, err := config.Load(config.Sources{File: name}); err != nil || len(loaded.Warnings) > 0 {
			t.Errorf("%v, %v", err, loaded)
		}
	}
}
