package wasmbin

import (
	"fmt"
)

// emitter writes the code of a module anew and gathers what that needs.
type emitter struct {
	m       *module
	scan    *scan
	virtual bool
	cap     uint32 // pages of a virtual memory

	fuel, size, refused uint32 // globals
	refuel              uint32 // function

	types       part // added ones, counted with those of the module
	typeEntries [][]byte
	helpers     helperSet
	splits      []split  // those that are still to come
	weights     []uint64 // those that are still to come
	data        []uint32 // the index that each data segment has now
	passive     []uint32 // the lengths of the data segments that stay

	out []byte // the code section
	err error
}

func newEmitter(m *module, s *scan, virtual bool) *emitter {
	globals := uint32(len(m.globals))
	e := &emitter{
		m: m, scan: s, fuel: globals, size: globals + 1, refused: globals + 2,
		refuel: m.importedFunctions, weights: s.weights, splits: s.splits,
	}
	if virtual && s.grows && !m.memories[0].imported {
		e.virtual, e.cap = true, uint32(min(m.limits.MemoryPages, maxPages))
		if l := m.memories[0].limits; l.bounded {
			e.cap = min(e.cap, l.maximum)
		}
	}
	e.renumberData()
	e.types.count = m.types
	e.helpers.known = map[instruction]uint32{}
	return e
}

// renumberData numbers the segments that stay. The lifted ones share one empty
// segment, if code names them: an instance sees an active segment as dropped.
func (e *emitter) renumberData() {
	e.data = make([]uint32, len(e.m.data))
	for i, d := range e.m.data {
		if d.passive {
			e.data[i] = uint32(len(e.passive))
			e.passive = append(e.passive, uint32(len(d.content)))
		}
	}
	for i, d := range e.m.data {
		if !d.passive {
			e.data[i] = uint32(len(e.passive))
		}
	}
	if e.scan.lifted {
		e.passive = append(e.passive, 0)
	}
}

// code writes the code section, the added functions included.
func (e *emitter) code() error {
	size := 0
	for _, body := range e.m.bodies {
		size += len(body)
	}
	e.out = make([]byte, 0, size+size/3)
	var body []byte
	for i, old := range e.m.bodies {
		c := &code{reader: reader{data: old, m: e.m, copy: true, out: body[:0]}}
		e.function(c, uint32(i))
		c.take(e.err)
		if c.err != nil {
			return fmt.Errorf("rewrite function %d: %w", int(e.m.importedFunctions)+i, c.err)
		}
		body = c.out
		e.out = append(appendU32(e.out, uint32(len(body))), body...)
	}
	for i := 0; i < len(e.helpers.list); i++ { // the list grows
		code := e.helpers.list[i].code
		e.out = append(appendU32(e.out, uint32(len(code))), code...)
	}
	return nil
}

func (e *emitter) function(c *code, index uint32) {
	c.locals()
	c.flush()
	c.out = e.header(c.out)
	for c.err == nil && c.pos < len(c.data) {
		before := c.pos
		if len(e.splits) > 0 && e.splits[0] == (split{index, before}) {
			e.splits = e.splits[1:]
			c.flush()
			c.out = e.header(c.out)
		}
		c.next()
		switch c.op {
		case opLoop:
			c.flush()
			c.out = e.header(c.out)
		case opCall, opRefFunc:
			c.replaceFrom(before)
			c.out = appendU32(append(c.out, byte(c.op)), e.m.shifted(c.a))
		case opMemorySize, opMemoryGrow:
			if e.virtual {
				c.replaceFrom(before)
				c.out = e.memorySize(c.out, c.op)
			}
		case opDataDrop:
			c.replaceFrom(before)
			c.out = appendU32(append(c.out, 0xfc, byte(c.op)), e.data[c.a])
		case opMemoryInit, opMemoryCopy, opMemoryFill, opTableInit, opTableCopy, opTableFill, opTableGrow:
			c.replaceFrom(before)
			c.out = appendU32(append(c.out, byte(opCall)), e.bulk(c.instruction))
		}
	}
	c.flush()
}

// replaceFrom copies what stands before a position, and passes over the rest.
func (c *code) replaceFrom(position int) {
	c.out = append(c.out, c.data[c.mark:position]...)
	c.mark = c.pos
}

// memorySize writes what memory.size or memory.grow is in a virtual memory.
func (e *emitter) memorySize(out []byte, op opcode) []byte {
	if op == opMemorySize {
		return appendU32(append(out, opGlobalGet), e.size)
	}
	return appendU32(append(out, byte(opCall)), e.bulk(instruction{op: opMemoryGrow}))
}

// finish puts the module together.
func (e *emitter) finish(size int) *Rewritten {
	r := &Rewritten{Fuel: exportFuel, Unrestorable: e.unrestorable()}
	parts := e.m.parts
	e.addGlobals(&parts[sectionGlobal], r)
	e.addExports(&parts[sectionExport], r)
	refuel := append(appendName(appendName(nil, ReservedModule), RefuelName), byte(Function))
	parts[sectionImport].add(appendU32(refuel, e.refuelType()))
	parts[sectionType] = part{count: e.types.count, body: append(parts[sectionType].body, e.types.body...)}
	for _, h := range e.helpers.list {
		parts[sectionFunction].add(appendU32(nil, h.typeIndex))
	}
	parts[sectionCode] = part{count: parts[sectionFunction].count, body: e.out}
	parts[sectionTable] = e.tables()
	e.memory(&parts[sectionMemory], r)
	parts[sectionData] = e.dataSection(r)
	parts[sectionStart] = part{}
	out := append(make([]byte, 0, size+size/3), "\x00asm\x01\x00\x00\x00"...)
	order := []byte{
		sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal,
		sectionExport, sectionElement, sectionDataCount, sectionCode, sectionData,
	}
	for _, id := range order {
		switch p := parts[id]; {
		case id == sectionDataCount:
			if e.m.hasDataCount {
				out = appendSection(out, id, appendU32(nil, uint32(len(e.passive))))
			}
		case p.count > 0:
			head := appendU32(nil, p.count)
			out = appendU32(append(out, id), uint32(len(head)+len(p.body)))
			out = append(append(out, head...), p.body...)
		}
	}
	r.Binary = e.m.names.appendTo(out, e.m, e.helpers.names(e.m.functions()+1))
	return r
}

// add puts an entry behind the others.
func (p *part) add(entry []byte) {
	p.count++
	p.body = append(p.body, entry...)
}

// addGlobals adds the fuel, and the two of a virtual memory.
func (e *emitter) addGlobals(p *part, r *Rewritten) {
	p.add([]byte{typeI64, 1, opI64Const, 0, opEnd})
	for i, g := range e.m.globals {
		if g.mutable && g.valueType >= typeF64 {
			r.Globals = append(r.Globals, ExportedGlobal{fmt.Sprintf("%sglobal.%d", ReservedPrefix, i), g.valueType})
		}
	}
	r.Globals = append(r.Globals, ExportedGlobal{exportFuel, typeI64})
	if !e.virtual {
		return
	}
	initial := appendS64([]byte{typeI32, 1, opI32Const}, int64(e.m.memories[0].limits.minimum))
	p.add(append(initial, opEnd))
	p.add([]byte{typeI64, 1, opI64Const, 0, opEnd})
	r.MemorySize, r.MemoryRefused = exportSize, exportRefused
	r.Globals = append(r.Globals, ExportedGlobal{exportSize, typeI32}, ExportedGlobal{exportRefused, typeI64})
}

// addExports exports the mutable globals, the start function, and the constants
// that tell where a data segment goes.
func (e *emitter) addExports(p *part, r *Rewritten) {
	add := func(name string, kind Kind, index uint32) {
		p.add(appendU32(append(appendName(nil, name), byte(kind)), index))
	}
	next := 0
	for i, g := range e.m.globals {
		if g.mutable && g.valueType >= typeF64 {
			add(r.Globals[next].Name, Global, uint32(i))
			next++
		}
	}
	for i, g := range r.Globals[next:] {
		add(g.Name, Global, e.fuel+uint32(i))
	}
	if e.m.hasStart {
		r.Start = exportStart
		add(exportStart, Function, e.m.shifted(e.m.startFunction))
	}
	offsets := map[uint32]bool{}
	for _, d := range e.m.data {
		if d.fromGlobal && !offsets[d.global] {
			offsets[d.global] = true
			add(offsetName(d.global), Global, d.global)
		}
	}
}

func offsetName(global uint32) string { return fmt.Sprintf("%soffset.%d", ReservedPrefix, global) }

// tables writes the tables with maxima under the cap.
func (e *emitter) tables() part {
	var p part
	for _, t := range e.m.tables {
		if t.imported {
			continue
		}
		maximum := uint32(min(e.m.limits.TableElements, 1<<32-1))
		if t.limits.bounded {
			maximum = min(maximum, t.limits.maximum)
		}
		p.add(appendU32(appendU32([]byte{t.elementType, 1}, t.limits.minimum), maximum))
	}
	return p
}

func (e *emitter) memory(p *part, r *Rewritten) {
	r.Memory.Exists = len(e.m.memories) > 0
	if !r.Memory.Exists || e.m.memories[0].imported {
		return
	}
	initial := e.m.memories[0].limits.minimum
	r.Memory.Initial, r.Memory.Compiled = initial, initial
	if e.virtual {
		r.Memory.Compiled, r.Memory.Virtual = e.cap, true
		*p = part{count: 1, body: appendU32(appendU32([]byte{1}, e.cap), e.cap)}
	}
}

// dataSection keeps the passive segments and lifts the others out.
func (e *emitter) dataSection(r *Rewritten) part {
	var p part
	for _, d := range e.m.data {
		switch {
		case d.passive:
			p.count++
			p.body = append(appendU32(append(p.body, 1), uint32(len(d.content))), d.content...)
		case d.fromGlobal:
			r.Data = append(r.Data, DataSegment{Global: offsetName(d.global), Bytes: d.content})
		default:
			r.Data = append(r.Data, DataSegment{Offset: d.offset, Bytes: d.content})
		}
	}
	if e.scan.lifted {
		p.count++
		p.body = append(p.body, 1, 0)
	}
	return p
}
