package wasmbin_test

import (
	"fmt"

	"vcphost/sandbox/wasmbin"
	"vcphost/sandbox/wasmbuild"
)

// A module that grows its memory, as its host compiles it and begins it.
func ExampleRewrite() {
	m := &wasmbuild.Module{}
	m.Memory(1, 0)
	m.Data(16, []byte("hello"))
	m.Start(m.Function(wasmbuild.Signature{}, nil, wasmbuild.I32Const(1), wasmbuild.MemoryGrow(), wasmbuild.Drop()))

	plan, err := wasmbin.Rewrite(m.Bytes(), wasmbin.RewriteOptions{
		VirtualMemory: true, Limits: wasmbin.Limits{MemoryPages: 1024},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", plan.Memory)
	fmt.Printf("write %q at %d, then call %s\n", plan.Data[0].Bytes, plan.Data[0].Offset, plan.Start)
	fmt.Println("restore the memory and", plan.Globals)
	fmt.Println("unrestorable:", plan.Unrestorable)
	// Output:
	// {Exists:true Initial:1 Compiled:1024 Virtual:true}
	// write "hello" at 16, then call vcp_internal.start
	// restore the memory and [{vcp_internal.fuel 126} {vcp_internal.memory_size 127} {vcp_internal.memory_refused 126}]
	// unrestorable: []
}
