package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

// A module is opened once and called as often as needed; a call that fails
// leaves the plugin usable.
func ExampleSandbox_Open() {
	ctx := context.Background()
	s, err := sandbox.New(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(ctx)

	// The bytes of a .wasm file; here a guest that was assembled in Go.
	module := wasmbuild.Guest{Payload: []byte(`{"status":"success","data":"hello"}`)}.Bytes()
	plugin, err := s.Open(ctx, sandbox.Module{Name: "Hello", Binary: module, Limits: sandbox.Limits{MemoryMiB: 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer plugin.Close(ctx)

	reply, err := plugin.Invoke(ctx, &abi.Invocation{Command: "Say", Arguments: json.RawMessage(`{"to":"you"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(reply.Payload))

	// What cannot be a plugin is refused when it is opened, by name.
	_, err = s.Open(ctx, sandbox.Module{Name: "Odd", Binary: wasmbuild.Guest{Without: "vcp_call"}.Bytes()})
	fmt.Println(err)
	// Output:
	// {"status":"success","data":"hello"}
	// TOOL_DISABLED: the module does not export the function "vcp_call", which binding vcp needs
}

// What a guest does wrong becomes an error with a stable code.
func ExamplePlugin_Invoke() {
	ctx := context.Background()
	s, err := sandbox.New(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(ctx)
	traps := wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte { return [][]byte{wasmbuild.Unreachable()} }}
	plugin, err := s.Open(ctx, sandbox.Module{Name: "Traps", Binary: traps.Bytes()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer plugin.Close(ctx)
	_, err = plugin.Invoke(ctx, &abi.Invocation{})
	fmt.Println(err)
	// Output:
	// SANDBOX.TRAP: the plugin failed: unreachable
}
