package hostile

import (
	"bytes"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

// megabyte is how much straight-line code a fat function has.
const megabyte = 1 << 20

// loops are the guests that use processor time.
func loops() []Case {
	return []Case{
		{Name: "endless-loop", About: "a loop of one branch", parts: one(func() part {
			return endless(wasmbuild.Guest{Body: body(wasmbuild.Loop(), noAnswer())}, sandbox.Limits{})
		})},
		{Name: "two-loops", About: "two endless loops at once, beside the neighbour", parallel: 2, parts: one(func() part {
			return endless(wasmbuild.Guest{Body: body(wasmbuild.Loop(), noAnswer())}, sandbox.Limits{})
		})},
		{Name: "eight-loops", About: "eight endless loops at once, whose calls end at once, beside the neighbour", parallel: 8, parts: one(func() part {
			return endless(wasmbuild.Guest{Body: body(wasmbuild.Loop(), noAnswer())}, sandbox.Limits{})
		})},
		{Name: "fuel-budget", About: "an endless loop whose calls have a budget of fuel", parts: one(func() part {
			return fails(wasmbuild.Guest{Body: body(wasmbuild.Loop(), noAnswer())}, sandbox.Limits{Fuel: 1_000_000}, abi.CodeSandboxFuelExhausted+"/fuel")
		})},
		{Name: "fat-loop", About: "an endless loop whose turn is a megabyte of straight-line code", parts: one(func() part {
			fat := bytes.Repeat(addOne(), megabyte/len(addOne()))
			return endless(wasmbuild.Guest{Body: body(wasmbuild.Loop(fat), noAnswer())}, sandbox.Limits{})
		}), peak: 1 << 30},
		{Name: "fat-straight-line", About: "a megabyte of divisions without a loop, which must run", parts: one(fatStraightLine), peak: 1 << 30},
		{Name: "recursion-2-40", About: "each function calls the next one twice, forty deep: no loop anywhere", parts: one(func() part {
			return endless(wasmbuild.Guest{Body: func(m *wasmbuild.Module) [][]byte {
				return [][]byte{wasmbuild.Call(doubling(m, 40)), noAnswer()}
			}}, sandbox.Limits{})
		})},
		{Name: "recursion-through-table", About: "a recursion of the same size through an indirect call", parts: one(throughTable)},
		{Name: "deep-recursion", About: "a function that calls itself for ever", parts: func() []part {
			return []part{deepRecursion(0), deepRecursion(500)}
		}, peak: 1 << 30},
		{Name: "simd-loop", About: "an endless loop of vector instructions", parts: one(func() part {
			shuffle := [][]byte{wasmbuild.LocalGet(2), wasmbuild.LocalGet(2), {0xfd, 0xd5, 0x01}, wasmbuild.LocalSet(2)} // i64x2.mul
			return endless(wasmbuild.Guest{Locals: []wasmbuild.ValueType{wasmbuild.V128}, Body: func(*wasmbuild.Module) [][]byte {
				turn := bytes.Repeat(bytes.Join(shuffle, nil), 1000)
				return [][]byte{wasmbuild.Loop(turn), noAnswer()}
			}}, sandbox.Limits{})
		})},
		{Name: "host-call-loop", About: "an endless loop of host calls, the clock and whether it is cancelled", parts: one(func() part {
			return endless(wasmbuild.Guest{
				Imports: func(m *wasmbuild.Module) {
					m.ImportFunction("vcp", "now", wasmbuild.Signature{Results: []wasmbuild.ValueType{wasmbuild.I64}})
					m.ImportFunction("vcp", "cancelled", wasmbuild.Signature{Results: []wasmbuild.ValueType{wasmbuild.I32}})
				},
				Body: body(wasmbuild.Loop(wasmbuild.Call(0), wasmbuild.Drop(), wasmbuild.Call(1), wasmbuild.Drop()), noAnswer()),
			}, sandbox.Limits{})
		})},
		{Name: "loop-in-alloc", About: "the allocation of the input never ends", parts: one(loopInAlloc)},
	}
}

// addOne adds one to a parameter.
func addOne() []byte {
	return bytes.Join([][]byte{wasmbuild.LocalGet(0), wasmbuild.I32Const(1), wasmbuild.I32Add(), wasmbuild.LocalSet(0)}, nil)
}

// divide divides local 2, an i64, by three.
func divide() []byte {
	return bytes.Join([][]byte{wasmbuild.LocalGet(2), wasmbuild.I64Const(3), wasmbuild.Op(0x7f), wasmbuild.LocalSet(2)}, nil)
}

func fatStraightLine() part {
	fat := bytes.Repeat(divide(), megabyte/len(divide()))
	return fails(wasmbuild.Guest{
		Locals: []wasmbuild.ValueType{wasmbuild.I64},
		Body:   body(fat, answerWith(wasmbuild.PayloadAddress, uint32(len(goodPayload)))),
	}, sandbox.Limits{}, answer)
}

// doubling adds functions each of which calls the one before it twice, and
// returns the last: 2^depth calls.
func doubling(m *wasmbuild.Module, depth int) uint32 {
	last := m.Function(wasmbuild.Signature{}, nil, wasmbuild.Op(opNop))
	for range depth {
		last = m.Function(wasmbuild.Signature{}, nil, wasmbuild.Call(last), wasmbuild.Call(last))
	}
	return last
}

func throughTable() part {
	i32 := wasmbuild.I32
	return endless(wasmbuild.Guest{Body: func(m *wasmbuild.Module) [][]byte {
		s := wasmbuild.Signature{Params: []wasmbuild.ValueType{i32}}
		index := m.Type(s)
		below := [][]byte{wasmbuild.LocalGet(0), wasmbuild.I32Const(1), wasmbuild.Op(opI32Sub), wasmbuild.I32Const(0), wasmbuild.CallTable(index)}
		both := bytes.Join(append(below, below...), nil)
		self := m.Function(s, nil, wasmbuild.LocalGet(0), wasmbuild.If(both))
		m.Table(1, 1)
		m.Elements(0, self)
		return [][]byte{wasmbuild.I32Const(40), wasmbuild.Call(self), noAnswer()}
	}}, sandbox.Limits{})
}

// deepRecursion calls itself for ever, with some parameters to make frames wide.
func deepRecursion(params int) part {
	p := fails(wasmbuild.Guest{Body: func(m *wasmbuild.Module) [][]byte {
		s := wasmbuild.Signature{Params: make([]wasmbuild.ValueType, params)}
		var pass, begin []byte
		for i := range s.Params {
			s.Params[i] = wasmbuild.I64
			pass = append(pass, wasmbuild.LocalGet(uint32(i))...)
			begin = append(begin, wasmbuild.I64Const(0)...)
		}
		self := m.Function(s, nil) // its index is what its body needs
		m.SetBody(self, pass, wasmbuild.Call(self), wasmbuild.Op(opNop))
		return [][]byte{begin, wasmbuild.Call(self), noAnswer()}
	}}, sandbox.Limits{}, abi.CodeSandboxStackOverflow+"/stack overflow")
	if params > 0 {
		p.name = "wide frames"
	}
	return p
}

func loopInAlloc() part {
	i32 := wasmbuild.I32
	module := wasmbuild.Guest{Without: "vcp_alloc", Extra: func(m *wasmbuild.Module) {
		s := wasmbuild.Signature{Params: []wasmbuild.ValueType{i32}, Results: []wasmbuild.ValueType{i32}}
		m.ExportFunction("vcp_alloc", m.Function(s, nil, wasmbuild.Loop(), wasmbuild.I32Const(0)))
	}}.Bytes()
	return part{module: module, endless: true}
}
