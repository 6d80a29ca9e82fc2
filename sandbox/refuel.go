package sandbox

import (
	"context"
	"errors"
	"runtime"
	"time"

	"vcphost/sandbox/engine"
	"vcphost/sandbox/wasmbin"
)

const (
	refuelModule = wasmbin.ReservedModule

	// sliceTime is how long a guest is to run before it comes back to the host.
	// While it runs, Go can neither stop the world nor give its thread to others.
	sliceTime = time.Millisecond
	// firstSlice is the first guess of how much fuel that is, in units; the guess
	// follows what is measured between the bounds.
	firstSlice, leastSlice, mostSlice = 1 << 17, 1 << 13, 1 << 24
	// firstLargeSlice and mostLargeSlice are for a memory of more than largeMemory.
	// The first touch of a page costs one or two microseconds and no more fuel than
	// the next, and in a large memory there are many first touches.
	firstLargeSlice, mostLargeSlice, largeMemory = 1 << 14, 1 << 17, 64 * mebibyte

	// grace is how long a guest may go on once its call is over, so that one that
	// asks whether it is cancelled can still see it and finish; nothing that it
	// returns counts.
	grace = 8 * time.Millisecond

	// maxStackBytes bounds the stack of a guest. The engine's own bound is 400 MB,
	// and what a stack has grown to it keeps.
	maxStackBytes = 16 << 20
	// keptStackBytes is the largest stack that an instance may come back with.
	keptStackBytes = 2 << 20
)

// Why refuel ended a guest.
var (
	errOver  = errors.New("the call is over")
	errFuel  = errors.New("the fuel is used up")
	errStack = errors.New("the stack is used up")
)

// refuelFunction is the host function that every guest calls when its fuel is
// used up: the one place where a running guest can be stopped.
func refuelFunction() engine.HostFunction {
	return engine.HostFunction{
		Name:   wasmbin.RefuelName,
		Params: []engine.ValueType{engine.I64}, Results: []engine.ValueType{engine.I64},
		Call: func(ctx context.Context, stack []uint64) {
			g := engine.State(ctx).(*guest)
			left := int64(stack[0])
			granted := g.refuel(left)
			g.run.granted += granted
			stack[0] = uint64(left + granted)
		},
	}
}

// refuel ends the guest by a panic, or gives it fuel for its next slice, which
// may begin later. The fuel that is left is below zero by what the guest took
// beyond its last slice.
func (g *guest) refuel(left int64) int64 {
	r := &g.run
	now := time.Now()
	r.slices++
	g.plugin.measure(g.run.granted, left, r.slices, now.Sub(r.began))
	switch {
	case r.budget > 0 && r.granted-left > r.budget:
		panic(errFuel)
	case g.running.StackBytes() > maxStackBytes:
		panic(errStack)
	}
	over := g.endOver()
	if !over && g.plugin.sandbox.turns.next(r.ctx, &g.turn) {
		r.queued += time.Since(now)
		over = g.endOver() // what ended the wait may be the end of the call
	}
	if over {
		g.plugin.sandbox.turns.leave(&g.turn)
		// Many calls may end at once. None has a turn then, and each would keep a
		// processor for all of its grace, one behind the other.
		runtime.Gosched()
	}
	r.began = time.Now()
	return g.grant(left)
}

// grant is the fuel for a slice that begins with so much left: what the plugin's
// slice holds, but no more than the budget of the call.
func (g *guest) grant(left int64) int64 {
	granted := g.plugin.slice.Load() - left
	if g.run.budget > 0 {
		granted = min(granted, g.run.budget-g.run.granted)
	}
	return max(granted, -left)
}

// endOver ends the guest by a panic if its call has been over for the grace, and
// reports whether it is over. Host functions come here too: they may take long
// and cost the guest next to nothing.
func (g *guest) endOver() (over bool) {
	r := &g.run
	if r.ctx.Err() == nil {
		return false
	}
	switch now := time.Now(); {
	case r.over.IsZero():
		r.over = now
	case now.Sub(r.over) > grace:
		g.plugin.sandbox.turns.leave(&g.turn)
		panic(errOver)
	}
	return true
}

// slices are the first and the largest slice of the plugin's guests.
func (p *Plugin) slices() (first, most int64) {
	if uint64(p.rewritten.Memory.Compiled)*pageBytes > largeMemory {
		return firstLargeSlice, mostLargeSlice
	}
	return firstSlice, mostSlice
}

// measure lets the plugin's slice follow how long slices took. The first of a
// call has little to tell: it began before the guest did.
func (p *Plugin) measure(granted, left int64, slices int, took time.Duration) {
	slice := p.slice.Load()
	if slices < 2 || granted-left < slice {
		return
	}
	switch {
	case took > 2*sliceTime:
		p.slice.Store(max(slice/2, leastSlice))
	case took < sliceTime/2:
		_, most := p.slices()
		p.slice.Store(min(slice*2, most))
	}
}
