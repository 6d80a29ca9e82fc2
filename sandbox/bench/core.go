package main

import (
	"encoding/binary"
	"slices"

	wb "vcphost/sandbox/wasmbuild"
)

// layout is where a core guest keeps what it writes to. What a compiler would
// keep on its stack, in its data and on its heap lies on pages of their own in
// the larger guest, so that a call of it leaves three written pages behind.
type layout struct {
	pages                        uint32 // of 64 KiB
	calls, stack, output, arenas int32
}

func onePage() layout {
	return layout{pages: 1, calls: 1024, stack: 2048, output: 2048, arenas: 32 << 10}
}

// fourPages is the size of a C program with a stack of 64 KiB and a small heap.
func fourPages() layout {
	return layout{pages: 4, calls: 1 << 16, stack: 60 << 10, output: 1<<16 + 256, arenas: 2 << 16}
}

// operation adds a function (a, b) -> i32 to a module and returns its index.
type operation func(m *wb.Module) uint32

// coreGuest assembles the job for binding vcp: find "a" and "b" in the
// invocation, answer operation(a, b) and the number of calls that this instance
// has served. Imports come before all functions.
func coreGuest(at layout, op operation, imports ...func(m *wb.Module)) []byte {
	m := &wb.Module{}
	for _, f := range imports {
		f(m)
	}
	answer := addJob(m, at, op)
	arena := m.Global(at.arenas)
	m.ExportFunction("vcp_abi_1", m.Function(wb.Signature{}, nil))
	m.ExportFunction("vcp_alloc", m.Function(wb.Signature{Params: i32s(1), Results: i32s(1)}, nil,
		wb.GlobalGet(arena),
		wb.GlobalGet(arena), wb.LocalGet(0), wb.I32Add(), wb.I32Const(15), wb.I32Add(), wb.I32Const(-16), i32And(), wb.GlobalSet(arena)))
	m.ExportFunction("vcp_call", m.Function(wb.Signature{Params: i32s(2), Results: i64s(1)}, nil,
		wb.I32Const(at.arenas), wb.GlobalSet(arena), // the arena is free once the call is over
		wb.I32Const(at.output), extendU(), wb.I64Const(32), i64Shl(),
		wb.LocalGet(0), wb.Call(answer), extendU(), i64Or()))
	return m.Bytes()
}

// extismGuest assembles the same job for the Extism kernel, which is read and
// written in words of eight bytes as Extism's own libraries do.
func extismGuest(at layout, op operation) []byte {
	m := &wb.Module{}
	imported := func(name string, params, results []wb.ValueType) uint32 {
		return m.ImportFunction("extism:host/env", name, wb.Signature{Params: params, Results: results})
	}
	inputLength := imported("input_length", nil, i64s(1))
	inputByte := imported("input_load_u8", i64s(1), i32s(1))
	inputWord := imported("input_load_u64", i64s(1), i64s(1))
	alloc := imported("alloc", i64s(1), i64s(1))
	storeByte := imported("store_u8", []wb.ValueType{wb.I64, wb.I32}, nil)
	storeWord := imported("store_u64", i64s(2), nil)
	outputSet := imported("output_set", i64s(2), nil)
	answer := addJob(m, at, op)
	const n, i, out = 0, 1, 2
	read := func(load uint32, width int32, store []byte) []byte {
		return loop(wb.LocalGet(i), wb.I32Const(width-1), wb.I32Add(), wb.LocalGet(n), i32LtU(), wb.If(
			wb.LocalGet(i), wb.I32Const(at.arenas), wb.I32Add(), wb.LocalGet(i), extendU(), wb.Call(load), store,
			add(i, width), again(1)))
	}
	write := func(load []byte, width int32, store uint32) []byte {
		return loop(wb.LocalGet(i), wb.I32Const(width-1), wb.I32Add(), wb.LocalGet(n), i32LtU(), wb.If(
			wb.LocalGet(out), wb.LocalGet(i), wb.I32Add(), extendU(),
			wb.LocalGet(i), wb.I32Const(at.output), wb.I32Add(), load, wb.Call(store),
			add(i, width), again(1)))
	}
	m.ExportFunction("add", m.Function(wb.Signature{Results: i32s(1)}, i32s(3),
		wb.Call(inputLength), i32WrapI64(), wb.LocalSet(n),
		read(inputWord, 8, i64Store()), read(inputByte, 1, wb.I32Store8()),
		wb.I32Const(at.arenas), wb.Call(answer), tee(n), extendU(), wb.Call(alloc), i32WrapI64(), wb.LocalSet(out),
		wb.I32Const(0), wb.LocalSet(i),
		write(i64Load(), 8, storeWord), write(wb.I32Load8U(), 1, storeByte),
		wb.LocalGet(out), extendU(), wb.LocalGet(n), extendU(), wb.Call(outputSet),
		wb.I32Const(0)))
	return m.Bytes()
}

// addJob adds memory and the job itself: a function that takes the address of
// the invocation, writes the payload to the output and returns its length.
func addJob(m *wb.Module, at layout, op operation) (answer uint32) {
	m.Memory(at.pages, at.pages)
	m.ExportMemory("memory")
	texts := placeTexts(m, `{"status":"success","data":{"sum":`, `,"calls":`, "}}")
	find, number, duplicate := addFind(m), addNumber(m), addCopy(m)
	decimal, run := addDecimal(m, at, duplicate), op(m)
	const input, out = 0, 1
	argument := func(key string) []byte {
		return slices.Concat(wb.LocalGet(input), wb.I32Const(int32(binary.LittleEndian.Uint32([]byte(key)))), wb.Call(find), wb.Call(number))
	}
	text := func(t text) []byte {
		return slices.Concat(wb.LocalGet(out), wb.I32Const(t.address), wb.I32Const(t.size), wb.Call(duplicate), wb.LocalSet(out))
	}
	return m.Function(wb.Signature{Params: i32s(1), Results: i32s(1)}, i32s(1),
		wb.I32Const(at.output), wb.LocalSet(out),
		text(texts[0]),
		argument(`"a":`), argument(`"b":`), wb.Call(run), wb.LocalGet(out), wb.Call(decimal), wb.LocalSet(out),
		text(texts[1]),
		wb.I32Const(at.calls), wb.I32Const(at.calls), i32Load(), wb.I32Const(1), wb.I32Add(), i32Store(),
		wb.I32Const(at.calls), i32Load(), wb.LocalGet(out), wb.Call(decimal), wb.LocalSet(out),
		text(texts[2]),
		wb.LocalGet(out), wb.I32Const(at.output), i32Sub())
}

// text is a constant in a guest's memory.
type text struct{ address, size int32 }

func placeTexts(m *wb.Module, list ...string) []text {
	var placed []text
	next := int32(16)
	for _, s := range list {
		m.Data(uint32(next), []byte(s))
		placed = append(placed, text{next, int32(len(s))})
		next += int32(len(s))
	}
	return placed
}

// addFind adds (address, four bytes) -> the address behind the first place where
// they stand. It traps where they stand nowhere.
func addFind(m *wb.Module) uint32 {
	const p, key = 0, 1
	return m.Function(wb.Signature{Params: i32s(2), Results: i32s(1)}, nil,
		loop(wb.LocalGet(p), i32Load(), wb.LocalGet(key), i32Ne(), wb.If(add(p, 1), again(1))),
		wb.LocalGet(p), wb.I32Const(4), wb.I32Add())
}

// addNumber adds (address) -> the decimal number that stands there.
func addNumber(m *wb.Module) uint32 {
	const p, value, digit = 0, 1, 2
	return m.Function(wb.Signature{Params: i32s(1), Results: i32s(1)}, i32s(2),
		loop(wb.LocalGet(p), wb.I32Load8U(), wb.I32Const('0'), i32Sub(), tee(digit), wb.I32Const(10), i32LtU(), wb.If(
			wb.LocalGet(value), wb.I32Const(10), i32Mul(), wb.LocalGet(digit), wb.I32Add(), wb.LocalSet(value),
			add(p, 1), again(1))),
		wb.LocalGet(value))
}

// addCopy adds (to, from, length) -> the address behind the copy.
func addCopy(m *wb.Module) uint32 {
	const to, from, n = 0, 1, 2
	return m.Function(wb.Signature{Params: i32s(3), Results: i32s(1)}, nil,
		loop(wb.LocalGet(n), wb.If(
			wb.LocalGet(to), wb.LocalGet(from), wb.I32Load8U(), wb.I32Store8(),
			add(to, 1), add(from, 1), add(n, -1), again(1))),
		wb.LocalGet(to))
}

// addDecimal adds (value, to) -> the address behind its digits. They are made
// from the last to the first, below the stack's end.
func addDecimal(m *wb.Module, at layout, duplicate uint32) uint32 {
	const value, to, p = 0, 1, 2
	return m.Function(wb.Signature{Params: i32s(2), Results: i32s(1)}, i32s(1),
		wb.I32Const(at.stack), wb.LocalSet(p),
		loop(add(p, -1),
			wb.LocalGet(p), wb.LocalGet(value), wb.I32Const(10), i32RemU(), wb.I32Const('0'), wb.I32Add(), wb.I32Store8(),
			wb.LocalGet(value), wb.I32Const(10), i32DivU(), tee(value), wb.If(again(1))),
		wb.LocalGet(to), wb.LocalGet(p), wb.I32Const(at.stack), wb.LocalGet(p), i32Sub(), wb.Call(duplicate))
}
