package hostile

import (
	"time"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

// starts are the guests that do it before they are called. Where the host starts
// a module when it opens it, it is refused then; else each call fails.
func starts() []Case {
	return []Case{
		{Name: "trap-in-start", About: "traps in its start function, or in _initialize", parts: func() []part {
			return inStart(nil, []string{unreachable}, wasmbuild.Unreachable())
		}},
		{Name: "exit-in-start", About: "proc_exit in its start function, or in _initialize", parts: func() []part {
			return inStart(procExit, []string{abi.CodeSandboxExit + "/3"}, wasmbuild.I32Const(3), wasmbuild.Call(0))
		}},
		{Name: "loop-in-start", About: "its start function, or _initialize, never ends", parts: func() []part {
			parts := inStart(nil, []string{abi.CodeToolTimeout}, wasmbuild.Loop())
			for i := range parts {
				parts[i].within = time.Second
			}
			return parts
		}},
		{Name: "host-calls-in-start", About: "its start function calls host functions before there is a call", parts: func() []part {
			return inStart(imports(vcp("resource_create", 2, wasmbuild.I32), vcp("log", 3), vcp("cancelled", 0, wasmbuild.I32), vcp("random", 2, wasmbuild.I32)),
				[]string{answer},
				argument(18), wasmbuild.Call(0), wasmbuild.Drop(), wasmbuild.I32Const(3), argument(18), wasmbuild.Call(1),
				wasmbuild.Call(2), wasmbuild.Drop(), argument(18), wasmbuild.Call(3), wasmbuild.Drop())
		}},
		{Name: "data-outside-memory", About: "a data segment behind the end of its memory", parts: one(func() part {
			set := []string{outOfBounds, abi.CodeSandboxTrap + "/data bounds"}
			return part{module: with(func(m *wasmbuild.Module) { m.Data(guestBytes-1, []byte("xy")) }), opens: append([]string{opened}, set...), calls: set}
		})},
	}
}

// inStart makes two modules that run code before the first call: in the start
// function of the core specification, and in _initialize.
func inStart(imported func(*wasmbuild.Module), set []string, code ...[]byte) []part {
	module := func(place func(m *wasmbuild.Module, f uint32)) []byte {
		return wasmbuild.Guest{Imports: imported, Payload: []byte(goodPayload), Extra: func(m *wasmbuild.Module) {
			m.Data(textAddress, []byte(`{"id":"beforehand"}`))
			place(m, m.Function(wasmbuild.Signature{}, nil, code...))
		}}.Bytes()
	}
	opens := []string{opened}
	for _, outcome := range set {
		if outcome != answer {
			opens = append(opens, outcome)
		}
	}
	return []part{
		{name: "start", opens: opens, calls: set, module: module(func(m *wasmbuild.Module, f uint32) { m.Start(f) })},
		{name: "_initialize", opens: opens, calls: set, module: module(func(m *wasmbuild.Module, f uint32) { m.ExportFunction("_initialize", f) })},
	}
}
