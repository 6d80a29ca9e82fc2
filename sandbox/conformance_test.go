package sandbox_test

import (
	"context"
	"encoding/json"
	"testing"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/hosttest"
	"vcphost/host/registry"
	"vcphost/internal/guestbuild"
	"vcphost/sandbox"
)

func TestTheSandboxPassesTheSuite(t *testing.T) {
	const module = "conformance.wasm"
	binary := guestbuild.Module(t, "./testdata/guests/conformance")
	hosttest.Run(t, hosttest.Harness{
		EntryPoint:  json.RawMessage(`{"type":"wasm","module":"` + module + `","abi":"vcp"}`),
		Files:       map[string][]byte{module: binary},
		Kind:        sandboxKind(t, binary),
		EndsPlugins: true,
	})
}

// sandboxKind is the sandbox as a kind of transport, with the limits of the
// manifest.
func sandboxKind(t *testing.T, binary []byte) host.Kind {
	t.Helper()
	s, err := sandbox.New(context.Background(), &sandbox.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close the sandbox: %v", err)
		}
	})
	open := func(ctx context.Context, plugin *registry.Plugin) (host.Transport, error) {
		limits := plugin.Manifest.Sandbox
		opened, err := s.Open(ctx, sandbox.Module{Name: plugin.Name, Binary: binary, Limits: sandbox.Limits{
			MemoryMiB: int(limits.MemoryMiB), MaxInputBytes: limits.MaxInputBytes,
			MaxOutputBytes: limits.MaxOutputBytes, MaxLogBytes: int(limits.MaxLogBytes),
		}})
		if err != nil {
			return nil, err
		}
		return opened, nil
	}
	return host.Kind{Open: open, Trust: abi.TrustWASM}
}
