//go:build wasip1

package main

import (
	"fmt"
	"io"
	"unsafe"
)

// buffers are what the host knows as numbers only, kept from the collector.
var buffers = map[uint32][]byte{}

//go:wasmexport vcp_abi_1
func vcpABI1() {}

//go:wasmexport vcp_alloc
func vcpAlloc(size uint32) uint32 { return hold(make([]byte, max(size, 1))) }

//go:wasmexport vcp_call
func vcpCall(p, n uint32) uint64 {
	payload := answer(buffers[p][:n])
	return uint64(hold(payload))<<32 | uint64(len(payload))
}

func hold(b []byte) uint32 {
	p := uint32(uintptr(address(b)))
	buffers[p] = b
	return p
}

//go:wasmimport vcp resource_create
func resourceCreate(p unsafe.Pointer, n uint32) int32

//go:wasmimport vcp resource_write
func resourceWrite(handle int32, p unsafe.Pointer, n uint32) int32

//go:wasmimport vcp resource_close
func resourceClose(handle int32) int32

//go:wasmimport vcp resource_open
func resourceOpen(p unsafe.Pointer, n uint32) int32

//go:wasmimport vcp resource_size
func resourceSize(handle int32) int64

//go:wasmimport vcp resource_read
func resourceRead(handle int32, p unsafe.Pointer, capacity uint32) int32

//go:wasmimport vcp progress
func progress(p unsafe.Pointer, n uint32) int32

//go:wasmimport vcp cancelled
func cancelled() int32

func address(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
func length(b []byte) uint32          { return uint32(len(b)) }

func report(stage string, fraction float64, message string) {
	event := marshal(map[string]any{"stage": stage, "progress": fraction, "message": message})
	check(progress(address(event), length(event)))
}

// writer is the handle of an output, reader that of an input.
type (
	writer int32
	reader int32
)

func create(draft map[string]string) writer {
	for name, value := range draft {
		if value == "" {
			delete(draft, name)
		}
	}
	raw := marshal(draft)
	return writer(check(resourceCreate(address(raw), length(raw))))
}

func open(id string) reader {
	return reader(check(resourceOpen(address([]byte(id)), length([]byte(id)))))
}

func (w writer) Write(p []byte) (int, error) {
	return int(check(resourceWrite(int32(w), address(p), length(p)))), nil
}

func (r reader) Read(p []byte) (int, error) {
	n := check(resourceRead(int32(r), address(p), length(p)))
	if n == 0 {
		return 0, io.EOF
	}
	return int(n), nil
}

// onlyReader and onlyWriter keep io.Copy to the buffer that it is given.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)

// check ends the call with a trap where the host answers an error number that a
// well-behaved call does not get.
func check(n int32) int32 {
	if n < 0 {
		panic(fmt.Sprintf("the host answered error number %d", n))
	}
	return n
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
