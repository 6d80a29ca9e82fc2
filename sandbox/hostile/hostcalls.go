package hostile

import (
	"encoding/binary"
	"fmt"
	"strings"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/hostfunc"
	"vcphost/sandbox/wasmbuild"
)

// hostFunction is a function of guest ABI 1: what its arguments are ('n' a
// number such as a handle, 's' a pointer and a length), and its result (0 for
// none).
type hostFunction struct {
	name, takes string
	result      wasmbuild.ValueType
}

func hostFunctions() []hostFunction {
	const i32, i64 = wasmbuild.I32, wasmbuild.I64
	return []hostFunction{
		{"resource_create", "s", i32}, {"resource_write", "ns", i32}, {"resource_close", "n", i32},
		{"resource_open", "s", i32}, {"resource_size", "n", i64}, {"resource_read", "ns", i32},
		{"progress", "s", i32}, {"cancelled", "", i32}, {"log", "ns", 0}, {"random", "s", i32}, {"now", "", i64},
		{"config_get", "ss", i32}, {"kv_get", "ss", i32}, {"kv_set", "ss", i32}, {"kv_delete", "s", i32},
		{"http_request", "ss", i32}, {"http_status", "n", i32}, {"http_header", "nss", i32},
		{"http_read", "ns", i32}, {"http_close", "n", i32}, {"call_tool", "s", i32},
	}
}

func (f hostFunction) signature() wasmbuild.Signature {
	var s wasmbuild.Signature
	for _, kind := range f.takes {
		s.Params = append(s.Params, wasmbuild.I32)
		if kind == 's' {
			s.Params = append(s.Params, wasmbuild.I32)
		}
	}
	if f.result != 0 {
		s.Results = []wasmbuild.ValueType{f.result}
	}
	return s
}

// span is a pointer with a length.
type span struct{ at, size uint32 }

// guestBytes is the memory of a guest that does not grow.
const guestBytes = 2 * pageBytes

func (s span) outside() bool { return uint64(s.at)+uint64(s.size) > guestBytes }

// spans has the edges: nothing, the last byte, lengths that leave memory, and
// sums that wrap around 2^32. Those that are inside are short, since host
// functions write there.
func spans() []span {
	const most = 1<<32 - 1
	return []span{
		{0, 0}, {0, 8}, {guestBytes, 0}, {guestBytes - 1, 1},
		{guestBytes - 1, 2}, {guestBytes, 1}, {guestBytes + 70_000, 16}, {0, guestBytes + 1}, {0, most}, {1, most},
		{most, 0}, {most, 1}, {most, most}, {1 << 31, 1 << 31}, {pageBytes, most - pageBytes + 1}, {most - 15, 32}, {most - 7, 8 + 64},
	}
}

// attempt is one call of a host function.
type attempt struct {
	function hostFunction
	index    uint32 // of the import
	number   int32
	spans    []span
}

func (a attempt) String() string {
	return fmt.Sprintf("%s(%d, %v)", a.function.name, a.number, a.spans)
}

// attempts are all calls that are tried: each span beside a sound one.
func attempts() []attempt {
	sound := span{0, 8}
	var list []attempt
	for i, f := range hostFunctions() {
		numbers, count := []int32{0}, strings.Count(f.takes, "s")
		if strings.HasPrefix(f.takes, "n") {
			numbers = []int32{-1 << 31, -1, 0, 1, 1<<31 - 1}
		}
		for _, number := range numbers {
			if count == 0 {
				list = append(list, attempt{f, uint32(i), number, nil})
			}
			for at := range count {
				for _, s := range spans() {
					pair := []span{sound, sound}[:count]
					pair[at] = s
					list = append(list, attempt{f, uint32(i), number, pair})
				}
			}
		}
	}
	return list
}

// hostCalls are the guests that lie to the host about memory.
func hostCalls() []Case {
	return []Case{
		{Name: "host-calls", About: "every host function with pointers and lengths of 0, of 2^32-1, and with sums that wrap", parts: one(wildCalls)},
		{Name: "allocation-lies", About: "vcp_alloc and vcp_call name memory that is not there", parts: allocationLies},
		{Name: "input-larger-than-memory", About: "an input that the guest's memory cannot hold", parts: largeInputs, peak: 384 << 20},
	}
}

const resultsAddress = 40_000

// wildCalls makes all attempts in one call and answers with the results.
func wildCalls() part {
	tried := attempts()
	guest := wasmbuild.Guest{
		Imports: func(m *wasmbuild.Module) {
			for _, f := range hostFunctions() {
				m.ImportFunction("vcp", f.name, f.signature())
			}
		},
		Body: func(*wasmbuild.Module) [][]byte {
			var code [][]byte
			for i, a := range tried {
				code = append(code, wasmbuild.I32Const(int32(resultsAddress+8*i)))
				code = append(code, a.code()...)
				code = append(code, wasmbuild.I64Store())
			}
			return append(code, answerWith(resultsAddress, uint32(8*len(tried))))
		},
	}
	p := fails(guest, sandbox.Limits{}, answer)
	p.reply = func(reply *abi.Reply) string {
		if len(reply.Payload) != 8*len(tried) {
			return fmt.Sprintf("the answer has %d bytes", len(reply.Payload))
		}
		for i, a := range tried {
			if problem := a.judge(int64(binary.LittleEndian.Uint64(reply.Payload[8*i:]))); problem != "" {
				return fmt.Sprintf("%v: %s", a, problem)
			}
		}
		return ""
	}
	return p
}

// code makes the call and leaves its result as an i64.
func (a attempt) code() [][]byte {
	var code [][]byte
	rest := a.spans
	for _, kind := range a.function.takes {
		if kind == 'n' {
			code = append(code, wasmbuild.I32Const(a.number))
			continue
		}
		code = append(code, wasmbuild.I32Const(int32(rest[0].at)), wasmbuild.I32Const(int32(rest[0].size)))
		rest = rest[1:]
	}
	code = append(code, wasmbuild.Call(a.index))
	switch a.function.result {
	case 0:
		code = append(code, wasmbuild.I64Const(0))
	case wasmbuild.I32:
		code = append(code, wasmbuild.I64ExtendI32S())
	}
	return code
}

// judge tells what is wrong with a result, "" for nothing.
func (a attempt) judge(got int64) string {
	if a.function.result == 0 {
		return ""
	}
	for _, s := range a.spans {
		if s.outside() {
			if got != int64(hostfunc.EFAULT) {
				return fmt.Sprintf("gave %d, and EFAULT is %d", got, hostfunc.EFAULT)
			}
			return ""
		}
	}
	if got == int64(hostfunc.EFAULT) || got < int64(hostfunc.ENOSYS) {
		return fmt.Sprintf("gave %d for memory that is there", got)
	}
	return ""
}

func allocationLies() []part {
	const output = abi.CodeInvalidToolResult
	allocs := func(name string, result int32, want string) part {
		return part{name: name, module: wasmbuild.Guest{AllocResult: result}.Bytes(), calls: []string{want}}
	}
	answers := func(name string, at, size uint32, want string) part {
		p := fails(wasmbuild.Guest{Body: body(answerWith(at, size))}, sandbox.Limits{}, want)
		p.name = name
		return p
	}
	return []part{
		allocs("no room", -1, abi.CodeSandboxMemoryLimit+"/memoryMiB"),
		allocs("room at the end of all memory", -2, output),
		allocs("room over the end", guestBytes-1, output),
		allocs("room behind the end", guestBytes+70_000, output),
		answers("nothing", 0, 0, output),
		answers("4 GiB", 0, 1<<32-1, output+"/maxOutputBytes"),
		answers("all over", 1<<32-1, 1<<32-1, output+"/maxOutputBytes"),
		answers("over the end", guestBytes-1, 2, output),
		answers("behind the end", guestBytes+70_000, 16, output),
		answers("a sum that wraps", 1<<32-16, 32, output),
		answers("as much as may be, of a small memory", 0, 8<<20, output),
	}
}

func largeInputs() []part {
	text := func(size int) []byte { return []byte(`{"text":"` + strings.Repeat("x", size) + `"}`) }
	module := switched(wasmbuild.Guest{Body: body(answerWith(wasmbuild.PayloadAddress, uint32(len(goodPayload))))}).Bytes()
	return []part{
		{name: "1 MiB into 128 KiB", module: module, arguments: text(megabyte), calls: []string{abi.CodeInvalidToolResult}, good: true},
		{name: "over its limit", module: module, arguments: text(9 * megabyte), calls: []string{abi.CodeInvalidArgument + "/maxInputBytes"}, good: true},
	}
}
