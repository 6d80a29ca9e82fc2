package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vcphost.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadTakesFlagThenEnvironmentThenFileThenDefault(t *testing.T) {
	path := write(t, `
addr: "127.0.0.1:1"
logLevel: warn
data: state
plugins: [plugins, /opt/plugins]
limits:
  maxInFlight: 3
  maxUploadBytes: 2GiB
  readTimeout: 90s
retention: forever
`)
	loaded, err := Load(Sources{
		File: path,
		Environment: []string{
			"VCPHOST_ADDR=127.0.0.1:2", "VCPHOST_LOG_LEVEL=error", "VCPHOST_DRAIN=", "PATH=/bin", "VCPHOST_TRUST=/a" + string(os.PathListSeparator) + "/b",
			"VCPHOST_CONFIG=x", "VCPHOST_ADR=1", "VCPHOST_FOO=1", "VCPHOST_SERVICE_HOST=10.0.0.1",
		},
		Flags: map[string][]string{"addr": {"127.0.0.1:3"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(path)
	want := Default()
	want.Addr, want.LogLevel, want.Data = "127.0.0.1:3", "error", filepath.Join(dir, "state")
	want.Plugins, want.Trust = []string{filepath.Join(dir, "plugins"), "/opt/plugins"}, []string{"/a", "/b"}
	want.Limits.MaxInFlight, want.Limits.MaxUploadBytes, want.Limits.ReadTimeout = 3, 2<<30, 90*time.Second
	want.Retention = -1
	if !reflect.DeepEqual(loaded.Settings, want) {
		t.Errorf("got  %+v\nwant %+v", loaded.Settings, want)
	}
	for name, origin := range map[string]string{
		"addr": "--addr", "logLevel": "VCPHOST_LOG_LEVEL", "drain": "default", "data": path + ":4:7", "limits.maxInFlight": path + ":7:16",
	} {
		if got := loaded.Origins[name]; got != origin {
			t.Errorf("%s comes from %q, want %q", name, got, origin)
		}
	}
	wantWarnings := []string{
		"the environment variable VCPHOST_ADR has no effect; did you mean VCPHOST_ADDR?",
		"the environment variable VCPHOST_FOO has no effect",
		"the environment variable VCPHOST_SERVICE_HOST has no effect",
	}
	if !slices.Equal(loaded.Warnings, wantWarnings) {
		t.Errorf("warnings %q", loaded.Warnings)
	}
}

func TestLoadRefuses(t *testing.T) {
	const key = "not-a-key-but-a-secret"
	for _, test := range []struct{ name, file, want string }{
		{"an unknown name", "adr: x", `F:1:1: adr: there is no such setting; did you mean addr?`},
		{"an unknown name in a group", "limits:\n  maxInflight2: 1", `F:2:3: limits.maxInflight2: there is no such setting; did you mean limits.maxInFlight?`},
		{"a name far from all", "thisIsNothing: 1", `F:1:1: thisIsNothing: there is no such setting`},
		{"a name twice", "addr: a:1\naddr: a:2", `F:2:1: `},
		{"a dotted name", "limits.maxInFlight: 1", "F:1:1: limits.maxInFlight: a dot is one more level"},
		{"a number as a text", "data: 17", "F:1:7: data: a text is expected; put it into quotes"},
		{"a text as a number", `limits: {maxInFlight: "3"}`, "limits.maxInFlight: a value of type int is expected, without quotes"},
		{"a duration without a unit", "drain: 30", "drain: a duration needs a unit, as in 90s"},
		{"a decimal unit", "minFreeBytes: 300MB", `minFreeBytes: "300MB" is no size; write a number, or one with KiB, MiB, GiB or TiB`},
		{"below a bound", "limits: {maxInFlight: 0}", `limits.maxInFlight: "0" is out of range; at least 1 and at most 1048576 are allowed`},
		{"too long", "drain: 2h", `drain: "2h" is out of range; at least 0s and at most 1h are allowed`},
		{"an overflow", "limits: {maxUploadBytes: 9223372036854775807TiB}", `is out of range`},
		{"a value of a choice", "logLevel: wran", `logLevel: "wran" is none of debug, info, warn, error; did you mean warn?`},
		{"nothing", "addr:", "addr: there is no value"},
		{"a text for a list", "plugins: here", "plugins: a list is expected"},
		{"a list for a text", "addr: [a]", "addr: a text is expected"},
		{"an empty element", `plugins: [""]`, "plugins: element 0 is empty"},
		{"a list of lists", "plugins: [[a]]", "plugins: a text is expected"},
		{"a sequence", "- addr", "settings are expected, as name: value"},
		{"a group that is a value", "limits: 3", "F:1:9: limits: settings are expected"},
		{"an alias", "data: &d x\naddr: *d", "data: a text is expected"},
		{"a merge", "<<: {addr: x}", "a name is expected"},
		{"a tag", "addr: !!str a:1", "addr: a text is expected"},
		{"two documents", "addr: a:1\n---\naddr: a:2", "F:3:5: a file of settings is one document"},
		{"no YAML", "addr: [", "F:1:"},
		{"not UTF-8", "addr: \xff", "F: the file is not UTF-8"},
		{"no port", "addr: localhost", `addr: "localhost" is no address; write host:port`},
		// It listened on every interface, at a port that nobody had chosen.
		{"an empty address", `addr: ""`, `addr: "" is no address; write host:port`},
		{"a port too high", `addr: "a:65536"`, `addr: "65536" is no port`},
		{"a relative URL", "baseUrl: example.org", "baseUrl: an absolute URL with http or https is expected"},
		{"a password in a URL", `baseUrl: "https://u:p@example.org"`, "baseUrl: the URL must have no user, query or fragment"},
		{"a short key", "key: " + key, "key: a key has 32 to 512 printable ASCII characters and no space"},
		{"a line break", `data: "a\nb"`, "data: control characters are not allowed"},
		{"a word that another duration has", "drain: forever", `drain: "forever" is no duration`},
		{"too large", strings.Repeat("#", maxFileBytes+1), "has more than 65536 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, test.file)
			_, err := Load(Sources{File: path})
			if err == nil {
				t.Fatal("got no error")
			}
			got := strings.ReplaceAll(err.Error(), path, "F")
			if !strings.Contains(got, test.want) || strings.Contains(got, key) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestLoadTellsAllProblemsTogether(t *testing.T) {
	path := write(t, "adr: x\nlimits:\n  maxInFlight: many\nlogFormat: xml\n")
	_, err := Load(Sources{
		File: path, Environment: []string{"VCPHOST_RETENTION=1", "VCPHOST_KEY=short"},
		Flags: map[string][]string{"addr": {"a:1", "a:2"}, "nowhere": {"1"}, "": {"1"}},
	})
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v, want an InvalidError", err)
	}
	var sources []string
	for _, p := range invalid.Problems {
		sources = append(sources, strings.ReplaceAll(p.Source, path, "F")+" "+p.Name)
	}
	want := []string{
		"F:1:1 adr", "F:3:16 limits.maxInFlight", "F:4:12 logFormat", "VCPHOST_RETENTION retention", "VCPHOST_KEY key", "--addr addr", "-- ", "--nowhere ",
	}
	if !slices.Equal(sources, want) {
		t.Errorf("got %q\nwant %q\n%v", sources, want, err)
	}
}

func TestLoadOfNoFile(t *testing.T) {
	if _, err := Load(Sources{File: filepath.Join(t.TempDir(), "none.yaml")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there gave %v", err)
	}
	for _, text := range []string{"", "# nothing\n", "---\n", "{}\n", "null\n"} {
		loaded, err := Load(Sources{File: write(t, text)})
		if err != nil || !reflect.DeepEqual(loaded.Settings, Default()) {
			t.Errorf("%q gave %v", text, err)
		}
	}
}

func TestAReadableSecretIsWarnedOf(t *testing.T) {
	path := write(t, "key: "+strings.Repeat("k", 32))
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o640: 0, 0o644: 1} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if loaded, err := Load(Sources{File: path}); err != nil || len(loaded.Warnings) != want {
			t.Errorf("mode %o: %v, %v", mode, loaded.Warnings, err)
		}
	}
}

func TestFindFile(t *testing.T) {
	environment := []string{"A=b", "VCPHOST_CONFIG=/etc/v.yaml"}
	for _, test := range []struct{ given, want string }{{"x.yaml", "x.yaml"}, {"", "/etc/v.yaml"}} {
		if got := FindFile(test.given, environment); got != test.want {
			t.Errorf("FindFile(%q) = %q, want %q", test.given, got, test.want)
		}
	}
	if got := FindFile("", nil); got != "" {
		t.Errorf("without any, FindFile = %q", got)
	}
}

// FuzzLoad: whatever the file says, Load ends, without a panic, in settings that
// print as a file which gives them again, or in problems.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"addr: a:1\nlimits:\n  maxInFlight: 3\n", "plugins: [a, 'b', \"c\\n\"]", "data: |\n  x\n", "? a\n: b", "a: &a [*a]", "%YAML 1.2\n---\n{}",
		"retention: 30d", "minFreeBytes: 1 GiB", "{{{{", "[[[[[[", "addr: !!binary aGVq", "\t: x", "a:\n- - - b", "drain: 1_0s", "limits: {readTimeout: 0x10}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		loaded, err := loadBytes(raw)
		if err != nil {
			var invalid *InvalidError
			if !errors.As(err, &invalid) || len(invalid.Problems) == 0 {
				t.Fatalf("%q gave %v", raw, err)
			}
			return
		}
		again, err := loadBytes(printed(t, loaded))
		if err != nil {
			t.Fatalf("%q printed as\n%s\n%v", raw, printed(t, loaded), err)
		}
		loaded.Key, again.Key = "", ""
		if !reflect.DeepEqual(loaded.Settings, again.Settings) {
			t.Errorf("%q: %+v became %+v", raw, loaded.Settings, again.Settings)
		}
	})
}

func loadBytes(raw []byte) (*Loaded, error) {
	l := &loader{table: rows(), out: &Loaded{Origins: map[string]string{}}}
	for i := range l.table {
		l.applyDefault(&l.table[i])
	}
	l.applyYAML("/etc/vcphost.yaml", raw)
	if len(l.problems) > 0 {
		return nil, &InvalidError{Problems: l.problems}
	}
	return l.out, nil
}

func printed(t testing.TB, loaded *Loaded) []byte {
	t.Helper()
	var out strings.Builder
	if err := loaded.Print(&out); err != nil {
		t.Fatal(err)
	}
	return []byte(strings.ReplaceAll(out.String(), mask, strings.Repeat("k", minKeyBytes)))
}
