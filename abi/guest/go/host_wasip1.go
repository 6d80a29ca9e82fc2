//go:build wasip1

package guest

import (
	"runtime"
	"unsafe"
)

//go:wasmimport vcp resource_create
func vcpResourceCreate(p unsafe.Pointer, n uint32) int32

//go:wasmimport vcp resource_write
func vcpResourceWrite(handle int32, p unsafe.Pointer, n uint32) int32

//go:wasmimport vcp resource_close
func vcpResourceClose(handle int32) int32

//go:wasmimport vcp resource_open
func vcpResourceOpen(p unsafe.Pointer, n uint32) int32

//go:wasmimport vcp resource_size
func vcpResourceSize(handle int32) int64

//go:wasmimport vcp resource_read
func vcpResourceRead(handle int32, p unsafe.Pointer, capacity uint32) int32

//go:wasmimport vcp progress
func vcpProgress(p unsafe.Pointer, n uint32) int32

//go:wasmimport vcp cancelled
func vcpCancelled() int32

//go:wasmimport vcp log
func vcpLog(level int32, p unsafe.Pointer, n uint32)

//go:wasmimport vcp config_get
func vcpConfigGet(key unsafe.Pointer, keyLen uint32, p unsafe.Pointer, capacity uint32) int32

//go:wasmimport vcp kv_get
func vcpKVGet(key unsafe.Pointer, keyLen uint32, p unsafe.Pointer, capacity uint32) int32

//go:wasmimport vcp kv_set
func vcpKVSet(key unsafe.Pointer, keyLen uint32, p unsafe.Pointer, n uint32) int32

//go:wasmimport vcp kv_delete
func vcpKVDelete(key unsafe.Pointer, keyLen uint32) int32

// module is this instance as the exports see it: there can be one a module,
// and exported functions take no receiver.
var module struct {
	plugin *Plugin
	held   map[uint32][]byte // buffers that the host knows as numbers only
}

// Export makes the commands the plugin of this module. The last one counts.
func Export(commands ...Command) *Plugin {
	module.plugin = &Plugin{commands: commands}
	return module.plugin
}

//go:wasmexport vcp_abi_1
func vcpABI1() {}

//go:wasmexport vcp_alloc
func vcpAlloc(size uint32) uint32 { return hold(make([]byte, max(size, 1))) }

//go:wasmexport vcp_prepare
func vcpPrepare() {
	warm()
	runtime.GC() // the snapshot holds no garbage, and the next cycle is far off
}

//go:wasmexport vcp_call
func vcpCall(p, n uint32) uint64 {
	invocation := module.held[p]
	if uint32(len(invocation)) < n {
		panic("vcp_call: the buffer is not one that vcp_alloc gave")
	}
	clear(module.held)
	plugin := module.plugin
	if plugin == nil {
		plugin = &Plugin{}
	}
	out := plugin.serve(importedHost(), invocation[:n])
	return uint64(hold(out))<<32 | uint64(len(out))
}

func hold(b []byte) uint32 {
	if module.held == nil {
		module.held = map[uint32][]byte{}
	}
	p := uint32(uintptr(pointer(b)))
	module.held[p] = b
	return p
}

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func size(b []byte) uint32 { return uint32(len(b)) }

func importedHost() *host {
	return &host{
		resourceCreate: func(draft []byte) int32 { return vcpResourceCreate(pointer(draft), size(draft)) },
		resourceWrite:  func(h int32, p []byte) int32 { return vcpResourceWrite(h, pointer(p), size(p)) },
		resourceClose:  vcpResourceClose,
		resourceOpen:   func(id []byte) int32 { return vcpResourceOpen(pointer(id), size(id)) },
		resourceSize:   vcpResourceSize,
		resourceRead:   func(h int32, p []byte) int32 { return vcpResourceRead(h, pointer(p), size(p)) },
		progress:       func(event []byte) int32 { return vcpProgress(pointer(event), size(event)) },
		cancelled:      vcpCancelled,
		log:            func(level int32, line []byte) { vcpLog(level, pointer(line), size(line)) },
		configGet: func(key, buf []byte) int32 {
			return vcpConfigGet(pointer(key), size(key), pointer(buf), size(buf))
		},
		kvGet: func(key, buf []byte) int32 {
			return vcpKVGet(pointer(key), size(key), pointer(buf), size(buf))
		},
		kvSet: func(key, value []byte) int32 {
			return vcpKVSet(pointer(key), size(key), pointer(value), size(value))
		},
		kvDelete: func(key []byte) int32 { return vcpKVDelete(pointer(key), size(key)) },
	}
}
