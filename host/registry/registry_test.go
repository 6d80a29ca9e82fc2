package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"
)

// sound is a manifest that breaks no rule; the tests break one thing at a time.
const sound = `{
  "manifestVersion": "1.0.0",
  "name": "CsvChart",
  "displayName": "CSV chart",
  "version": "1.2.3",
  "description": "A chart.",
  "pluginType": "synchronous",
  "entryPoint": {"type": "wasm", "module": "chart.wasm", "abi": "vcp"},
  "communication": {"protocol": "wasm", "timeout": 30000},
  "toolResultProtocol": {"name": "vcp.tool-result", "version": "1.0"},
  "sandbox": {
    "memoryMiB": 128,
    "prepare": [{"command": "Plot", "arguments": {"data": {"$resource": "file:sample.csv"}, "column": "close"}}],
    "permissions": [
      {"kind": "kv", "bytes": 2048, "reason": "Remembers."},
      {"kind": "config", "keys": ["THEME"], "reason": "Draws."},
      {"kind": "http", "hosts": ["api.example.com", "*.Example.org:8443"], "reason": "Fetches."},
      {"kind": "mount", "name": "notes", "path": "/notes", "reason": "Reads."},
      {"kind": "env", "names": ["TZ"], "reason": "Zones."}
    ]
  },
  "configSchema": {"THEME": {"type": "string", "default": "light"}, "SIZE": {"type": "integer", "default": 3}},
  "capabilities": {"invocationCommands": [
    {
      "commandIdentifier": "Plot",
      "description": "Draw.",
      "inputSchema": {"type": "object", "properties": {
        "command": {"const": "Plot"}, "data": {"$ref": "vcp:resource"}, "column": {"type": "string"}
      }, "required": ["data"], "additionalProperties": false},
      "outputSchema": {"type": "object"},
      "resourceOutputs": [{"field": "/chart", "kind": "image"}],
      "errorCodes": ["INVALID_ARGUMENT", "CSV.MALFORMED"],
      "presentation": {"preferredView": "image-result", "title": null},
      "aiAdvice": {"intent": "display_resource", "message": "Show it."},
      "idempotent": true
    },
    {"commandIdentifier": "Plot_All", "inputSchema": {"type": "object", "additionalProperties": false}, "outputSchema": true}
  ]}
}`

const file = "test/chart/plugin-manifest.json"

// folder is a source with one plugin folder "chart".
func folder(manifest string) fstest.MapFS {
	return fstest.MapFS{
		"chart/plugin-manifest.json": {Data: []byte(manifest)},
		"chart/chart.wasm":           {Data: []byte("\x00asm")},
		"chart/sample.csv":           {Data: []byte("close\n1\n")},
		"chart/sub/main.py":          {Data: []byte("pass")},
	}
}

func load(t testing.TB, sources ...Source) *Registry {
	t.Helper()
	r, err := New(sources, &Options{RuntimeVersion: func(_ context.Context, runtime string) (string, error) {
		if runtime == "node" {
			return "v20.11.1", nil
		}
		return "", errors.New("there is none")
	}})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return r
}

func loadOne(t testing.TB, fsys fstest.MapFS) *Plugin {
	t.Helper()
	plugins := load(t, Source{Name: "test", FS: fsys, Trusted: true}).Snapshot().Plugins()
	if len(plugins) != 1 {
		t.Fatalf("got %d plugins, want 1", len(plugins))
	}
	return plugins[0]
}

// broken is the sound manifest with one text replaced.
func broken(t testing.TB, old, replacement string) string {
	t.Helper()
	if !strings.Contains(sound, old) {
		t.Fatalf("the sound manifest does not hold %q", old)
	}
	return strings.Replace(sound, old, replacement, 1)
}

func TestSoundManifest(t *testing.T) {
	p := loadOne(t, folder(sound))
	if p.State != Ready || len(p.Refusals) > 0 || len(p.Notices) > 0 {
		t.Fatalf("got state %s, refusals %v, notices %v; want ready and none", p.State, p.Refusals, p.Notices)
	}
	m := p.Manifest
	if got, want := m.Sandbox.MemoryMiB, int64(128); got != want {
		t.Errorf("memoryMiB: got %d, want %d", got, want)
	}
	if got, want := m.Sandbox.MaxOutputBytes, int64(8<<20); got != want {
		t.Errorf("maxOutputBytes: got %d, want the default %d", got, want)
	}
	if got, want := p.Timeout(), 30*time.Second; got != want {
		t.Errorf("timeout: got %v, want %v", got, want)
	}
	if len(p.Digest) != 64 {
		t.Errorf("digest: got %q, want 64 hex digits", p.Digest)
	}
	http := m.Sandbox.Permissions[2]
	if !slices.Equal(http.Hosts, []string{"api.example.com", "*.example.org:8443"}) || !slices.Equal(http.Methods, []string{"GET"}) {
		t.Errorf("http: got %v %v", http.Hosts, http.Methods)
	}
	if mount := m.Sandbox.Permissions[3]; mount.Access != "ro" {
		t.Errorf("mount access: got %q, want ro", mount.Access)
	}
	call := m.Sandbox.Prepare[0]
	if call.Command != "Plot" || !slices.Equal(call.Files, []string{"sample.csv"}) || !strings.Contains(string(call.Arguments), `"command":"Plot"`) {
		t.Errorf("prepare: got %+v", call)
	}
	if c := m.Commands[0]; c.Input == nil || c.Output == nil || c.ResourceOutputs[0].Role != "output" || c.AIAdvice.Priority != "normal" {
		t.Errorf("command: got %+v", c)
	}
	if got := string(m.ConfigDefaults()["SIZE"]); got != "3" {
		t.Errorf("default of SIZE: got %s, want 3", got)
	}
}

func TestDigestCoversWhatRuns(t *testing.T) {
	first := loadOne(t, folder(sound)).Digest
	changes := map[string]func(fstest.MapFS){
		"manifest": func(m fstest.MapFS) { m["chart/plugin-manifest.json"].Data = []byte(sound + "\n") },
		"module":   func(m fstest.MapFS) { m["chart/chart.wasm"].Data = []byte("\x00asm2") },
		"prepared": func(m fstest.MapFS) { m["chart/sample.csv"].Data = []byte("close\n2\n") },
	}
	for name, change := range changes {
		fsys := folder(sound)
		change(fsys)
		if got := loadOne(t, fsys).Digest; got == first || got == "" {
			t.Errorf("%s changed: digest got %q, want another one than before", name, got)
		}
	}
}

func TestStates(t *testing.T) {
	blocked := folder(sound)
	blocked["chart/plugin-manifest.json.block"] = blocked["chart/plugin-manifest.json"]
	delete(blocked, "chart/plugin-manifest.json")
	tests := []struct {
		name   string
		source Source
		want   State
	}{
		{"trusted", Source{Name: "d", FS: folder(sound), Trusted: true}, Ready},
		{"bundled", Source{Name: "bundled", FS: folder(sound), Bundled: true}, Ready},
		{"stranger", Source{Name: "d", FS: folder(sound)}, ApprovalRequired},
		{"blocked", Source{Name: "d", FS: blocked, Trusted: true}, Blocked},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, ok := load(t, test.source).Snapshot().Lookup("CsvChart")
			if !ok || p.State != test.want {
				t.Fatalf("got %+v, %v; want state %s", p, ok, test.want)
			}
		})
	}
}

func TestDiscovery(t *testing.T) {
	fsys := folder(sound)
	fsys["README.md"] = &fstest.MapFile{Data: []byte("x")}
	fsys["empty/notes.txt"] = &fstest.MapFile{Data: []byte("x")}
	fsys[".git/plugin-manifest.json"] = &fstest.MapFile{Data: []byte("{}")}
	fsys["aaa/plugin-manifest.json"] = &fstest.MapFile{Data: []byte("{")}
	snapshot := load(t, Source{Name: "test", FS: fsys, Trusted: true}).Snapshot()
	var names []string
	for _, p := range snapshot.Plugins() {
		names = append(names, p.Name+" "+string(p.State))
	}
	if want := []string{"CsvChart ready", "aaa refused"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	single := fstest.MapFS{}
	for name, f := range folder(sound) {
		single[strings.TrimPrefix(name, "chart/")] = f
	}
	p, ok := load(t, Source{Name: "dir/one", FS: single}).Snapshot().Lookup("CsvChart")
	if !ok || p.Folder != "." || p.State != ApprovalRequired {
		t.Errorf("a source that is a plugin: got %+v, %v", p, ok)
	}
}

func TestDuplicateNames(t *testing.T) {
	other := folder(sound)
	other["second/plugin-manifest.json"] = &fstest.MapFile{Data: []byte(strings.Replace(sound, "chart.wasm", "m.wasm", 1))}
	other["second/m.wasm"] = &fstest.MapFile{Data: []byte("x")}
	other["second/sample.csv"] = other["chart/sample.csv"]
	other["third/plugin-manifest.json.block"] = &fstest.MapFile{Data: []byte(sound)}
	r := load(t, Source{Name: "a", FS: folder(sound), Bundled: true}, Source{Name: "b", FS: other, Trusted: true})
	refused := 0
	for _, p := range r.Snapshot().Plugins() {
		if p.Folder == "third" {
			continue
		}
		refused++
		if p.State != Refused || len(p.Refusals) != 1 || p.Refusals[0].Pointer != "/name" {
			t.Fatalf("%s/%s: got %s %v, want refused at /name", p.Source, p.Folder, p.State, p.Refusals)
		}
		for _, name := range []string{"a/chart/plugin-manifest.json", "b/chart/plugin-manifest.json", "b/second/plugin-manifest.json"} {
			if !strings.Contains(p.Refusals[0].Reason, name) {
				t.Errorf("reason %q does not name %s", p.Refusals[0].Reason, name)
			}
		}
	}
	if refused != 3 {
		t.Errorf("got %d refused plugins, want 3", refused)
	}
}

func TestBrokenPluginTakesNoName(t *testing.T) {
	fsys := folder(sound)
	fsys["CsvChart/plugin-manifest.json"] = &fstest.MapFile{Data: []byte("{")}
	fsys["zz/plugin-manifest.json"] = &fstest.MapFile{Data: []byte(`{"name":"CsvChart"}`)}
	p, ok := load(t, Source{Name: "test", FS: fsys, Trusted: true}).Snapshot().Lookup("CsvChart")
	if !ok || p.State != Ready || p.Folder != "chart" {
		t.Fatalf("got %+v, want the sound plugin", p)
	}
}

func TestResolve(t *testing.T) {
	fsys := fstest.MapFS{}
	for folder, name := range map[string]string{"a": "Wan2.1", "b": "Wan2.1.Plot", "c": "Plain"} {
		fsys[folder+"/plugin-manifest.json"] = &fstest.MapFile{Data: []byte(
			`{"name":"` + name + `","pluginType":"synchronous","entryPoint":{"command":"x"}}`)}
	}
	snapshot := load(t, Source{Name: "test", FS: fsys, Trusted: true}).Snapshot()
	tests := []struct{ tool, plugin, command string }{
		{"Plain", "Plain", ""},
		{"Plain.A.B", "Plain", "A.B"},
		{"Wan2.1", "Wan2.1", ""},
		{"Wan2.1.Draw", "Wan2.1", "Draw"},
		{"Wan2.1.Plot", "Wan2.1.Plot", ""},
		{"Wan2.1.Plot.X", "Wan2.1.Plot", "X"},
		{"Wan2", "", ""},
		{"Plain.", "", ""},
		{"", "", ""},
		{".", "", ""},
	}
	for _, test := range tests {
		plugin, command, ok := snapshot.Resolve(test.tool)
		if !ok {
			plugin = &Plugin{}
		}
		if plugin.Name != test.plugin || command != test.command || ok != (test.plugin != "") {
			t.Errorf("Resolve(%q): got %q %q %v, want %q %q", test.tool, plugin.Name, command, ok, test.plugin, test.command)
		}
	}
}

func TestLegacyManifest(t *testing.T) {
	fsys := fstest.MapFS{"old/plugin-manifest.json": {Data: []byte("\xef\xbb\xbf" + `{
  "name": "OldOne", "pluginType": "asynchronous", "displayName": 7, "entryPoint": {"type": "executable", "command": "node x.js", "timeout": 3},
  "communication": {"protocol": "process_stdio"},
  "configSchema": {"A": "string", "B": {"type": "float", "default": "1.5"}, "C": "a sentence of words", "D": {"type": "boolean", "default": "False"}},
  "capabilities": {"invocationCommands": [{"command": "submit", "description": "d"}, {"description": "no name"}, {"commandIdentifier": "query", "command": "other"}]},
  "webSocketPush": {"enabled": true}, "features": ["x"]
}`)}}
	p := loadOne(t, fsys)
	if p.State != Ready {
		t.Fatalf("got %s %v, want ready", p.State, p.Refusals)
	}
	if len(p.Notices) == 0 {
		t.Error("got no notices, want some")
	}
	if got, want := p.Timeout(), 30*time.Minute; got != want {
		t.Errorf("timeout: got %v, want %v", got, want)
	}
	var names []string
	for _, c := range p.Manifest.Commands {
		names = append(names, c.Identifier)
	}
	if want := []string{"submit", "", "query"}; !slices.Equal(names, want) {
		t.Errorf("commands: got %q, want %q", names, want)
	}
	defaults := p.Manifest.ConfigDefaults()
	if string(defaults["B"]) != "1.5" || string(defaults["D"]) != "false" || len(defaults) != 2 {
		t.Errorf("defaults: got %s", defaults)
	}
}

func TestPlainExtismNeedsNoProtocol(t *testing.T) {
	p := loadOne(t, folder(`{"name":"Vowels","pluginType":"synchronous","entryPoint":{"type":"wasm","module":"chart.wasm","abi":"extism"},
"capabilities":{"invocationCommands":[{"commandIdentifier":"Count","export":"count_vowels"}]}}`))
	if p.State != Ready || p.Manifest.Commands[0].Export != "count_vowels" {
		t.Fatalf("got %s %v", p.State, p.Refusals)
	}
}

func TestDirSourceIsConfined(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"inside", "outside", "sibling"} {
		write("plugins/"+name+"/plugin-manifest.json", strings.Replace(sound, "CsvChart", name, 1))
		write("plugins/"+name+"/sample.csv", "close\n")
	}
	write("plugins/inside/real.wasm", "x")
	write("secret.wasm", "x")
	write("away/plugin-manifest.json", sound)
	links := map[string]string{
		"plugins/inside/chart.wasm":  "real.wasm",
		"plugins/outside/chart.wasm": "../../secret.wasm",
		"plugins/sibling/chart.wasm": "../inside/real.wasm",
		"plugins/linked":             "../away",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	source, err := DirSource(filepath.Join(dir, "plugins"), true)
	if err != nil {
		t.Fatal(err)
	}
	checkConfined(t, load(t, source).Snapshot(), dir)
	if _, err := DirSource(filepath.Join(dir, "nowhere"), false); err == nil {
		t.Error("DirSource of a missing directory: got no error")
	}
	if _, err := DirSource(filepath.Join(dir, "secret.wasm"), false); err == nil {
		t.Error("DirSource of a file: got no error")
	}
}

func checkConfined(t *testing.T, snapshot *Snapshot, dir string) {
	t.Helper()
	want := map[string]string{"inside": "", "outside": "/entryPoint/module", "sibling": "/entryPoint/module", "linked": ""}
	states := map[string]State{"inside": Ready, "outside": Refused, "sibling": Refused, "linked": Refused}
	for name, pointer := range want {
		p, ok := snapshot.Lookup(name)
		if !ok || p.State != states[name] {
			t.Errorf("%s: got %+v, want %s", name, p, states[name])
			continue
		}
		if p.State == Refused && (p.Refusals[0].Pointer != pointer || strings.Contains(p.Refusals[0].Reason, dir)) {
			t.Errorf("%s: got refusal %+v, want one at %q that tells no path", name, p.Refusals[0], pointer)
		}
	}
}

func TestReload(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, "chart", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("chart.wasm", "x")
	put("sample.csv", "close\n")
	put(ManifestFile, sound)
	source, err := DirSource(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	r := load(t, source)
	before, _ := r.Snapshot().Lookup("CsvChart")
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if same, _ := r.Snapshot().Lookup("CsvChart"); same != before {
		t.Error("an unchanged plugin did not keep its identity")
	}
	put("chart.wasm", "y")
	if err := r.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if changed, _ := r.Snapshot().Lookup("CsvChart"); changed == before || changed.State != Ready {
		t.Error("a changed module kept the plugin's identity")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Reload(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Reload with an ended context: got %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := r.Reload(t.Context()); err == nil {
		t.Error("Reload of a source that is gone: got no error")
	}
	if _, ok := r.Snapshot().Lookup("CsvChart"); !ok {
		t.Error("the old snapshot did not stay")
	}
}

func TestReloadWithReaders(t *testing.T) {
	r := load(t, Source{Name: "test", FS: folder(sound), Trusted: true})
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				plugin, command, ok := r.Snapshot().Resolve("CsvChart.plot")
				if !ok {
					t.Error("the plugin vanished")
					return
				}
				if _, _, err := plugin.Command([]byte(`{"data":{"$resource":"res_1"}}`), command); err != nil {
					t.Error(err)
					return
				}
				plugin.InputType("Plot", "data")
				_ = r.Snapshot().Plugins()
			}
		})
	}
	var reloads sync.WaitGroup
	for range 2 {
		reloads.Go(func() {
			for range 50 {
				if err := r.Reload(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	reloads.Wait()
	close(stop)
	group.Wait()
}
