package main

import (
	"slices"

	wb "vcphost/sandbox/wasmbuild"
)

func binaryOperation() wb.Signature { return wb.Signature{Params: i32s(2), Results: i32s(1)} }

// sum is a + b.
func sum(m *wb.Module) uint32 {
	return m.Function(binaryOperation(), nil, wb.LocalGet(0), wb.LocalGet(1), wb.I32Add())
}

// importOpen imports what opens an input, as the module's first function.
func importOpen(m *wb.Module) { m.ImportFunction("vcp", "resource_open", binaryOperation()) }

// gatedSum opens an input, whatever comes of it, and is a + b.
func gatedSum(m *wb.Module) uint32 {
	return m.Function(binaryOperation(), nil,
		wb.I32Const(0), wb.I32Const(1), wb.Call(0), wb.Drop(),
		wb.LocalGet(0), wb.LocalGet(1), wb.I32Add())
}

// tightLoop takes a turns of a few instructions each, from b on.
func tightLoop(m *wb.Module) uint32 { return turns(m, 1) }

// fatSteps is how often the body of the tight loop is repeated in a turn of the
// fat one: 10,000 times make some 100 KB of straight-line code.
const fatSteps = 10_000

// fatLoop takes a turns of one long piece of straight-line code.
func fatLoop(m *wb.Module) uint32 { return turns(m, fatSteps) }

func turns(m *wb.Module, steps int) uint32 {
	const n, value = 0, 1
	step := slices.Concat(wb.LocalGet(value), wb.I32Const(31), i32Mul(), wb.LocalGet(n), i32Xor(), wb.LocalSet(value))
	return m.Function(binaryOperation(), nil,
		loop(wb.LocalGet(n), wb.If(slices.Repeat(step, steps), add(n, -1), again(1))),
		wb.LocalGet(value))
}

func turnsInGo(a, b uint32, steps int) uint32 {
	for ; a > 0; a-- {
		for range steps {
			b = b*31 ^ a
		}
	}
	return b
}

// recursion is the Fibonacci number of a, by its definition, and b.
func recursion(m *wb.Module) uint32 {
	self := m.Function(wb.Signature{}, nil) + 1 // the empty function before it tells its index
	return m.Function(binaryOperation(), nil,
		wb.LocalGet(0), wb.I32Const(2), i32LtU(), wb.If(wb.LocalGet(0), wb.LocalGet(1), wb.I32Add(), leave()),
		wb.LocalGet(0), wb.I32Const(1), i32Sub(), wb.LocalGet(1), wb.Call(self),
		wb.LocalGet(0), wb.I32Const(2), i32Sub(), wb.I32Const(0), wb.Call(self),
		wb.I32Add())
}

func recursionInGo(a, b uint32) uint32 {
	if a < 2 {
		return a + b
	}
	return recursionInGo(a-1, b) + recursionInGo(a-2, 0)
}
