package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing/fstest"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/record"
	"vcphost/host/registry"
	"vcphost/internal/kv"
	"vcphost/resources"
)

// greeter is a transport whose plugin is a Go function.
type greeter struct{}

func (greeter) Invoke(_ context.Context, inv *abi.Invocation) (*abi.Reply, error) {
	var args struct{ Name string }
	if err := json.Unmarshal(inv.Arguments, &args); err != nil {
		return nil, err
	}
	payload, err := json.Marshal(abi.Payload{
		Status: abi.StatusSuccess,
		Data:   json.RawMessage(fmt.Sprintf(`{"greeting":%q}`, "Hello, "+args.Name+"!")),
	})
	return &abi.Reply{Payload: payload}, err
}

func (greeter) Close(context.Context) error { return nil }

const greeterManifest = `{
  "manifestVersion": "1.0.0", "name": "Greeter", "version": "1.0.0", "pluginType": "synchronous",
  "entryPoint": {"type": "native", "command": "greeter"},
  "toolResultProtocol": {"name": "vcp.tool-result", "version": "1.0"},
  "capabilities": {"invocationCommands": [{
    "commandIdentifier": "Greet",
    "inputSchema": {"type": "object", "properties": {
      "command": {"const": "Greet"}, "name": {"type": "string", "minLength": 1}
    }, "required": ["name"], "additionalProperties": false},
    "outputSchema": {"type": "object", "required": ["greeting"]}
  }]}
}`

// A host is put together from its parts; every call then gives a result,
// whatever happens.
func ExampleHost_Execute() {
	ctx := context.Background()
	db := kv.NewMemory() // kv.OpenBadger in a program
	defer db.Close()
	store, err := resources.Open(db, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := record.New(db, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	plugins, err := registry.New([]registry.Source{{
		Name: "example", Trusted: true,
		FS: fstest.MapFS{"greeter/plugin-manifest.json": {Data: []byte(greeterManifest)}},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	open := func(context.Context, *registry.Plugin) (host.Transport, error) { return greeter{}, nil }
	h, err := host.New(host.Options{
		Registry: plugins, Resources: store, Recorder: results,
		Kinds: map[string]host.Kind{"native": {Open: open, Trust: abi.TrustBuiltin}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)

	for _, arguments := range []string{`{"name":"Ada"}`, `{}`, `{"name":7}`} {
		result := h.Execute(ctx, &abi.Call{
			Tool: "Greeter.Greet", Arguments: json.RawMessage(arguments),
			Context: abi.CallContext{Owner: abi.Owner{Tenant: "default", Actor: "ada"}, Source: abi.FromCLI},
		})
		if result.Error != nil {
			fmt.Println(result.Status, result.Error.Code, result.Error.Target)
			continue
		}
		fmt.Println(result.Status, string(result.Data))
	}
	// Output:
	// success {"greeting":"Hello, Ada!"}
	// error MISSING_ARGUMENT name
	// error INVALID_ARGUMENT name
}
