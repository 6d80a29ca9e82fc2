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
