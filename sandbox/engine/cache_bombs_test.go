package engine

import (
	"bytes"
	"slices"

	"vcphost/sandbox/wasmbuild"
)

// A bomb is a valid module within the usual limits of size that is out of
// proportion for a compiler.
type bomb struct {
	name   string
	binary []byte
}

func bombs() []bomb {
	return []bomb{
		{"one function of a megabyte", straight(1 << 20)},
		{"one function of seven megabytes", straight(7 << 20)},
		{"fifty thousand functions", functions(50_000)},
		{"wide branch tables", tables(40, 50_000)},
		{"blocks in blocks", nested(20_000)},
		{"many locals that live across many blocks", phis(2_000, 4_000)},
	}
}

// straight is one function of about size bytes without a branch.
func straight(size int) []byte {
	m := &wasmbuild.Module{}
	m.Memory(1, 1)
	turn := slices.Concat(wasmbuild.LocalGet(0), wasmbuild.LocalGet(0), wasmbuild.I32Load8U(), wasmbuild.I32Add(), wasmbuild.LocalSet(0))
	m.Function(wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}, Results: []wasmbuild.ValueType{wasmbuild.I32}}, nil,
		bytes.Repeat(turn, size/len(turn)), wasmbuild.LocalGet(0))
	return m.Bytes()
}

// functions is n functions that call the one before.
func functions(n int) []byte {
	m := &wasmbuild.Module{}
	before := m.Function(wasmbuild.Signature{}, nil)
	for range n {
		before = m.Function(wasmbuild.Signature{}, nil, wasmbuild.Call(before), wasmbuild.Call(before))
	}
	return m.Bytes()
}

// tables is one function of n branch tables of width targets each.
func tables(n, width int) []byte {
	m := &wasmbuild.Module{}
	table := append([]byte{0x0e}, wasmbuild.U32(uint32(width))...)
	for i := range width + 1 {
		table = append(table, byte(i%2))
	}
	turn := slices.Concat([]byte{0x02, 0x40, 0x02, 0x40}, wasmbuild.LocalGet(0), table, []byte{0x0b, 0x0b})
	m.Function(wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}}, nil, bytes.Repeat(turn, n))
	return m.Bytes()
}

// nested is one function of blocks within one another, each of which may be left.
func nested(depth int) []byte {
	m := &wasmbuild.Module{}
	m.Function(wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}}, nil,
		bytes.Repeat([]byte{0x02, 0x40, 0x20, 0x00, 0x0d, 0x00}, depth), bytes.Repeat([]byte{0x0b}, depth))
	return m.Bytes()
}

// phis is one function whose locals change in loops one after the other.
func phis(locals, loops int) []byte {
	m := &wasmbuild.Module{}
	var code [][]byte
	for i := range loops {
		local := uint32(1 + i%locals)
		code = append(code, []byte{0x03, 0x40}, wasmbuild.LocalGet(local), wasmbuild.LocalGet(0), wasmbuild.I32Add(),
			wasmbuild.LocalSet(local), wasmbuild.LocalGet(local), []byte{0x0d, 0x00, 0x0b})
	}
	for i := range locals {
		code = append(code, wasmbuild.LocalGet(uint32(1+i)), wasmbuild.LocalSet(0))
	}
	m.Function(wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}},
		slices.Repeat([]wasmbuild.ValueType{wasmbuild.I32}, locals), slices.Concat(code...))
	return m.Bytes()
}
