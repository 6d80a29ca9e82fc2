package main

import (
	"fmt"

	"vcphost/abi"
	w "vcphost/sandbox/wasmbuild"
)

func loop() []byte { return w.Loop() }

// badGuests misbehave while they run.
func badGuests() []badInput {
	row := func(name, code, says string, module []byte) badInput {
		return badInput{name: name, module: module, exit: exitResult, status: abi.StatusError, code: code, says: says}
	}
	slow := func(name string, module []byte) badInput {
		return badInput{
			name: name, module: module, args: []string{"call", "Bad", "--timeout", "100ms"},
			exit: exitResult, status: abi.StatusTimeout, code: abi.CodeToolTimeout,
		}
	}
	invalid := abi.CodeInvalidToolResult
	return append(badWriters(),
		row("traps", abi.CodeSandboxTrap, "unreachable", instead(w.Unreachable())),
		row("reads outside its memory", abi.CodeSandboxTrap, "out of bounds", instead(w.I32Const(-4), w.I32Load8U(), w.Drop(), w.I64Const(0))),
		row("exits", abi.CodeSandboxExit, "code 3", exits(3)),
		row("exits as if all were well", abi.CodeSandboxExit, "code 0", exits(0)),
		row("recursion without an end", abi.CodeSandboxStackOverflow, "", recursion()),
		row("wants more memory than there is", abi.CodeSandboxMemoryLimit, "", grows()),
		row("has no room for the invocation", abi.CodeSandboxMemoryLimit, "", w.Guest{AllocResult: -1}.Bytes()),
		row("room outside its memory", invalid, "outside the plugin's memory", w.Guest{AllocResult: twoPages - 4}.Bytes()),
		row("returns 0", invalid, "no payload", instead(w.I64Const(0))),
		row("returns no bytes", invalid, "no payload", instead(w.I64Const(w.Packed(w.PayloadAddress, 0)))),
		row("pointer outside its memory", invalid, "outside the plugin's memory", instead(w.I64Const(w.Packed(1<<31, 10)))),
		row("payload that leaves its memory", invalid, "outside the plugin's memory", instead(w.I64Const(w.Packed(twoPages-4, 8)))),
		row("pointer and length that wrap", invalid, "", instead(w.I64Const(-1))),
		slow("loops for ever", instead(loop(), w.I64Const(0))),
		slow("loops for ever at its start", w.Guest{Extra: func(m *w.Module) {
			m.ExportFunction("_initialize", m.Function(w.Signature{}, nil, loop()))
		}}.Bytes()),
		slow("loops for ever in vcp_alloc", looping("vcp_alloc")),
		slow("answers as if it had not been cancelled", asks()),
		badInput{name: "every wild pointer to every host function", module: wild(), exit: exitOK, status: abi.StatusSuccess},
		badInput{name: "start function that traps", exit: exitResult, status: abi.StatusError, code: abi.CodeSandboxTrap,
			module: w.Guest{Extra: func(m *w.Module) { m.Start(m.Function(w.Signature{}, nil, w.Unreachable())) }}.Bytes()},
	)
}

// looping is a guest that exports one more function in place of a sound one.
func looping(name string) []byte {
	return w.Guest{Without: name, Extra: func(m *w.Module) {
		s := w.Signature{Params: []w.ValueType{w.I32}, Results: []w.ValueType{w.I32}}
		m.ExportFunction(name, m.Function(s, nil, loop(), w.I32Const(0)))
	}}.Bytes()
}

// badWriters do wrong with resources.
func badWriters() []badInput {
	const draft, done = `{"id":"a"}`, `{"status":"success","data":{"$resource":"a"}}`
	limited := manifest("Bad", `"memoryMiB": 4`, `"maxResourceBytes": 100000, "maxResources": 1`)
	tooLarge := func(name string, module []byte) badInput {
		return badInput{
			name: name, manifest: limited, module: module, exit: exitResult, status: abi.StatusError,
			code: abi.CodeResourceTooLarge, says: "",
		}
	}
	second := `{"id":"b"}`
	many := runs(done, map[uint32]string{draftAddress: draft, lineAddress: second},
		vcp("resource_create", draftAddress, int32(len(draft))), w.Drop(), closes(1),
		vcp("resource_create", lineAddress, int32(len(second))), w.Drop(), closes(2))
	log := runs(`{"status":"success","data":null}`, nil, repeat(20, vcp("log", 1, 1<<16, 8192)))
	return []badInput{
		tooLarge("more than maxResourceBytes", writes(done, draft, 2, closes(1))),
		tooLarge("more than maxResourceBytes, and nothing said about it", writes(`{"status":"success","data":null}`, draft, 3)),
		tooLarge("more than maxResourceBytes, and an error of its own", writes(`{"status":"error","data":null,"error":{"code":"A.B","message":"x"}}`, draft, 2)),
		tooLarge("more than maxResources", many),
		{name: "handle left open", module: writes(`{"status":"success","data":null}`, draft, 0), exit: exitOK,
			status: abi.StatusSuccess, warning: abi.WarningResourceUnfinished},
		{name: "handle left open, and referenced", module: writes(done, draft, 0), exit: exitResult,
			status: abi.StatusError, code: abi.CodeInvalidToolResult, target: "/data", warning: abi.WarningResourceUnfinished},
		{name: "handles that are not its own", exit: exitOK, status: abi.StatusSuccess,
			module: runs(`{"status":"success","data":null}`, nil, handles())},
		{name: "more lines than maxLogBytes", module: log, exit: exitOK, status: abi.StatusSuccess, warning: abi.WarningLogTruncated},
		{name: "lies about the type", exit: exitOK, status: abi.StatusSuccess, warning: abi.WarningMIMEMismatch,
			module: png(done, `{"id":"a","mimeType":"application/pdf","fileName":"a.pdf"}`)},
	}
}

func repeat(times int, code []byte) []byte {
	var all []byte
	for range times {
		all = append(all, code...)
	}
	return all
}

// handles uses numbers that no resource has; what the host answers is dropped.
func handles() []byte {
	var code []byte
	for _, handle := range []int32{0, 1, -1, 1 << 30, -1 << 31} {
		code = append(code, closes(handle)...)
		code = append(code, vcp("resource_write", handle, 0, 8)...)
		code = append(code, w.Drop()...)
		code = append(code, vcp("resource_read", handle, 0, 8)...)
		code = append(code, w.Drop()...)
		code = append(code, vcp("resource_size", handle)...)
		code = append(code, w.Drop()...)
	}
	return code
}

// png writes the signature of a picture under a draft that says otherwise.
func png(payload, draft string) []byte {
	signature := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00"
	return runs(payload, map[uint32]string{draftAddress: draft, lineAddress: signature},
		vcp("resource_create", draftAddress, int32(len(draft))), w.Drop(),
		vcp("resource_write", 1, lineAddress, int32(len(signature))), w.Drop(), closes(1))
}

// guestNamed gives the guests that scenarios use.
func guestNamed(name string) ([]byte, error) {
	switch name {
	case "echo":
		return echo(), nil
	case "loop":
		return instead(loop(), w.I64Const(0)), nil
	case "twins":
		return twins(), nil
	case "trap":
		return instead(w.Unreachable()), nil
	}
	return nil, fmt.Errorf("there is no guest %q", name)
}
