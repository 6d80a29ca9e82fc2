package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"vcphost/internal/guestbuild"
)

// instance is a guest in a runtime whose host functions are those of a Fake.
type instance struct {
	module api.Module
	host   *fakeHost
	stderr bytes.Buffer
}

func instantiate(t *testing.T, wasm []byte, fake *Fake) *instance {
	t.Helper()
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(1024))
	t.Cleanup(func() { _ = runtime.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, runtime)
	in := &instance{host: &fakeHost{fake: fake}}
	if err := exportFake(ctx, runtime, in.host); err != nil {
		t.Fatalf("export host functions: %v", err)
	}
	config := wazero.NewModuleConfig().WithStartFunctions("_initialize").WithStderr(&in.stderr)
	module, err := runtime.InstantiateWithConfig(ctx, wasm, config)
	if err != nil {
		t.Fatalf("instantiate: %v", err)
	}
	in.module = module
	return in
}

// exportFake links the host functions of the binding to a fakeHost.
func exportFake(ctx context.Context, runtime wazero.Runtime, f *fakeHost) error {
	b := runtime.NewHostModuleBuilder("vcp")
	export := func(name string, fn any) { b.NewFunctionBuilder().WithFunc(fn).Export(name) }
	at := func(m api.Module, p, n uint32) []byte {
		view, ok := m.Memory().Read(p, n)
		if !ok {
			panic("pointer outside memory")
		}
		return view
	}
	export("resource_create", func(_ context.Context, m api.Module, p, n uint32) int32 { return f.resourceCreate(at(m, p, n)) })
	export("resource_write", func(_ context.Context, m api.Module, h int32, p, n uint32) int32 {
		return f.resourceWrite(h, at(m, p, n))
	})
	export("resource_close", f.resourceClose)
	export("resource_open", func(_ context.Context, m api.Module, p, n uint32) int32 { return f.resourceOpen(at(m, p, n)) })
	export("resource_size", f.resourceSize)
	export("resource_read", func(_ context.Context, m api.Module, h int32, p, n uint32) int32 {
		return f.resourceRead(h, at(m, p, n))
	})
	export("progress", func(_ context.Context, m api.Module, p, n uint32) int32 { return f.progress(at(m, p, n)) })
	export("cancelled", f.cancelled)
	export("log", func(_ context.Context, m api.Module, level int32, p, n uint32) {
		f.lines = append(f.lines, Line{Level(level), string(at(m, p, n))})
	})
	export("config_get", func(_ context.Context, m api.Module, kp, kn, p, n uint32) int32 {
		return f.configGet(at(m, kp, kn), at(m, p, n))
	})
	export("kv_get", func(_ context.Context, m api.Module, kp, kn, p, n uint32) int32 {
		return f.kvGet(at(m, kp, kn), at(m, p, n))
	})
	export("kv_set", func(_ context.Context, m api.Module, kp, kn, p, n uint32) int32 {
		return f.kvSet(at(m, kp, kn), at(m, p, n))
	})
	export("kv_delete", func(_ context.Context, m api.Module, kp, kn uint32) int32 { return f.kvDelete(at(m, kp, kn)) })
	_, err := b.Instantiate(ctx)
	return err
}

// call does what a host does: allocate, write, call, read.
func (in *instance) call(invocation string) ([]byte, error) {
	ctx, memory := context.Background(), in.module.Memory()
	p, err := in.module.ExportedFunction("vcp_alloc").Call(ctx, uint64(len(invocation)))
	if err != nil {
		return nil, err
	}
	memory.Write(uint32(p[0]), []byte(invocation))
	packed, err := in.module.ExportedFunction("vcp_call").Call(ctx, p[0], uint64(len(invocation)))
	if err != nil {
		return nil, err
	}
	out, _ := memory.Read(uint32(packed[0]>>32), uint32(packed[0]))
	return slices.Clone(out), nil
}

func TestModule(t *testing.T) {
	wasm := guestbuild.Module(t, "./testdata/everything")
	content := strings.Repeat("0123456789", 30_000)
	fake := &Fake{
		Config: map[string]string{"KEY": strings.Repeat("é", 2000)},
		Inputs: map[string]Input{"res_1": {Content: []byte(content)}},
	}
	in := instantiate(t, wasm, fake)

	if _, err := in.module.ExportedFunction("vcp_prepare").Call(context.Background()); err != nil {
		t.Fatalf("vcp_prepare: %v", err)
	}
	if in.host.handles != nil || in.host.events != nil || in.host.lines != nil || fake.KV != nil {
		t.Error("vcp_prepare reached the host")
	}
	for range 3 {
		checkEverything(t, in, content)
	}
	t.Run("unknown command", func(t *testing.T) {
		raw, err := in.call(`{"command":"Other","arguments":{}}`)
		if err != nil || !strings.Contains(string(raw), `"code":"UNKNOWN_COMMAND"`) {
			t.Errorf("got %s, %v", raw, err)
		}
	})
	t.Run("panic", func(t *testing.T) {
		raw, err := in.call(`{"command":"Panic"}`)
		if err == nil || !strings.Contains(in.stderr.String(), "on purpose") {
			t.Errorf("got %s, stderr %q, want a trap and a trace", raw, in.stderr.String())
		}
	})
}

func checkEverything(t *testing.T, in *instance, content string) {
	t.Helper()
	in.host.handles, in.host.events, in.host.lines = nil, nil, nil
	raw, err := in.call(`{"command":"Everything","arguments":{"command":"Everything","data":{"$resource":"res_1"}},"later":[1]}`)
	if err != nil {
		t.Fatalf("call: %v\n%s", err, in.stderr.String())
	}
	r, err := in.host.recording(raw)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(r.Data, &got); err != nil || r.Status != "success" {
		t.Fatalf("got %s, %v", raw, err)
	}
	if got["read"] != 300000.0 || got["size"] != 300000.0 || got["stored"] != 5000.0 || len(got["config"].(string)) != 4000 {
		t.Errorf("got %s", r.Data)
	}
	if len(r.Resources) != 1 || string(r.Resources[0].Content) != content || r.Resources[0].FileName != "copy.txt" {
		t.Errorf("got %d resources", len(r.Resources))
	}
	if want := (Event{Stage: "copy", Progress: 0.5, Message: "half <way>"}); len(r.Progress) != 1 || r.Progress[0] != want {
		t.Errorf("got progress %+v", r.Progress)
	}
	if want := (Line{Warn, "reading res_1"}); len(r.Logs) != 1 || r.Logs[0] != want {
		t.Errorf("got log %+v", r.Logs)
	}
}

// TestModuleImportsAndExports holds the module against the binding: the exports
// of ABI 1, and no import but those of the binding and of WASI.
func TestModuleImportsAndExports(t *testing.T) {
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer func() { _ = runtime.Close(ctx) }()
	compiled, err := runtime.CompileModule(ctx, guestbuild.Module(t, "vcphost/examples/schedule"))
	if err != nil {
		t.Fatal(err)
	}
	for _, imported := range compiled.ImportedFunctions() {
		if module, name, _ := imported.Import(); module != "vcp" && module != "wasi_snapshot_preview1" {
			t.Errorf("imports %s.%s", module, name)
		}
	}
	for _, name := range []string{"_initialize", "vcp_abi_1", "vcp_alloc", "vcp_call", "vcp_prepare"} {
		if compiled.ExportedFunctions()[name] == nil {
			t.Errorf("does not export %s", name)
		}
	}
	if compiled.ExportedMemories()["memory"] == nil {
		t.Error("does not export memory")
	}
}
