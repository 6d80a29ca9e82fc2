package registry

import (
	"context"
	"errors"
	"testing"

	"vcphost/host/validate"
)

// FuzzManifest: whatever the file holds, the plugin is there, in one of the four
// states, and refused exactly where there is a reason.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte(`{"name":"X","pluginType":"synchronous","entryPoint":{"command":"x"},"compatibility":{"nodeVersion":"^1 || >2"}}`))
	f.Add([]byte(`{"name":"X","pluginType":"static","entryPoint":{"type":"wasm","module":"chart.wasm","abi":"extism"},"capabilities":{"invocationCommands":[{"inputSchema":{"$ref":"#"}}]}}`))
	f.Add([]byte("\xef\xbb\xbf{}"))
	f.Add([]byte(`[`))
	compiler, err := validate.NewCompiler()
	if err != nil {
		f.Fatal(err)
	}
	l := &loader{compiler: compiler, vcpVersion: DefaultVCPVersion, runtimeVersion: func(context.Context, string) (string, error) {
		return "", errors.New("there is none")
	}}
	f.Fuzz(func(t *testing.T, manifest []byte) {
		p := l.folder(t.Context(), &Source{Name: "test", FS: folder(string(manifest)), Trusted: true}, "chart")
		if p == nil {
			t.Fatal("the plugin is not visible")
		}
		checkInvariants(t, p)
	})
}

func checkInvariants(t *testing.T, p *Plugin) {
	t.Helper()
	if (p.State == Refused) != (len(p.Refusals) > 0) {
		t.Fatalf("state %s with refusals %v", p.State, p.Refusals)
	}
	for _, refusal := range p.Refusals {
		if refusal.File == "" || refusal.Reason == "" || !validPointer(refusal.Pointer) {
			t.Fatalf("refusal %+v", refusal)
		}
	}
	if p.State == Refused {
		return
	}
	if p.State != Ready || p.Manifest == nil || p.Digest == "" {
		t.Fatalf("state %s, manifest %v, digest %q", p.State, p.Manifest, p.Digest)
	}
	_, _, _ = p.Command([]byte(`{"command":"x"}`), "")
	p.InputType("", "x")
	p.Timeout()
}
