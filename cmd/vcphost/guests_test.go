package main

import (
	"slices"
	"strings"

	w "vcphost/sandbox/wasmbuild"
)

// Addresses of guests, beside those of package wasmbuild.
const (
	draftAddress = 8192
	lineAddress  = 16384
	twoPages     = 2 << 16
	filledPages  = 4 // of a guest that writes much
)

// vcpFunction is the type of one host function: all parameters are i32, and
// spans are those that begin a (pointer, length) pair.
type vcpFunction struct {
	name    string
	params  int
	results []w.ValueType
	spans   []int
}

// vcpFunctions is guest ABI 1, once more, so that the tests notice a change.
func vcpFunctions() []vcpFunction {
	i32, i64 := []w.ValueType{w.I32}, []w.ValueType{w.I64}
	return []vcpFunction{
		{"resource_create", 2, i32, []int{0}}, {"resource_write", 3, i32, []int{1}}, {"resource_close", 1, i32, nil},
		{"resource_open", 2, i32, []int{0}}, {"resource_size", 1, i64, nil}, {"resource_read", 3, i32, []int{1}},
		{"progress", 2, i32, []int{0}}, {"cancelled", 0, i32, nil}, {"log", 3, nil, []int{1}},
		{"random", 2, i32, []int{0}}, {"now", 0, i64, nil}, {"config_get", 4, i32, []int{0, 2}},
		{"kv_get", 4, i32, []int{0, 2}}, {"kv_set", 4, i32, []int{0, 2}}, {"kv_delete", 2, i32, []int{0}},
		{"http_request", 4, i32, []int{0, 2}}, {"http_status", 1, i32, nil}, {"http_header", 5, i32, []int{1, 3}},
		{"http_read", 3, i32, []int{1}}, {"http_close", 1, i32, nil}, {"call_tool", 2, i32, []int{0}},
	}
}

// importVCP imports every host function, in the order of vcpFunctions, and is
// the Imports of a guest.
func importVCP(m *w.Module) {
	for _, f := range vcpFunctions() {
		m.ImportFunction("vcp", f.name, w.Signature{Params: slices.Repeat([]w.ValueType{w.I32}, f.params), Results: f.results})
	}
}

// vcp calls a host function by name with constants.
func vcp(name string, args ...int32) []byte {
	var code [][]byte
	for _, arg := range args {
		code = append(code, w.I32Const(arg))
	}
	return slices.Concat(append(code, vcpIndex(name))...)
}

// vcpIndex calls a host function whose arguments are on the stack.
func vcpIndex(name string) []byte {
	index := slices.IndexFunc(vcpFunctions(), func(f vcpFunction) bool { return f.name == name })
	return w.Call(uint32(index))
}

// answers is a guest that returns a payload.
func answers(payload string) []byte { return w.Guest{Payload: []byte(payload)}.Bytes() }

// runs is a guest that runs code before it answers; data lies at its addresses.
func runs(payload string, data map[uint32]string, code ...[]byte) []byte {
	return w.Guest{
		Payload: []byte(payload), Imports: importVCP, Pages: filledPages,
		Body: func(*w.Module) [][]byte {
			return append(slices.Clone(code), w.I64Const(w.Packed(w.PayloadAddress, uint32(len(payload)))))
		},
		Extra: func(m *w.Module) { place(m, data) },
	}.Bytes()
}

func place(m *w.Module, data map[uint32]string) {
	for address, text := range data {
		m.Data(address, []byte(text))
	}
}

// instead is a guest whose vcp_call is that code.
func instead(code ...[]byte) []byte {
	return w.Guest{Body: func(*w.Module) [][]byte { return code }}.Bytes()
}

// writes is a guest that begins one resource, writes pages of 64 KiB of it, or
// a few bytes if pages is 0, ignoring what the host answers, and goes on.
func writes(payload, draft string, pages int, then ...[]byte) []byte {
	code := [][]byte{vcp("resource_create", draftAddress, int32(len(draft))), w.Drop()}
	if pages == 0 {
		code = append(code, vcp("resource_write", 1, draftAddress, 5), w.Drop())
	}
	for range pages {
		code = append(code, vcp("resource_write", 1, 1<<16, 1<<16), w.Drop())
	}
	return runs(payload, map[uint32]string{draftAddress: draft}, append(code, then...)...)
}

// closes ends the resource with that handle.
func closes(handle int32) []byte { return slices.Concat(vcp("resource_close", handle), w.Drop()) }

// reports tells progress, so that a parent process knows where the guest is.
func reports(event string) []byte {
	return slices.Concat(vcp("progress", lineAddress, int32(len(event))), w.Drop())
}

// echo answers with its own invocation as data: the payload's head lies right
// before the place where the host writes the invocation.
func echo() []byte {
	const head = `{"status":"success","data":`
	return w.Guest{
		Body: func(*w.Module) [][]byte {
			return [][]byte{
				w.LocalGet(0), w.LocalGet(1), w.I32Add(), w.I32Const('}'), w.I32Store8(),
				w.I64Const(w.Packed(w.InputAddress-uint32(len(head)), uint32(len(head))+1)),
				w.LocalGet(1), w.I64ExtendI32S(), {0x7c}, // i64.add
			}
		},
		Extra: func(m *w.Module) { m.Data(w.InputAddress-uint32(len(head)), []byte(head)) },
	}.Bytes()
}

// twins writes two resources of one file name that asks for another directory.
func twins() []byte {
	first, second := `{"id":"a","fileName":"../../same.txt"}`, `{"id":"b","fileName":"SAME.txt"}`
	return runs(`{"status":"success","data":[{"$resource":"a"},{"$resource":"b"}]}`,
		map[uint32]string{draftAddress: first, lineAddress: second},
		vcp("resource_create", draftAddress, int32(len(first))), w.Drop(),
		vcp("resource_create", lineAddress, int32(len(second))), w.Drop(),
		vcp("resource_write", 1, draftAddress, 6), w.Drop(), vcp("resource_write", 2, lineAddress, 9), w.Drop(),
		closes(1), closes(2))
}

// wild passes pointers and lengths that leave its memory to every host function
// that takes any, and traps if one of them is taken for good.
func wild() []byte {
	var code [][]byte
	for _, f := range vcpFunctions() {
		for _, pair := range [][2]int32{
			{-1, -1}, {-1, 1}, {1024, -1}, {1 << 30, 1 << 30}, {-1 << 31, -1 << 31},
			{1<<31 - 1, 1<<31 - 1}, {filledPages<<16 - 1, 2}, {filledPages << 16, 1}, {0, filledPages<<16 + 1},
		} {
			if len(f.spans) == 0 {
				continue
			}
			args := slices.Repeat([]int32{1}, f.params)
			for _, span := range f.spans {
				args[span], args[span+1] = pair[0], pair[1]
			}
			code = append(code, vcp(f.name, args...))
			if len(f.results) > 0 {
				code = append(code, w.I32Const(0), []byte{0x4e}, w.If(w.Unreachable())) // i32.ge_s
			}
		}
	}
	return runs(`{"status":"success","data":null}`, nil, code...)
}

// recursion is a function that calls itself; the first function of a guest
// without imports has index 0.
func recursion() []byte {
	return w.Guest{Body: func(m *w.Module) [][]byte {
		return [][]byte{w.Call(m.Function(w.Signature{}, nil, w.Call(0))), w.I64Const(0)}
	}}.Bytes()
}

// tree is a recursion without loops that ends after 2^depth calls, having told
// that it began: an engine that looks at loops only does not interrupt it.
func tree(depth int32) []byte {
	event := `{"stage":"began"}`
	return w.Guest{
		Imports: importVCP,
		Body: func(m *w.Module) [][]byte {
			self := uint32(len(vcpFunctions()))
			again := slices.Concat(w.LocalGet(0), w.I32Const(-1), w.I32Add(), w.Call(self))
			return [][]byte{
				reports(event), w.I32Const(depth),
				w.Call(m.Function(w.Signature{Params: []w.ValueType{w.I32}}, nil, w.LocalGet(0), w.If(again, again))),
				w.I64Const(0),
			}
		},
		Extra: func(m *w.Module) { m.Data(lineAddress, []byte(event)) },
	}.Bytes()
}

// began is a guest that tells so and then runs code.
func began(code ...[]byte) []byte {
	event := `{"stage":"began"}`
	return runs(`{"status":"success","data":null}`, map[uint32]string{lineAddress: event},
		append([][]byte{reports(event)}, code...)...)
}

// asks waits for cancelled() to say so and then answers as if nothing were.
func asks() []byte {
	return began([]byte{0x03, 0x40}, vcp("cancelled"), w.I32Eqz(), []byte{0x0d, 0x00, 0x0b}) // loop, br_if 0, end
}

// exits calls proc_exit.
func exits(code int32) []byte {
	return w.Guest{
		Imports: func(m *w.Module) {
			m.ImportFunction("wasi_snapshot_preview1", "proc_exit", w.Signature{Params: []w.ValueType{w.I32}})
		},
		Body: func(*w.Module) [][]byte { return [][]byte{w.I32Const(code), w.Call(0), w.I64Const(0)} },
	}.Bytes()
}

// imports is a guest that imports one function more.
func imports(module, name string) []byte {
	return w.Guest{Imports: func(m *w.Module) { m.ImportFunction(module, name, w.Signature{}) }}.Bytes()
}

// grows asks for memory until it gets none and then traps.
func grows() []byte {
	return instead(w.I32Const(4096), w.MemoryGrow(), w.Drop(), w.Unreachable())
}

// manifest is the manifest of a plugin with one command, Run; edits are pairs of
// a text in it and what to put there.
func manifest(name string, edits ...string) string {
	text := strings.ReplaceAll(`{
  "manifestVersion": "1.0.0",
  "name": "NAME",
  "version": "1.0.0",
  "description": "A plugin of a test.",
  "pluginType": "synchronous",
  "entryPoint": { "type": "wasm", "module": "module.wasm", "abi": "vcp" },
  "communication": { "protocol": "wasm", "timeout": 20000 },
  "toolResultProtocol": { "name": "vcp.tool-result", "version": "1.0" },
  "sandbox": { "memoryMiB": 4 },
  "capabilities": { "invocationCommands": [ {
    "commandIdentifier": "Run",
    "description": "Does what the test needs.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "command": { "const": "Run" },
        "text": { "type": "string" },
        "count": { "type": "integer" },
        "ratio": { "type": "number" },
        "flag": { "type": "boolean" },
        "list": { "type": "array" },
        "any": {},
        "either": { "type": ["integer", "string"] },
        "file": { "$ref": "vcp:resource" }
      },
      "additionalProperties": false
    },
    "outputSchema": true,
    "example": "vcphost call NAME"
  } ] }
}
`, "NAME", name)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			panic("the manifest does not hold " + edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	return text
}
