package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/hosttest"
	"vcphost/host/registry"
)

// plugin is a plugin "Test" with the command "Do", made of what a test cares
// about.
type plugin struct {
	manifest string // further members of the manifest, each as `,"name":value`
	sandbox  string // the manifest's sandbox object; "" means an empty one
	command  string // further members of the command, each as `,"name":value`
	output   string // the output schema; "" means true
	invoke   invoke
	open     func(ctx context.Context, p *registry.Plugin) (host.Transport, error) // instead of invoke
	entry    string                                                                // entryPoint.type; "" means native
}

// invoke is a transport in one function.
type invoke func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error)

// Invoke calls the function.
func (f invoke) Invoke(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
	return f(ctx, inv)
}

// Close has nothing to end.
func (f invoke) Close(context.Context) error { return nil }

func (p plugin) folder() fstest.MapFS {
	output, box, entry := p.output, p.sandbox, p.entry
	if output == "" {
		output = "true"
	}
	if box == "" {
		box = "{}"
	}
	if entry == "" {
		entry = "native"
	}
	manifest := fmt.Sprintf(`{"manifestVersion":"1.0.0","name":"Test","displayName":"A test","version":"2.1.0",
"pluginType":"synchronous","entryPoint":{"type":%q,"command":"none","script":"main.py"},
"communication":{"timeout":20000},"toolResultProtocol":{"name":"vcp.tool-result","version":"1.0"},"sandbox":%s%s,
"capabilities":{"invocationCommands":[{"commandIdentifier":"Do","inputSchema":{"type":"object","properties":{
"command":{"const":"Do"},"n":{"type":"integer"},"must":{"type":"string"},"input":{"$ref":"vcp:resource"}},
"required":["must"],"additionalProperties":false},"outputSchema":%s%s}]}}`, entry, box, p.manifest, output, p.command)
	return fstest.MapFS{
		"test/plugin-manifest.json": {Data: []byte(manifest)},
		"test/main.py":              {Data: []byte("pass")},
	}
}

func (p plugin) setup() hosttest.Setup {
	open := p.open
	if open == nil {
		open = func(context.Context, *registry.Plugin) (host.Transport, error) { return p.invoke, nil }
	}
	return hosttest.Setup{
		Sources: []registry.Source{{Name: "tests", FS: p.folder(), Trusted: true}},
		Kinds:   map[string]host.Kind{"native": {Open: open, Trust: abi.TrustProcess}},
	}
}

func (p plugin) bench(t testing.TB) *hosttest.Bench {
	t.Helper()
	b := hosttest.NewBench(t, p.setup())
	for _, loaded := range b.Registry.Snapshot().Plugins() {
		if loaded.State != registry.Ready {
			t.Fatalf("the plugin is %s: %v", loaded.State, loaded.Refusals)
		}
	}
	return b
}

// run makes one call that passes the input schema.
func (p plugin) run(t testing.TB) (*abi.Result, *hosttest.Bench) {
	t.Helper()
	b := p.bench(t)
	return b.Execute(context.Background(), t, b.Call("Test", `{"must":""}`)), b
}

// answers is a plugin that writes the drafts, each with some bytes of its own,
// and returns the payload.
func answers(payload string, drafts ...abi.ResourceDraft) invoke {
	return func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
		for _, draft := range drafts {
			sink, err := inv.Resources.Create(ctx, draft)
			if err != nil {
				return nil, err
			}
			if _, err := io.WriteString(sink, "the bytes of "+draft.ID); err != nil {
				return nil, err
			}
			if err := sink.Close(); err != nil {
				return nil, err
			}
		}
		return &abi.Reply{Payload: json.RawMessage(payload)}, nil
	}
}

// wantError checks status and code, and that nothing of the host's inside is
// shown.
func wantError(t testing.TB, result *abi.Result, status abi.Status, code string) *abi.Error {
	t.Helper()
	if result.Status != status || result.Error == nil || result.Error.Code != code {
		t.Fatalf("got status %s with error %v, want %s with %s", result.Status, result.Error, status, code)
	}
	if text := result.Error.Message + string(result.Error.Details); strings.Contains(text, ".go:") || strings.Contains(text, "goroutine") || strings.Contains(text, "secret") {
		t.Errorf("the error shows the host's inside: %s", text)
	}
	return result.Error
}

func wantSuccess(t testing.TB, result *abi.Result) {
	t.Helper()
	if result.Status != abi.StatusSuccess {
		t.Fatalf("got status %s with error %v, want success", result.Status, result.Error)
	}
}

// warned lists the targets of the warnings of a code.
func warned(result *abi.Result, code string) []string {
	var targets []string
	for _, warning := range result.Warnings {
		if warning.Code == code {
			targets = append(targets, warning.Target)
		}
	}
	return targets
}

func member(t testing.TB, raw json.RawMessage, name string) string {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatalf("read %s: %v", raw, err)
	}
	return string(object[name])
}
