package hostile

import (
	"bytes"
	"fmt"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

const cellAddress = 70_000 // behind everything that the guests place

// states are the guests that try to keep something from one call for the next.
func states() []Case {
	return []Case{
		{Name: "state-in-memory", About: "counts in memory: below its start size, after growing, and behind the end", parts: memoryStates},
		{Name: "state-in-globals", About: "counts in globals of each type", parts: one(globalStates)},
		{Name: "state-in-table", About: "keeps a reference in a table, or its size", parts: tableStates},
		{Name: "state-in-segments", About: "drops its data and element segments", parts: one(segmentState)},
		{Name: "state-after-failure", About: "writes over all of its memory, then traps", parts: one(stateAfterTrap)},
	}
}

// saysZero expects eight bytes of zeros: what the guest found where it leaves
// something in every call.
func saysZero(reply *abi.Reply) string {
	if !bytes.Equal(reply.Payload, make([]byte, 8)) {
		return fmt.Sprintf("a call found what another had left: %x", []byte(reply.Payload))
	}
	return ""
}

// finds is a part that answers the i32 which code leaves, and must find zero
// each time.
func finds(name string, extra func(*wasmbuild.Module), code ...[]byte) part {
	body := func(*wasmbuild.Module) [][]byte {
		store := append([][]byte{wasmbuild.I32Const(resultsAddress)}, code...)
		return append(store, wasmbuild.I64ExtendI32S(), wasmbuild.I64Store(), answerWith(resultsAddress, 8))
	}
	p := fails(wasmbuild.Guest{Body: body, Extra: extra, Locals: []wasmbuild.ValueType{wasmbuild.I32}}, sandbox.Limits{}, answer)
	p.name, p.reply = name, saysZero
	return p
}

// leave reads an address into local 2, and writes to it; the value read is left.
func leave(address int32) []byte {
	return bytes.Join([][]byte{
		wasmbuild.I32Const(address), wasmbuild.I32Load(), wasmbuild.LocalSet(2),
		wasmbuild.I32Const(address), wasmbuild.I32Const(-1), wasmbuild.I32Store(), wasmbuild.LocalGet(2),
	}, nil)
}

func memoryStates() []part {
	const grown, behind = 500 * pageBytes, 700 * pageBytes
	virtual := finds("behind the end", nil, leave(behind))
	virtual.calls = []string{answer, outOfBounds}
	return []part{
		finds("below", nil, leave(cellAddress)),
		finds("after growing", nil, growTo(600), leave(grown)),
		finds("size", nil, wasmbuild.I32Const(1), wasmbuild.MemoryGrow(), wasmbuild.I32Const(2), wasmbuild.Op(opI32Sub)),
		virtual,
	}
}

func globalStates() part {
	i32, i64, f64, v128 := wasmbuild.I32, wasmbuild.I64, wasmbuild.F64, wasmbuild.V128
	f64Zero, v128Zero := append([]byte{0x44}, make([]byte, 8)...), append([]byte{0xfd, 12}, make([]byte, 16)...)
	p := fails(wasmbuild.Guest{Body: func(m *wasmbuild.Module) [][]byte {
		a, b := m.GlobalOf(i32, wasmbuild.I32Const(0)), m.GlobalOf(i64, wasmbuild.I64Const(0))
		c, d := m.GlobalOf(f64, f64Zero), m.GlobalOf(v128, v128Zero)
		return [][]byte{
			wasmbuild.I32Const(resultsAddress),
			wasmbuild.GlobalGet(a), wasmbuild.GlobalGet(b), wasmbuild.Op(0xa7), wasmbuild.I32Add(), // i32.wrap_i64
			wasmbuild.GlobalGet(c), wasmbuild.Op(0xbd, 0xa7), wasmbuild.I32Add(), // i64.reinterpret_f64
			wasmbuild.GlobalGet(d), {0xfd, 0x53}, wasmbuild.I32Add(), // v128.any_true
			wasmbuild.I64ExtendI32S(), wasmbuild.I64Store(),
			wasmbuild.I32Const(1), wasmbuild.GlobalSet(a), wasmbuild.I64Const(1), wasmbuild.GlobalSet(b),
			wasmbuild.I64Const(1), wasmbuild.Op(0xbf), wasmbuild.GlobalSet(c), // f64.reinterpret_i64
			wasmbuild.I32Const(1), {0xfd, 17}, wasmbuild.GlobalSet(d), // i32x4.splat
			answerWith(resultsAddress, 8),
		}
	}}, sandbox.Limits{}, answer)
	p.reply = saysZero
	return p
}

func tableStates() []part {
	size := []byte{0xfc, 16, 0} // table.size
	isNull := wasmbuild.Op(0xd1)
	get := []byte{0x25, 0}
	kept := finds("reference", func(m *wasmbuild.Module) {
		f := m.Function(wasmbuild.Signature{}, nil)
		m.Table(2, 10)
		m.Elements(1, f)
	}, wasmbuild.I32Const(0), get, isNull, wasmbuild.I32Eqz(), // 1 once there is a reference
		wasmbuild.I32Const(0), wasmbuild.I32Const(1), get, wasmbuild.TableSet())
	grown := finds("size", func(m *wasmbuild.Module) { m.Table(2, 10) },
		size, wasmbuild.I32Const(2), wasmbuild.Op(opI32Sub), wasmbuild.RefNull(), wasmbuild.I32Const(1), wasmbuild.TableGrow(), wasmbuild.Drop())
	return []part{kept, grown}
}

// segmentState uses its segments and drops them, which in the next call would
// trap if they stayed so.
func segmentState() part {
	return finds("", func(m *wasmbuild.Module) {
		m.Table(2, 2)
		m.PassiveElements(m.Function(wasmbuild.Signature{}, nil))
		m.PassiveData([]byte{0, 0, 0, 0}) // segment 1, behind the payload's
	},
		wasmbuild.I32Const(cellAddress), wasmbuild.I32Const(0), wasmbuild.I32Const(4), wasmbuild.MemoryInit(1), wasmbuild.DataDrop(1),
		wasmbuild.I32Const(0), wasmbuild.I32Const(0), wasmbuild.I32Const(1), []byte{0xfc, 12, 0, 0}, []byte{0xfc, 13, 0}, // table.init, elem.drop
		wasmbuild.I32Const(cellAddress), wasmbuild.I32Load())
}

// stateAfterTrap fills its memory, the answer of the good call too, and traps.
func stateAfterTrap() part {
	return fails(wasmbuild.Guest{Body: body(
		wasmbuild.I32Const(0), wasmbuild.I32Const(0xee), wasmbuild.I32Const(guestBytes), wasmbuild.MemoryFill(),
		wasmbuild.Unreachable())}, sandbox.Limits{}, unreachable)
}
