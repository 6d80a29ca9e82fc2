package hostile

import (
	"bytes"
	"fmt"
	"time"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

const (
	textAddress = 2048 // of what a flood sends
	textBytes   = 32 << 10
)

// floods are the guests that send without end.
func floods() []Case {
	return []Case{
		{Name: "progress-flood", About: "reports progress for ever", parts: one(progressFlood)},
		{Name: "log-flood", About: "logs for ever", parts: one(logFlood)},
		{Name: "output-flood", About: "writes to its standard output for ever", parts: one(outputFlood)},
		{Name: "resource-flood", About: "begins resources for ever, or until it is refused", parts: resourceFloods},
		{Name: "endless-resource", About: "writes to one resource for ever, or until it is refused", parts: endlessResources, peak: 384 << 20},
		{Name: "store-flood", About: "writes to its own store for ever", parts: one(storeFlood), peak: 384 << 20},
	}
}

// vcp imports one host function with a signature of i32 alone.
func vcp(name string, params int, results ...wasmbuild.ValueType) func(*wasmbuild.Module) uint32 {
	return func(m *wasmbuild.Module) uint32 {
		s := wasmbuild.Signature{Results: results}
		for range params {
			s.Params = append(s.Params, wasmbuild.I32)
		}
		return m.ImportFunction("vcp", name, s)
	}
}

func imports(functions ...func(*wasmbuild.Module) uint32) func(*wasmbuild.Module) {
	return func(m *wasmbuild.Module) {
		for _, add := range functions {
			add(m)
		}
	}
}

// text places what a flood sends.
func text(s string) func(*wasmbuild.Module) {
	return func(m *wasmbuild.Module) { m.Data(textAddress, []byte(s)) }
}

// argument pushes address and length of a text at textAddress.
func argument(size int) []byte {
	return append(wasmbuild.I32Const(textAddress), wasmbuild.I32Const(int32(size))...)
}

func progressFlood() part {
	const event = `{"stage":"flood","progress":0.5,"message":"again"}`
	p := endless(wasmbuild.Guest{
		Imports: imports(vcp("progress", 2, wasmbuild.I32)), Extra: text(event),
		Body: body(wasmbuild.Loop(argument(len(event)), wasmbuild.Call(0), wasmbuild.Drop()), noAnswer()),
	}, sandbox.Limits{})
	p.after = func(s spent) string {
		const interval = 25 * time.Millisecond // half of what the host promises
		if most := int64(s.took/interval) + 3; s.events > most {
			return fmt.Sprintf("%d progress events in %v", s.events, s.took)
		}
		return ""
	}
	return p
}

// loggedLittle holds a flood against the default limit of a call's log.
func loggedLittle(s spent) string {
	const limit = 64 << 10
	if s.logBytes > s.calls*limit {
		return fmt.Sprintf("%d calls logged %d bytes, and each may log %d", s.calls, s.logBytes, limit)
	}
	return ""
}

func logFlood() part {
	p := endless(wasmbuild.Guest{
		Imports: imports(vcp("log", 3)),
		Body:    body(wasmbuild.Loop(wasmbuild.I32Const(2), argument(textBytes), wasmbuild.Call(0)), noAnswer()),
	}, sandbox.Limits{})
	p.after = loggedLittle
	return p
}

func outputFlood() part {
	const vectors, written = 1000, 1100
	p := endless(wasmbuild.Guest{
		Imports: func(m *wasmbuild.Module) {
			i32 := wasmbuild.I32
			m.ImportFunction("wasi_snapshot_preview1", "fd_write", wasmbuild.Signature{
				Params: []wasmbuild.ValueType{i32, i32, i32, i32}, Results: []wasmbuild.ValueType{i32}})
		},
		Body: body(growTo(512),
			wasmbuild.I32Const(vectors), wasmbuild.I32Const(0), wasmbuild.I32Store(),
			wasmbuild.I32Const(vectors+4), wasmbuild.I32Const(32<<20), wasmbuild.I32Store(), // 32 MiB a call
			wasmbuild.Loop(wasmbuild.I32Const(1), wasmbuild.I32Const(vectors), wasmbuild.I32Const(1), wasmbuild.I32Const(written),
				wasmbuild.Call(0), wasmbuild.Drop()), noAnswer()),
	}, sandbox.Limits{})
	p.after = loggedLittle
	return p
}

// resourceFloods begin, close and forget resources: a new id each time, since an
// id can be used once.
func resourceFloods() []part {
	const draft, digits = `{"id":"r00000000"}`, textAddress + 8
	next := bytes.Join([][]byte{ // the digits count in bytes from '0' to 'o', two of them
		wasmbuild.I32Const(digits), wasmbuild.I32Const(digits), wasmbuild.I32Load8U(), wasmbuild.I32Const(1), wasmbuild.I32Add(), wasmbuild.I32Store8(),
		wasmbuild.I32Const(digits), wasmbuild.I32Load8U(), wasmbuild.I32Const('o'), wasmbuild.Op(opI32Eq), wasmbuild.If(
			wasmbuild.I32Const(digits), wasmbuild.I32Const('0'), wasmbuild.I32Store8(),
			wasmbuild.I32Const(digits+1), wasmbuild.I32Const(digits+1), wasmbuild.I32Load8U(), wasmbuild.I32Const(1), wasmbuild.I32Add(), wasmbuild.I32Store8()),
	}, nil)
	create := append(argument(len(draft)), wasmbuild.Call(0)...)
	guest := func(turn ...[]byte) wasmbuild.Guest {
		return wasmbuild.Guest{Imports: imports(vcp("resource_create", 2, wasmbuild.I32), vcp("resource_close", 1, wasmbuild.I32)), Extra: text(draft),
			Locals: []wasmbuild.ValueType{wasmbuild.I32}, Body: body(wasmbuild.Loop(turn...), noAnswer())}
	}
	const handle = 2
	below := append(wasmbuild.LocalGet(handle), append(wasmbuild.I32Const(0), wasmbuild.Op(0x48)...)...) // i32.lt_s
	forever := endless(guest(create, wasmbuild.Drop(), next), sandbox.Limits{})
	forever.name = "for ever"
	refused := fails(guest(create, wasmbuild.LocalSet(handle), below,
		wasmbuild.If(answerWith(wasmbuild.PayloadAddress, uint32(len(goodPayload))), wasmbuild.Return()),
		wasmbuild.LocalGet(handle), wasmbuild.Call(1), wasmbuild.Drop(), next), sandbox.Limits{}, abi.CodeResourceTooLarge+"/maxResources")
	refused.name = "until refused"
	return []part{forever, refused}
}

// endlessResources write to one resource: one goes on whatever it is told, the
// other answers success once it is refused, which must not count.
func endlessResources() []part {
	const draft = `{"id":"endless","fileName":"endless.bin"}`
	const handle = 2
	write := bytes.Join([][]byte{wasmbuild.LocalGet(handle), wasmbuild.I32Const(0), wasmbuild.I32Const(guestBytes), wasmbuild.Call(1)}, nil)
	guest := func(turn []byte) wasmbuild.Guest {
		return wasmbuild.Guest{
			Imports: imports(vcp("resource_create", 2, wasmbuild.I32), vcp("resource_write", 3, wasmbuild.I32)), Extra: text(draft),
			Locals: []wasmbuild.ValueType{wasmbuild.I32},
			Body: body(argument(len(draft)), wasmbuild.Call(0), wasmbuild.LocalSet(handle), turn,
				answerWith(wasmbuild.PayloadAddress, uint32(len(goodPayload)))),
		}
	}
	forever := endless(guest(wasmbuild.Loop(write, wasmbuild.Drop())), sandbox.Limits{})
	forever.name = "for ever"
	refused := fails(guest(wasmbuild.While(write, wasmbuild.I32Const(0), wasmbuild.Op(0x4a))), // i32.gt_s
		sandbox.Limits{}, abi.CodeResourceTooLarge+"/maxResourceBytes")
	refused.name = "until refused"
	return []part{forever, refused}
}

func storeFlood() part {
	i32 := wasmbuild.I32
	const key = 2048
	p := endless(wasmbuild.Guest{
		Imports: imports(vcp("kv_set", 4, i32)), Locals: []wasmbuild.ValueType{i32},
		Body: body(wasmbuild.Loop(
			wasmbuild.I32Const(key), wasmbuild.LocalGet(2), wasmbuild.I32Store(),
			wasmbuild.LocalGet(2), wasmbuild.I32Const(1), wasmbuild.I32Add(), wasmbuild.LocalSet(2),
			wasmbuild.I32Const(key), wasmbuild.I32Const(4), wasmbuild.I32Const(0), wasmbuild.I32Const(textBytes), wasmbuild.Call(0), wasmbuild.Drop()), noAnswer()),
	}, sandbox.Limits{})
	return p
}
