package sandbox

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/engine"
	"vcphost/sandbox/wasmbuild"
)

// Where the polling guest has its things: subscriptions are poked in by the test
// as data, so that a guest is made for each case.
const (
	subscriptionsAt = 16_384
	eventsAt        = 24_576
	toldAt          = 28_672
)

// subscription is one of poll_oneoff's, as WASI lays it out.
type subscription struct {
	userdata uint64
	kind     byte
	fd       uint32 // or the clock
	timeout  uint64
	absolute bool
}

func (s subscription) bytes() []byte {
	b := make([]byte, subscriptionBytes)
	binary.LittleEndian.PutUint64(b, s.userdata)
	b[8] = s.kind
	binary.LittleEndian.PutUint32(b[16:], s.fd)
	binary.LittleEndian.PutUint64(b[24:], s.timeout)
	if s.absolute {
		b[40] = clockAbsolute
	}
	return b
}

// polls is a guest that polls once, and answers its error number, the number of
// events, and of the first three userdata and error with kind. Before it polls,
// where ahead is set, it adds its own clock to the first timeout.
func polls(in, out, number, told int32, subscriptions []subscription, ahead int32) wasmbuild.Guest {
	i32, i64 := wasmbuild.I32, wasmbuild.I64
	c := wasmbuild.I32Const
	i64Load := []byte{0x29, 0x00, 0x00}
	var raw []byte
	for _, s := range subscriptions {
		raw = append(raw, s.bytes()...)
	}
	return wasmbuild.Guest{
		Locals: []wasmbuild.ValueType{i64},
		Imports: func(m *wasmbuild.Module) {
			const wasi = "wasi_snapshot_preview1"
			m.ImportFunction(wasi, "poll_oneoff", wasmbuild.Signature{Params: []wasmbuild.ValueType{i32, i32, i32, i32}, Results: []wasmbuild.ValueType{i32}})
			m.ImportFunction(wasi, "clock_time_get", wasmbuild.Signature{Params: []wasmbuild.ValueType{i32, i64, i32}, Results: []wasmbuild.ValueType{i32}})
		},
		Extra: func(m *wasmbuild.Module) {
			if len(raw) > 0 {
				m.Data(subscriptionsAt, raw)
			}
		},
		Body: func(*wasmbuild.Module) [][]byte {
			var code []byte
			if ahead >= 0 { // the clock's number
				code = join(
					c(ahead), wasmbuild.I64Const(1), c(9000), wasmbuild.Call(1), wasmbuild.Drop(),
					c(subscriptionsAt+24), c(subscriptionsAt+24), i64Load, c(9000), i64Load, wasmbuild.Op(0x7c), wasmbuild.I64Store(),
				)
			}
			event := func(n int32) [][]byte {
				return [][]byte{
					join(c(eventsAt+n*eventBytes), i64Load),
					join(c(eventsAt+n*eventBytes+8), i64Load),
				}
			}
			words := [][]byte{
				wide(c(in), c(out), c(number), c(told), wasmbuild.Call(0)),
				wide(c(toldAt), wasmbuild.I32Load()),
			}
			return [][]byte{code, answers(slices.Concat(words, event(0), event(1), event(2))...)}
		},
	}
}

func eventWord(errno uint16, kind byte) int64 { return int64(errno) | int64(kind)<<16 }

func TestPoll(t *testing.T) {
	const ms = uint64(time.Millisecond)
	clock := func(id uint64, of uint32, timeout uint64) subscription {
		return subscription{userdata: id, fd: of, timeout: timeout}
	}
	later := func(of uint32) subscription {
		return subscription{userdata: 1, fd: of, timeout: 40 * ms, absolute: true}
	}
	hour := uint64(time.Hour)
	for _, test := range []struct {
		name          string
		subscriptions []subscription
		ahead         int32 // the clock whose time the first timeout follows, -1 for none
		atLeast       time.Duration
		want          []int64 // errno, events, and of each userdata and its word
	}{
		{"a relative time", []subscription{clock(7, clockMonotonic, 40*ms)}, -1, 40 * time.Millisecond, []int64{0, 1, 7, 0}},
		{"a relative time of the other clock", []subscription{clock(7, clockRealtime, 40*ms)}, -1, 40 * time.Millisecond, []int64{0, 1, 7, 0}},
		{"no time", []subscription{clock(7, clockMonotonic, 0)}, -1, 0, []int64{0, 1, 7, 0}},
		{"an absolute time", []subscription{later(clockMonotonic)}, clockMonotonic, 38 * time.Millisecond, []int64{0, 1, 1, 0}},
		{"an absolute time of the day", []subscription{later(clockRealtime)}, clockRealtime, 38 * time.Millisecond, []int64{0, 1, 1, 0}},
		{"a time that is over", []subscription{{userdata: 2, fd: clockRealtime, timeout: 5, absolute: true}}, -1, 0, []int64{0, 1, 2, 0}},
		{"a clock that is not there", []subscription{clock(3, 9, hour)}, -1, 0, []int64{0, 1, 3, eventWord(wasiInval, 0)}},
		{"the first of several", []subscription{clock(1, clockMonotonic, hour), clock(2, clockMonotonic, 30*ms), clock(3, clockMonotonic, hour)}, -1, 30 * time.Millisecond, []int64{0, 1, 2, 0}},
		{"two at a time", []subscription{clock(1, clockMonotonic, 30*ms), clock(2, clockMonotonic, hour), clock(3, clockMonotonic, 30*ms)}, -1, 30 * time.Millisecond, []int64{0, 2, 1, 0, 3, 0}},
		{"streams do not wait", []subscription{clock(1, clockMonotonic, hour), {userdata: 2, kind: eventRead}, {userdata: 3, kind: eventWrite, fd: 1}}, -1, 0,
			[]int64{0, 2, 2, eventWord(0, eventRead), 3, eventWord(0, eventWrite)}},
		{"descriptors that are not there", []subscription{{userdata: 2, kind: eventRead, fd: 1}, {userdata: 3, kind: eventWrite, fd: 77}}, -1, 0,
			[]int64{0, 2, 2, eventWord(wasiBadF, eventRead), 3, eventWord(wasiBadF, eventWrite)}},
		{"a kind that is not there", []subscription{{userdata: 2, kind: 200}}, -1, 0, []int64{0, 1, 2, eventWord(wasiInval, 200)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			guest := polls(subscriptionsAt, eventsAt, int32(len(test.subscriptions)), toldAt, test.subscriptions, test.ahead)
			p := opened(t, box(t, nil), Module{Binary: guest.Bytes()})
			began := time.Now()
			words, _ := ask(t, p, "")
			took := time.Since(began)
			if got := words[:len(test.want)]; !slices.Equal(got, test.want) || slices.Max(words[len(test.want):]) > 0 {
				t.Errorf("got %v, want %v and zeros", words, test.want)
			}
			if took < test.atLeast || took > test.atLeast+farBeyond {
				t.Errorf("it took %v, want %v", took, test.atLeast)
			}
		})
	}
}

func TestPollRefuses(t *testing.T) {
	all := int32(2 * pageBytes)
	one := []subscription{{userdata: 1}}
	for _, test := range []struct {
		name                  string
		in, out, number, told int32
		want                  int64
	}{
		{"none", subscriptionsAt, eventsAt, 0, toldAt, wasiInval},
		{"too many", subscriptionsAt, eventsAt, maxSubscriptions + 1, toldAt, wasiInval},
		{"as many as there are numbers", subscriptionsAt, eventsAt, -1, toldAt, wasiInval},
		{"as many as wrap to one", subscriptionsAt, eventsAt, 0x55555556, toldAt, wasiInval}, // 48 times it is 2^35+32
		{"subscriptions outside", all - 47, eventsAt, 1, toldAt, wasiFault},
		{"subscriptions at the end of addresses", -48, eventsAt, 2, toldAt, wasiFault},
		{"events outside", subscriptionsAt, all - 31, 1, toldAt, wasiFault},
		{"the number outside", subscriptionsAt, eventsAt, 1, all - 3, wasiFault},
		{"in and out in one place", subscriptionsAt, subscriptionsAt, 1, toldAt, wasiSuccess},
		{"the number within the events", subscriptionsAt, eventsAt, 1, eventsAt, wasiSuccess},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := opened(t, box(t, nil), Module{Binary: polls(test.in, test.out, test.number, test.told, one, -1).Bytes()})
			if words, _ := ask(t, p, ""); words[0] != test.want {
				t.Errorf("got %d, want %d", words[0], test.want)
			}
		})
	}
}

func TestASleepEndsAtTheDeadline(t *testing.T) {
	for _, kind := range []subscription{{fd: clockMonotonic, timeout: uint64(time.Hour)}, {fd: clockRealtime, timeout: 1<<64 - 1, absolute: true}} {
		p := opened(t, box(t, nil), Module{Binary: polls(subscriptionsAt, eventsAt, 1, toldAt, []subscription{kind}, -1).Bytes()})
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), shortDeadline)
		_, err := p.Invoke(ctx, &abi.Invocation{})
		cancel()
		if took := time.Since(began); abi.CodeOf(err) != abi.CodeToolTimeout || took < shortDeadline || took > shortDeadline+farBeyond {
			t.Errorf("after %v: %v, want %s after %v", took, err, abi.CodeToolTimeout, shortDeadline)
		}
		if turns := p.sandbox.turns; turns.free != newTurns().free {
			t.Errorf("%d turns are free", turns.free)
		}
	}
}

// A guest of WASI: closes its streams and writes to them; fills memory with
// random bytes; names descriptors that it does not have. Nothing of it is there
// in the next call.
func TestDescriptorsStayAsTheyAre(t *testing.T) {
	i32 := wasmbuild.I32
	c := wasmbuild.I32Const
	const wasi = "wasi_snapshot_preview1"
	ints := func(n int) wasmbuild.Signature {
		return wasmbuild.Signature{Params: slices.Repeat([]wasmbuild.ValueType{i32}, n), Results: []wasmbuild.ValueType{i32}}
	}
	p := opened(t, box(t, nil), Module{Binary: wasmbuild.Guest{
		Imports: func(m *wasmbuild.Module) {
			m.ImportFunction(wasi, "fd_write", ints(4))
			m.ImportFunction(wasi, "fd_close", ints(1))
			m.ImportFunction(wasi, "fd_renumber", ints(2))
			m.ImportFunction(wasi, "fd_read", ints(4))
			m.ImportFunction(wasi, "random_get", ints(2))
		},
		Extra: func(m *wasmbuild.Module) { m.Data(10_000, []byte{0, 4, 0, 0, 3, 0, 0, 0}) },
		Body: func(*wasmbuild.Module) [][]byte {
			return [][]byte{answers(
				wide(c(1), c(10_000), c(1), c(10_100), wasmbuild.Call(0)), wide(c(10_100), wasmbuild.I32Load()),
				wide(c(1), wasmbuild.Call(1)), wide(c(2), c(1<<30), wasmbuild.Call(2)), wide(c(9), wasmbuild.Call(1)),
				wide(c(0), c(10_000), c(1), c(10_100), wasmbuild.Call(3)), wide(c(10_100), wasmbuild.I32Load()),
				wide(c(20_000), c(64), wasmbuild.Call(4)), wide(c(2*pageBytes-8), c(9), wasmbuild.Call(4)),
				wide(c(1), c(10_000), c(-1), c(10_100), wasmbuild.Call(0)), wide(c(1), c(2*pageBytes-4), c(1), c(10_100), wasmbuild.Call(0)),
				wide(c(5), c(10_000), c(1), c(10_100), wasmbuild.Call(0)),
			)}
		},
	}.Bytes()})
	want := []int64{0, 3, 0, wasiBadF, wasiBadF, 0, 0, 0, wasiFault, wasiInval, wasiFault, wasiBadF}
	for i, path := range []string{pathMade, pathPooled, pathPooled} {
		if words, figures := ask(t, p, ""); !slices.Equal(words, want) || figures.Path != path {
			t.Errorf("call %d gives %v by %s, want %v by %s", i+1, words, figures.Path, want, path)
		}
	}
}

// The sandbox's own functions of WASI have the types that guests import.
func TestWASIFunctionsHaveTheirTypes(t *testing.T) {
	theirs, err := json.Marshal(wasiSignatures(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := json.Marshal(wasiSignatures(t, wasiFunctions()))
	if err != nil {
		t.Fatal(err)
	}
	if string(ours) != string(theirs) {
		t.Errorf("got %s\nwant %s", ours, theirs)
	}
}

func wasiSignatures(t *testing.T, instead []engine.HostFunction) map[string]string {
	t.Helper()
	ctx := context.Background()
	e := engine.New(ctx, nil)
	if err := e.LinkWASI(ctx, instead); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	types := map[string]string{}
	for _, f := range wasiFunctions() {
		signature, linked := e.Linked("wasi_snapshot_preview1", f.Name)
		if !linked {
			t.Errorf("%s is no function of WASI", f.Name)
		}
		types[f.Name] = signature.String()
	}
	return types
}
