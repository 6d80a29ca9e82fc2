package sandbox

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"vcphost/sandbox/engine"
	"vcphost/sandbox/hostfunc"
)

// wasiFunctions are the functions of WASI preview 1 that are the sandbox's own:
// an exit that leaves the instance whole, so that it can be put back and used
// again; what can take long, so that it ends with the call; and everything that
// the engine would keep in an instance from one call to the next.
func wasiFunctions() []engine.HostFunction {
	exit := engine.HostFunction{Name: "proc_exit", Params: []engine.ValueType{engine.I32}, Call: func(_ context.Context, stack []uint64) {
		panic(engine.Exit(uint32(stack[0])))
	}}
	list := []engine.HostFunction{
		exit,
		wasiFunction("poll_oneoff", "iiii", func(g *guest, a []uint64) uint32 {
			return g.poll(uint32(a[0]), uint32(a[1]), uint32(a[2]), uint32(a[3]))
		}),
		wasiFunction("random_get", "ii", func(g *guest, a []uint64) uint32 { return g.random(uint32(a[0]), uint32(a[1])) }),
	}
	return append(list, descriptorFunctions()...)
}

// wasiFunction is one that answers with an error number. Parameters are told by
// a letter each: i for I32, I for I64.
func wasiFunction(name, params string, call func(g *guest, arguments []uint64) uint32) engine.HostFunction {
	f := engine.HostFunction{Name: name, Results: []engine.ValueType{engine.I32}}
	for _, letter := range params {
		if letter == 'I' {
			f.Params = append(f.Params, engine.I64)
		} else {
			f.Params = append(f.Params, engine.I32)
		}
	}
	f.Call = func(ctx context.Context, stack []uint64) {
		g := engine.State(ctx).(*guest)
		g.endOver()
		stack[0] = uint64(call(g, stack))
	}
	return f
}

// random fills guest memory from the host's cryptographic source.
func (g *guest) random(address, size uint32) uint32 {
	view, ok := g.view(address, size)
	switch {
	case !ok:
		return wasiFault
	case g.run.call.Random(view) != hostfunc.OK:
		return wasiIO
	}
	return wasiSuccess
}

// Error numbers of WASI preview 1.
const (
	wasiSuccess = 0
	wasiBadF    = 8
	wasiFault   = 21
	wasiInval   = 28
	wasiIO      = 29
)

// Sizes and values of what poll_oneoff reads and writes.
const (
	subscriptionBytes = 48
	eventBytes        = 32
	maxSubscriptions  = 4096

	eventClock, eventRead, eventWrite = 0, 1, 2
	clockRealtime, clockMonotonic     = 0, 1
	clockAbsolute                     = 1 // flag
)

// poll waits for the first of some clocks, relative or absolute, and tells
// of all that are due. Standard input is at its end, output and error can be
// written to: a subscription of theirs does not wait.
func (g *guest) poll(in, out, count, told uint32) uint32 {
	if count == 0 || count > maxSubscriptions {
		return wasiInval
	}
	subscriptions, inOK := g.view(in, count*subscriptionBytes)
	events, outOK := g.view(out, count*eventBytes)
	number, toldOK := g.view(told, 4)
	if !inOK || !outOK || !toldOK {
		return wasiFault
	}
	subscriptions = append([]byte(nil), subscriptions...) // the two may overlap
	polled := g.polled(subscriptions)
	first := int64(math.MaxInt64)
	for _, p := range polled {
		first = min(first, p.wait)
	}
	g.sleep(first)
	n := uint32(0)
	for _, p := range polled {
		if p.wait <= first {
			event := events[n*eventBytes:][:eventBytes]
			clear(event)
			binary.LittleEndian.PutUint64(event, p.userdata)
			binary.LittleEndian.PutUint16(event[8:], p.errno)
			event[10] = p.kind
			n++
		}
	}
	binary.LittleEndian.PutUint32(number, n)
	return wasiSuccess
}

// polled is one subscription: how many nanoseconds it waits, and its event.
type polled struct {
	wait     int64
	userdata uint64
	errno    uint16
	kind     byte
}

func (g *guest) polled(subscriptions []byte) []polled {
	list := make([]polled, 0, len(subscriptions)/subscriptionBytes)
	for len(subscriptions) > 0 {
		s := subscriptions[:subscriptionBytes]
		subscriptions = subscriptions[subscriptionBytes:]
		p := polled{userdata: binary.LittleEndian.Uint64(s), kind: s[8]}
		switch fd := binary.LittleEndian.Uint32(s[16:]); p.kind {
		case eventClock:
			p.wait, p.errno = g.clockWait(s)
		case eventRead:
			if fd != 0 {
				p.errno = wasiBadF
			}
		case eventWrite:
			if fd != 1 && fd != 2 {
				p.errno = wasiBadF
			}
		default:
			p.errno = wasiInval
		}
		list = append(list, p)
	}
	return list
}

// clockWait reads how long a subscription of a clock waits, in nanoseconds.
func (g *guest) clockWait(s []byte) (wait int64, errno uint16) {
	timeout := binary.LittleEndian.Uint64(s[24:])
	wait = int64(min(timeout, math.MaxInt64))
	clock, flags := binary.LittleEndian.Uint32(s[16:]), binary.LittleEndian.Uint16(s[40:])
	if clock != clockRealtime && clock != clockMonotonic {
		return 0, wasiInval
	}
	if flags&clockAbsolute != 0 {
		now := time.Now().UnixNano()
		if clock == clockMonotonic {
			now = g.plugin.sandbox.nanotime()
		}
		wait -= now
	}
	return max(wait, 0), wasiSuccess
}
