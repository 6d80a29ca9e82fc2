//go:build wasip1 && !extism

package main

import "unsafe"

// buffers are what the host knows as numbers, kept from the collector: the
// input and the answer of a call.
var buffers struct{ input, answer []byte }

//go:wasmexport vcp_abi_1
func vcpABI1() {}

//go:wasmexport vcp_alloc
func vcpAlloc(size uint32) uint32 {
	buffers.input = make([]byte, max(size, 1))
	return address(buffers.input)
}

//go:wasmexport vcp_prepare
func vcpPrepare() {
	serve(nil, []byte(`{"arguments":{"a":1,"b":2}}`))
}

//go:wasmexport vcp_call
func vcpCall(_, n uint32) uint64 {
	buffers.answer = serve(make([]byte, 0, 128), buffers.input[:n])
	return uint64(address(buffers.answer))<<32 | uint64(len(buffers.answer))
}

func address(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
