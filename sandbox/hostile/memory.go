package hostile

import (
	"bytes"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

const (
	gibibyte  = 1 << 30
	pageBytes = 64 << 10
	gibPages  = gibibyte / pageBytes

	outOfBounds = abi.CodeSandboxTrap + "/out of bounds memory access"
	unreachable = abi.CodeSandboxTrap + "/unreachable"
)

// memories are the guests that use memory.
func memories() []Case {
	gib := sandbox.Limits{MemoryMiB: 1024}
	return []Case{
		{Name: "memory-bomb", About: "grows its memory page by page and writes to each, for ever", parts: memoryBombs},
		{Name: "memory-fill-1gib", About: "fills 1 GiB with one instruction, again and again", peak: 1280 << 20, parts: one(func() part {
			return endless(wasmbuild.Guest{Body: body(growTo(gibPages),
				wasmbuild.Loop(wasmbuild.I32Const(0), wasmbuild.I32Const(0xaa), wasmbuild.I32Const(gibibyte), wasmbuild.MemoryFill()), noAnswer())}, gib)
		})},
		{Name: "memory-copy-1gib", About: "moves 1 GiB over itself, forwards and backwards", peak: 1280 << 20, parts: one(func() part {
			move := func(to, from int32) []byte {
				return bytes.Join([][]byte{wasmbuild.I32Const(to), wasmbuild.I32Const(from), wasmbuild.I32Const(gibibyte - 1), wasmbuild.MemoryCopy()}, nil)
			}
			return endless(wasmbuild.Guest{Body: body(growTo(gibPages), wasmbuild.Loop(move(1, 0), move(0, 1)), noAnswer())}, gib)
		})},
		{Name: "touch-every-page", About: "reads and writes a byte of every page of 1 GiB, for ever", peak: 1280 << 20, parts: one(func() part {
			const address = 2
			return endless(wasmbuild.Guest{Locals: []wasmbuild.ValueType{wasmbuild.I32}, Body: body(growTo(gibPages), wasmbuild.Loop(
				wasmbuild.LocalGet(address), wasmbuild.LocalGet(address), wasmbuild.I32Load8U(), wasmbuild.I32Const(1), wasmbuild.I32Add(), wasmbuild.I32Store8(),
				wasmbuild.LocalGet(address), wasmbuild.I32Const(4096), wasmbuild.I32Add(),
				wasmbuild.I32Const(gibibyte-1), wasmbuild.Op(0x71), wasmbuild.LocalSet(address)), noAnswer())}, gib) // i32.and
		})},
		{Name: "huge-grow-steps", About: "asks for 4 GiB and more at once, which must be refused to it and leave it running", parts: one(hugeGrow)},
		{Name: "memory-4gib-at-start", About: "declares 4 GiB of memory", parts: one(func() part {
			return refused(wasmbuild.Guest{Pages: 65_536}.Bytes(), limit("memoryMiB")...)
		})},
		{Name: "outside-memory", About: "writes behind the end of any memory that it could have", parts: one(func() part {
			return fails(wasmbuild.Guest{Body: body(wasmbuild.I32Const(-1), wasmbuild.I32Const(1), wasmbuild.I32Store8(), noAnswer())},
				sandbox.Limits{}, outOfBounds)
		})},
	}
}

// growTo grows the memory to a number of pages, or traps.
func growTo(pages int32) []byte {
	return bytes.Join([][]byte{
		wasmbuild.I32Const(pages - 2), wasmbuild.MemoryGrow(),
		wasmbuild.I32Const(-1), wasmbuild.Op(opI32Eq), wasmbuild.If(wasmbuild.Unreachable()),
	}, nil)
}

// memoryBombs grow by a page and write to it, for ever; one goes on when it is
// refused, the other fails then.
func memoryBombs() []part {
	const old = 2
	bomb := func(refused []byte) wasmbuild.Guest {
		return wasmbuild.Guest{Locals: []wasmbuild.ValueType{wasmbuild.I32}, Body: body(wasmbuild.Loop(
			wasmbuild.I32Const(1), wasmbuild.MemoryGrow(), wasmbuild.LocalSet(old),
			wasmbuild.LocalGet(old), wasmbuild.I32Const(-1), wasmbuild.Op(opI32Eq),
			wasmbuild.IfElse(refused, bytes.Join([][]byte{
				wasmbuild.LocalGet(old), wasmbuild.I32Const(16), wasmbuild.Op(0x74), // i32.shl
				wasmbuild.I32Const(1), wasmbuild.I32Store8(),
			}, nil))), noAnswer())}
	}
	goesOn := endless(bomb(wasmbuild.Op(opNop)), sandbox.Limits{})
	failing := fails(bomb(wasmbuild.Unreachable()), sandbox.Limits{}, abi.CodeSandboxMemoryLimit+"/memoryMiB")
	failing.name = "fails when refused"
	return []part{goesOn, failing}
}

func hugeGrow() part {
	var code [][]byte
	for _, pages := range []int32{65_535, 65_536, 1<<31 - 1, -1 << 31, -1} {
		code = append(code, wasmbuild.I32Const(pages), wasmbuild.MemoryGrow(),
			wasmbuild.I32Const(-1), wasmbuild.Op(0x47), wasmbuild.If(wasmbuild.Unreachable())) // i32.ne
	}
	code = append(code, wasmbuild.MemorySize(), wasmbuild.I32Const(2), wasmbuild.Op(0x47), wasmbuild.If(wasmbuild.Unreachable()),
		answerWith(wasmbuild.PayloadAddress, uint32(len(goodPayload))))
	return fails(wasmbuild.Guest{Body: body(code...)}, sandbox.Limits{}, answer)
}
