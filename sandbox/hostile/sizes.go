package hostile

import (
	"bytes"
	"slices"
	"strings"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

// tenThousand of something is within the limits, and must run.
const tenThousand = 10_000

// sizes are the modules that are large, or claim to be.
func sizes() []Case {
	return []Case{
		{Name: "ten-thousand-globals", About: "ten thousand mutable globals, each changed in each call", parts: one(manyGlobals), peak: 1 << 30},
		{Name: "ten-thousand-segments", About: "ten thousand data segments", parts: one(func() part {
			return runs(func(m *wasmbuild.Module) {
				for i := range uint32(tenThousand) {
					m.Data(40_000+2*i, []byte{1})
				}
			})
		})},
		{Name: "ten-thousand-functions", About: "ten thousand functions", peak: 1 << 30, parts: one(func() part {
			return runs(func(m *wasmbuild.Module) {
				for range tenThousand {
					m.Function(wasmbuild.Signature{}, nil, wasmbuild.Op(opNop))
				}
			})
		})},
		{Name: "over-the-limits", About: "more of everything than a module may have", parts: overLimits},
		{Name: "false-claims", About: "a few bytes that claim four billion entries, and modules that break off", parts: falseClaims},
		{Name: "compile-bomb", About: "a function of seven megabytes, which takes gigabytes to compile", parts: one(compileBomb), once: true},
		{Name: "deep-nesting", About: "blocks nested ten thousand deep, and a hundred thousand", peak: 1 << 30, parts: func() []part {
			deep := runs(func(m *wasmbuild.Module) { m.Function(wasmbuild.Signature{}, nil, nested(tenThousand)) })
			deep.name = "ten thousand"
			return []part{deep, {name: "a hundred thousand", opens: limit("nesting"),
				module: with(func(m *wasmbuild.Module) { m.Function(wasmbuild.Signature{}, nil, nested(100_000)) })}}
		}},
		{Name: "giant-br-table", About: "an endless loop over a branch of ten thousand targets", peak: 1 << 30, parts: one(func() part {
			targets := make([]uint32, tenThousand)
			return endless(wasmbuild.Guest{Body: body(
				wasmbuild.Loop(wasmbuild.Block(wasmbuild.I32Const(7), wasmbuild.BrTable(targets...))), noAnswer())}, sandbox.Limits{})
		})},
		{Name: "unsupported-features", About: "threads, memories of 64 bits, and components", parts: unsupported},
		{Name: "reserved-names", About: "exports and imports that are the host's own", parts: reservedNames},
		{Name: "hostile-names", About: "function names that steer terminals, or have a megabyte", parts: hostileNames},
	}
}

// with is a good guest with something added.
func with(extra func(*wasmbuild.Module)) []byte {
	return switched(wasmbuild.Guest{
		Extra: extra, Body: body(answerWith(wasmbuild.PayloadAddress, uint32(len(goodPayload)))),
	}).Bytes()
}

// runs is a part that must open and answer.
func runs(extra func(*wasmbuild.Module)) part {
	return part{module: with(extra), calls: []string{answer}, good: true}
}

// limit is the refusal over one of the limits.
func limit(names ...string) []string {
	var set []string
	for _, name := range names {
		set = append(set, abi.CodeToolDisabled+"/limit "+name)
	}
	return set
}

func nested(depth int) []byte {
	return slices.Concat(bytes.Repeat([]byte{0x02, 0x40}, depth), bytes.Repeat([]byte{0x0b}, depth))
}

// manyGlobals adds one to each of its globals and fails if it finds one that is
// not as it was at the start.
func manyGlobals() part {
	return fails(wasmbuild.Guest{Body: func(m *wasmbuild.Module) [][]byte {
		code := [][]byte{wasmbuild.I32Const(0)}
		for range tenThousand {
			g := m.Global(0)
			code = append(code, wasmbuild.GlobalGet(g), wasmbuild.Op(0x72), wasmbuild.I32Const(1), wasmbuild.GlobalSet(g)) // i32.or
		}
		return append(code, wasmbuild.If(wasmbuild.Unreachable()), answerWith(wasmbuild.PayloadAddress, uint32(len(goodPayload))))
	}}, sandbox.Limits{}, answer)
}

func overLimits() []part {
	repeat := func(count int, add func(m *wasmbuild.Module)) []byte {
		return with(func(m *wasmbuild.Module) {
			for range count {
				add(m)
			}
		})
	}
	function := func(m *wasmbuild.Module) { m.Function(wasmbuild.Signature{}, nil) }
	params := wasmbuild.Signature{Params: slices.Repeat([]wasmbuild.ValueType{wasmbuild.I32}, 1001)}
	return []part{
		{name: "globals", module: repeat(1_000_001, func(m *wasmbuild.Module) { m.Global(0) }), opens: limit("globals")},
		{name: "functions", module: repeat(1_000_001, function), opens: limit("functions")},
		{name: "segments", module: repeat(100_001, func(m *wasmbuild.Module) { m.Data(0, nil) }), opens: limit("segments")},
		{name: "locals", opens: limit("locals"), module: with(func(m *wasmbuild.Module) {
			m.Function(wasmbuild.Signature{}, slices.Repeat([]wasmbuild.ValueType{wasmbuild.I64}, 50_001))
		})},
		{name: "parameters", opens: limit("params"), module: with(func(m *wasmbuild.Module) { m.Function(params, nil) })},
		{name: "a function's bytes", opens: limit("functionBytes"), module: with(func(m *wasmbuild.Module) {
			m.Function(wasmbuild.Signature{}, nil, bytes.Repeat(wasmbuild.Op(opNop), 8<<20))
		})},
	}
}

// falseClaims are modules whose counts are four billion, one for each section.
func falseClaims() []part {
	const header = "\x00asm\x01\x00\x00\x00"
	huge := wasmbuild.U32(1<<32 - 1)
	set := append([]string{abi.CodeToolDisabled + "/malformed"}, limit("types", "imports", "functions", "tables", "globals", "exports", "segments", "elements", "locals", "params")...)
	var parts []part
	for _, section := range []byte{1, 2, 3, 4, 6, 7, 9, 10, 11} {
		module := slices.Concat([]byte(header), []byte{section}, wasmbuild.U32(uint32(len(huge))), huge)
		parts = append(parts, part{module: module, opens: set})
	}
	whole := with(nil)
	for _, length := range []int{0, 3, 8, len(whole) / 3, len(whole) / 2, len(whole) - 1} {
		parts = append(parts, part{module: whole[:length], opens: []string{abi.CodeToolDisabled + "/malformed", abi.CodeToolDisabled + "/refused"}})
	}
	return parts
}

// compileBomb is one function of seven megabytes without a branch, of which a
// compiler keeps everything at once.
func compileBomb() part {
	code := bytes.Repeat(divide(), 7*megabyte/len(divide()))
	return part{
		opens: []string{abi.CodeToolDisabled + "/compile memory", abi.CodeToolDisabled + "/compile time", abi.CodeToolDisabled + "/compile size"},
		module: with(func(m *wasmbuild.Module) {
			m.Function(wasmbuild.Signature{}, []wasmbuild.ValueType{wasmbuild.I64, wasmbuild.I64, wasmbuild.I64}, code)
		}),
	}
}

func unsupported() []part {
	memory := func(limits ...byte) []byte {
		module := []byte("\x00asm\x01\x00\x00\x00")
		return append(module, append([]byte{5, byte(1 + len(limits)), 1}, limits...)...)
	}
	refusal := abi.CodeToolDisabled + "/unsupported "
	return []part{
		{name: "shared memory", module: memory(0x03, 1, 2), opens: []string{refusal + "threads"}},
		{name: "memory of 64 bits", module: memory(0x04, 1), opens: []string{refusal + "64-bit memories or tables"}},
		{name: "component", module: []byte("\x00asm\x0d\x00\x01\x00"), opens: []string{abi.CodeToolDisabled + "/component"}},
	}
}

func reservedNames() []part {
	reserved := []string{abi.CodeToolDisabled + "/reserved name"}
	return []part{
		{name: "export", opens: reserved, module: with(func(m *wasmbuild.Module) { m.ExportGlobal("vcp_internal.fuel", m.Global(0)) })},
		{name: "import", opens: append(reserved, abi.CodeToolDisabled+"/refused"), module: wasmbuild.Guest{Imports: func(m *wasmbuild.Module) {
			m.ImportFunction("vcp_internal", "refuel", wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I64}, Results: []wasmbuild.ValueType{wasmbuild.I64}})
		}}.Bytes()},
		{name: "unknown import", opens: []string{abi.CodeToolDisabled + "/refused"}, module: wasmbuild.Guest{Imports: func(m *wasmbuild.Module) {
			m.ImportFunction("env", "system", wasmbuild.Signature{})
		}}.Bytes()},
	}
}

// hostileNames trap inside functions with such names, which the stack of the
// error then shows.
func hostileNames() []part {
	var parts []part
	for _, name := range []struct{ about, text string }{
		{"controls", "\x1b[2J\x1b]0;owned\x07\u202e\r\n\tfake: frame"}, {"a megabyte", strings.Repeat("n", megabyte)}, {"no UTF-8", "\xff\xfe"},
	} {
		p := fails(wasmbuild.Guest{Body: func(m *wasmbuild.Module) [][]byte {
			f := m.Function(wasmbuild.Signature{}, nil, wasmbuild.Unreachable())
			m.FunctionName(f, name.text)
			return [][]byte{wasmbuild.Call(f), noAnswer()}
		}}, sandbox.Limits{}, unreachable)
		p.name = name.about
		p.opens = append([]string{opened, abi.CodeToolDisabled + "/malformed", abi.CodeToolDisabled + "/compile invalid"}, limit("bytes in a name")...)
		parts = append(parts, p)
	}
	return parts
}
