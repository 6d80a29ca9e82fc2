package hostile

import (
	"bytes"
	"encoding/binary"
	"time"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

const wasiModule = "wasi_snapshot_preview1"

// wasiCalls are the guests that turn WASI against the host.
func wasiCalls() []Case {
	return []Case{
		{Name: "poll-for-an-hour", About: "poll_oneoff with a clock of an hour: relative, absolute, and for ever again", parts: polls},
		{Name: "poll-lies", About: "poll_oneoff with four billion subscriptions, and with none", parts: one(pollLies)},
		{Name: "wasi-lies", About: "functions of WASI with pointers, lengths and descriptors of 2^31 and 2^32-1", parts: one(wasiLies)},
		{Name: "random-of-all-memory", About: "asks for random bytes in all of its memory, for ever", parts: one(func() part {
			const most = 60 << 20
			return endless(wasmbuild.Guest{Imports: wasi("random_get", 2),
				Body: body(growTo(1000), wasmbuild.Loop(wasmbuild.I32Const(0), wasmbuild.I32Const(most), wasmbuild.Call(0), wasmbuild.Drop()), noAnswer()),
			}, sandbox.Limits{})
		})},
		{Name: "exit-in-call", About: "proc_exit in the middle of a call of a pooled instance; the next call must be good", parts: exits},
	}
}

// wasi imports a function of WASI that takes i32 alone and gives an error number.
func wasi(name string, params int) func(*wasmbuild.Module) {
	return func(m *wasmbuild.Module) {
		s := wasmbuild.Signature{Results: []wasmbuild.ValueType{wasmbuild.I32}}
		for range params {
			s.Params = append(s.Params, wasmbuild.I32)
		}
		m.ImportFunction(wasiModule, name, s)
	}
}

const (
	subscriptionAddress = 4096
	eventAddress        = 8192
	countAddress        = 12_288
)

// subscription is one clock of poll_oneoff as the guest lays it out.
func subscription(clock uint32, timeout uint64, absolute bool) []byte {
	s := make([]byte, 48)
	binary.LittleEndian.PutUint32(s[16:], clock)
	binary.LittleEndian.PutUint64(s[24:], timeout)
	if absolute {
		s[40] = 1
	}
	return s
}

func poll(count int32) []byte {
	return bytes.Join([][]byte{
		wasmbuild.I32Const(subscriptionAddress), wasmbuild.I32Const(eventAddress), wasmbuild.I32Const(count), wasmbuild.I32Const(countAddress),
		wasmbuild.Call(0),
	}, nil)
}

// polls wait for a clock, and then for the next: an error number must not turn
// into a loop that nothing ends either.
func polls() []part {
	const realtime, monotonic = 0, 1
	var parts []part
	for _, clock := range []struct {
		name         string
		subscription []byte
	}{
		{"relative", subscription(monotonic, uint64(time.Hour), false)},
		{"of the day", subscription(realtime, uint64(time.Now().Add(time.Hour).UnixNano()), true)},
		{"monotonic", subscription(monotonic, 1<<62, true)},
		{"of the largest number", subscription(monotonic, 1<<64-1, false)},
	} {
		p := endless(wasmbuild.Guest{
			Imports: wasi("poll_oneoff", 4),
			Extra:   func(m *wasmbuild.Module) { m.Data(subscriptionAddress, clock.subscription) },
			Body:    body(wasmbuild.Loop(poll(1), wasmbuild.Drop()), noAnswer()),
		}, sandbox.Limits{})
		p.name = clock.name
		parts = append(parts, p)
	}
	return parts
}

// pollLies expects an error number for counts that cannot be.
func pollLies() part {
	var code [][]byte
	for _, count := range []int32{0, -1, 1<<31 - 1, 100_000} {
		code = append(code, poll(count), wasmbuild.I32Eqz(), wasmbuild.If(wasmbuild.Unreachable()))
	}
	code = append(code, answerWith(wasmbuild.PayloadAddress, uint32(len(goodPayload))))
	return fails(wasmbuild.Guest{Imports: wasi("poll_oneoff", 4), Body: body(code...)}, sandbox.Limits{}, answer)
}

// wasiAttempt is a call of a function of WASI: a letter for each parameter, i for
// an i32 and I for an i64, and the values.
type wasiAttempt struct {
	name, params string
	values       []int64
}

// wasiLies makes calls whose results do not matter, as long as it goes on: what
// they name is not there, and the host must not make it.
func wasiLies() part {
	const most, half = -1, 1<<31 - 1
	attempts := []wasiAttempt{
		{"random_get", "ii", []int64{most, most}}, {"random_get", "ii", []int64{0, most}},
		{"fd_write", "iiii", []int64{1, most, 1, 0}}, {"fd_write", "iiii", []int64{1, 0, most, 0}},
		{"fd_write", "iiii", []int64{1, 0, 1 << 29, 0}}, {"fd_write", "iiii", []int64{half, 0, 1, 0}},
		{"fd_read", "iiii", []int64{0, most, 1, 0}}, {"fd_read", "iiii", []int64{0, 0, most, 0}},
		{"fd_pread", "iiiIi", []int64{0, 0, most, most, 0}},
		{"fd_renumber", "ii", []int64{1, half}}, {"fd_renumber", "ii", []int64{2, 100_000_000}},
		{"fd_close", "i", []int64{half}}, {"fd_close", "i", []int64{most}},
		{"fd_prestat_dir_name", "iii", []int64{3, 0, most}}, {"fd_readdir", "iiiIi", []int64{3, 0, most, 0, 0}},
		{"path_open", "iiiiiIIii", []int64{3, 0, 0, most, 0, most, most, 0, 0}},
		{"args_get", "ii", []int64{most, most}}, {"environ_get", "ii", []int64{most, most}},
		{"args_sizes_get", "ii", []int64{most, most}}, {"clock_time_get", "iIi", []int64{0, 0, most}},
		{"clock_time_get", "iIi", []int64{most, most, 0}}, {"sched_yield", "", nil},
	}
	return fails(wasmbuild.Guest{
		Imports: func(m *wasmbuild.Module) {
			for _, a := range attempts {
				m.ImportFunction(wasiModule, a.name, a.signature())
			}
		},
		Body: func(*wasmbuild.Module) [][]byte {
			var code [][]byte
			for i, a := range attempts {
				for at, value := range a.values {
					if a.params[at] == 'I' {
						code = append(code, wasmbuild.I64Const(value))
					} else {
						code = append(code, wasmbuild.I32Const(int32(value)))
					}
				}
				code = append(code, wasmbuild.Call(uint32(i)), wasmbuild.Drop())
			}
			return append(code, answerWith(wasmbuild.PayloadAddress, uint32(len(goodPayload))))
		},
	}, sandbox.Limits{}, answer)
}

func (a wasiAttempt) signature() wasmbuild.Signature {
	s := wasmbuild.Signature{Results: []wasmbuild.ValueType{wasmbuild.I32}}
	for _, letter := range a.params {
		if letter == 'I' {
			s.Params = append(s.Params, wasmbuild.I64)
		} else {
			s.Params = append(s.Params, wasmbuild.I32)
		}
	}
	return s
}

// procExit imports proc_exit, which has no result.
func procExit(m *wasmbuild.Module) {
	m.ImportFunction(wasiModule, "proc_exit", wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}})
}

func exits() []part {
	var parts []part
	for _, exit := range []struct {
		name string
		code int32
		want string
	}{{"0", 0, "/0"}, {"7", 7, "/7"}, {"the largest", -1, "/4294967295"}} {
		p := fails(wasmbuild.Guest{Imports: procExit, Body: body(wasmbuild.I32Const(exit.code), wasmbuild.Call(0), noAnswer())},
			sandbox.Limits{}, abi.CodeSandboxExit+exit.want)
		p.name = exit.name
		parts = append(parts, p)
	}
	return parts
}
