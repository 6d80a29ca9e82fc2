package sandbox

import (
	"testing"
	"time"

	"vcphost/sandbox/wasmbuild"
)

// TestWaitingIsNotPartOfASlice: a guest that sleeps between its work would else
// be taken for a slow one, and come back to the host a hundred times as often.
func TestWaitingIsNotPartOfASlice(t *testing.T) {
	sleep := subscription{fd: clockMonotonic, timeout: uint64(2500 * time.Microsecond)}
	guest := polls(subscriptionsAt, eventsAt, 1, toldAt, []subscription{sleep}, -1)
	guest.Locals = append([]wasmbuild.ValueType{wasmbuild.I32}, guest.Locals...)
	guest.Body = func(*wasmbuild.Module) [][]byte {
		poll := join(wasmbuild.I32Const(subscriptionsAt), wasmbuild.I32Const(eventsAt), wasmbuild.I32Const(1), wasmbuild.I32Const(toldAt), wasmbuild.Call(0), wasmbuild.Drop())
		var code []byte
		for range 30 {
			code = append(code, join(poll, repeat(1000, count(belowSize)))...)
		}
		return [][]byte{code, answers(wasmbuild.I64Const(1))}
	}
	p := opened(t, box(t, nil), Module{Binary: guest.Bytes()})
	for range 3 {
		ask(t, p, "")
	}
	if slice := p.slice.Load(); slice <= 2*leastSlice {
		t.Errorf("a slice is %d units, and began as %d", slice, firstSlice)
	}
}

// TestALargeMemoryHasSmallSlices: what a slice can take is bounded by the pages
// that it touches first, of which a large memory has many.
func TestALargeMemoryHasSmallSlices(t *testing.T) {
	grows := wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte {
		return [][]byte{wasmbuild.I32Const(0), wasmbuild.MemoryGrow(), wasmbuild.Drop(), wasmbuild.I64Const(0)}
	}}
	s := newSandbox(t)
	for mebibytes, want := range map[int]int64{64: firstSlice, 65: firstLargeSlice, 1024: firstLargeSlice} {
		p := open(t, s, grows, Limits{MemoryMiB: mebibytes})
		if got := p.slice.Load(); got != want {
			t.Errorf("with %d MiB a guest begins with %d units, want %d", mebibytes, got, want)
		}
		for slices := 2; slices < 40; slices++ { // slices that take no time at all
			p.measure(p.slice.Load(), 0, slices, 0)
		}
		if _, most := p.slices(); p.slice.Load() != most {
			t.Errorf("with %d MiB slices grow to %d units, want %d", mebibytes, p.slice.Load(), most)
		}
	}
}
