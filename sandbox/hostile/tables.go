package hostile

import (
	"bytes"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

// tables are the guests that use tables, which lie outside the linear memory.
func tables() []Case {
	const refusedElements = abi.CodeToolDisabled + "/limit tableElements"
	return []Case{
		{Name: "table-grow", About: "grows a table for ever", peak: 512 << 20, parts: tableBombs},
		{Name: "table-1gib-at-start", About: "declares a table of 1 GiB", parts: one(func() part {
			return refused(wasmbuild.Guest{Extra: func(m *wasmbuild.Module) { m.Table(gibibyte/8, 0) }}.Bytes(), refusedElements)
		})},
		{Name: "many-tables", About: "declares many tables, each large, or too many of them", parts: func() []part {
			many := func(count int, elements uint32) []byte {
				return wasmbuild.Guest{Extra: func(m *wasmbuild.Module) {
					for range count {
						m.Table(elements, 0)
					}
				}}.Bytes()
			}
			return []part{
				{name: "large", module: many(60, 1<<20), opens: []string{refusedElements}},
				{name: "many", module: many(10_000, 1), opens: []string{abi.CodeToolDisabled + "/limit tables", refusedElements}},
			}
		}},
		{Name: "table-fill", About: "fills a table as large as may be with one instruction, for ever", peak: 512 << 20, parts: one(tableFill)},
	}
}

// tableBombs grow the first table by steps; one goes on when it is refused, the
// other fails then.
func tableBombs() []part {
	bomb := func(step int32, refused []byte) wasmbuild.Guest {
		return wasmbuild.Guest{
			Extra: func(m *wasmbuild.Module) { m.Table(1, 0) },
			Body: body(wasmbuild.Loop(wasmbuild.RefNull(), wasmbuild.I32Const(step), wasmbuild.TableGrow(),
				wasmbuild.I32Const(-1), wasmbuild.Op(opI32Eq), wasmbuild.If(refused)), noAnswer()),
		}
	}
	small, large := endless(bomb(1, wasmbuild.Op(opNop)), sandbox.Limits{}), endless(bomb(100_000_000, wasmbuild.Op(opNop)), sandbox.Limits{})
	small.name, large.name = "by one", "by a hundred million"
	failing := fails(bomb(1000, wasmbuild.Unreachable()), sandbox.Limits{}, unreachable)
	failing.name = "fails when refused"
	return []part{small, large, failing}
}

func tableFill() part {
	const elements = tenThousand // what a plugin may have unless it is granted more
	fill := bytes.Join([][]byte{wasmbuild.I32Const(0), wasmbuild.RefNull(), wasmbuild.I32Const(elements), wasmbuild.TableFill()}, nil)
	return endless(wasmbuild.Guest{
		Extra: func(m *wasmbuild.Module) { m.Table(elements, elements) },
		Body:  body(wasmbuild.Loop(fill), noAnswer()),
	}, sandbox.Limits{})
}
