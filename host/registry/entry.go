package registry

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"vcphost/internal/rawjson"
)

// Values of entryPoint.
const (
	entryWASM   = "wasm"
	entryNode   = "nodejs"
	entryPython = "python"
	entryNative = "native"

	runtimeWASM = "wasm"

	abiVCP    = "vcp"
	abiExtism = "extism"
	abiWASI   = "wasi"
)

const maxTimeoutMs = 24 * 60 * 60 * 1000

// abi is entryPoint.abi before the entry point was read.
func (r *reader) abi(root value) string {
	binding, _ := rawjson.Unquote(value{findings: root.findings, raw: r.manifest.Raw}.member("entryPoint").member("abi").raw)
	return binding
}

func (r *reader) readEntryPoint(v value) {
	e := &r.manifest.EntryPoint
	if !v.present() {
		v.refuse("is required")
		return
	}
	if !v.strict().is(rawjson.Object) {
		return
	}
	v.unknown(false, "type", "module", "abi", "script", "command", "runtime", "timeout")
	kind := v.member("type")
	if kind.present() || !v.lenient {
		e.Type = r.entryType(kind)
	}
	e.Command = v.member("command").text()
	e.Script = v.member("script").text()
	e.Module = v.member("module").text()
	e.ABI = oneOf(v.member("abi"), abiVCP, abiExtism, abiWASI)
	runtime := v.member("runtime")
	e.Runtime = oneOf(runtime, runtimeWASM)
	switch {
	case e.Type == entryWASM:
		r.readFile(v.member("module"), e.Module, true)
	case e.Runtime == runtimeWASM:
		if e.Type != entryNode && e.Type != entryPython {
			runtime.refuse("entryPoint.type %q has no WebAssembly runtime; %q and %q have", clip(e.Type), entryNode, entryPython)
		}
		r.readFile(v.member("script"), e.Script, true)
	case e.Script == "" && strings.TrimSpace(e.Command) == "":
		v.refuse("names nothing to run: neither command nor script")
	case v.member("script").present():
		r.readFile(v.member("script"), e.Script, !v.lenient)
	}
}

// entryType reads the type; a legacy manifest may have one of its own.
func (r *reader) entryType(v value) string {
	if !v.present() {
		v.refuse("is required")
		return ""
	}
	kind := v.text()
	if !slices.Contains([]string{entryWASM, entryNode, entryPython, entryNative}, kind) {
		return r.otherType(v, kind)
	}
	return kind
}

func (r *reader) otherType(v value, kind string) string {
	oneOf(v, entryWASM, entryNode, entryPython, entryNative)
	if v.lenient {
		return kind
	}
	return ""
}

// readFile checks a path of the entry point; a path that leads out is refused
// always, a missing file only where that is demanded.
func (r *reader) readFile(v value, name string, demanded bool) {
	if !v.present() {
		v.refuse("is required")
		return
	}
	if rawjson.KindOf(v.raw) != rawjson.String {
		return // reported by its reader
	}
	if fault := checkPath(name); fault != "" {
		v.refuse("%s %s", quoted(name), fault)
		return
	}
	if fault := checkFile(r.folder, name); fault == "" {
		r.files = append(r.files, path.Clean(name))
	} else if demanded {
		v.refuse("%s %s", quoted(name), fault)
	} else {
		v.notice(v.pointer, "%s %s", quoted(name), fault)
	}
}

func (r *reader) readCommunication(v value) {
	c := &r.manifest.Communication
	if v.present() && !v.is(rawjson.Object) {
		return
	}
	v.unknown(false, "protocol", "timeout", "input", "encoding")
	protocol := v.member("protocol")
	c.Protocol = oneOf(protocol, "wasm", "stdio", "direct", "distributed")
	if c.Protocol == "" && v.lenient && protocol.present() {
		c.Protocol = protocol.text()
	}
	if sandboxed := r.manifest.Sandboxed(); c.Protocol != "" && sandboxed != (c.Protocol == "wasm") {
		protocol.complain("%q does not fit entryPoint.type %q", clip(c.Protocol), clip(r.manifest.EntryPoint.Type))
	}
	c.TimeoutMs = v.member("timeout").integer(span{0, 1, maxTimeoutMs})
	c.Input = oneOf(v.member("input"), "arguments", "invocation")
	if c.Input == "" {
		c.Input = "arguments"
	}
}

// quoted is a stranger's text as it goes into a message.
func quoted(s string) string { return strconv.Quote(clip(s)) }

// unbounded marks the upper end of a span that only the type bounds.
const unbounded = math.MaxInt64
