package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/engine"
	"vcphost/sandbox/hostfunc"
	"vcphost/sandbox/snapshot"
)

// guest is one instance of a plugin over its memory. One call uses it at a time.
type guest struct {
	plugin   *Plugin
	instance *engine.Instance
	mapping  *snapshot.Mapping
	ctx      *engine.GuestContext

	alloc, call         *engine.Function
	globals             []engine.Global // in the order of Rewritten.Globals
	fuel, size, refused engine.Global   // size and refused where the memory is virtual

	stack    [2]uint64
	input    []byte // a buffer for invocations
	calls    int
	running  *engine.Function // the function of the guest that runs
	spoiled  bool             // not to be used again
	turn     turn
	run      running
	out, err lines
}

// running is the call that a guest is in.
type running struct {
	ctx     context.Context
	call    *hostfunc.Call
	began   time.Time // of the slice that runs
	granted int64     // units of fuel so far
	budget  int64     // units of the whole call; 0 is none
	queued  time.Duration
	slices  int
	over    time.Time // when it was noticed that ctx is over
	// abandoned: a host function still runs, and has the call for itself.
	abandoned bool
}

// lines is a standard stream of a guest, which goes to the log of the call that
// it is in.
type lines struct {
	guest *guest
	level slog.Level
	to    *hostfunc.LineWriter // nil until something is written
}

func (l *lines) write(p []byte) {
	if l.to == nil {
		l.to = l.guest.run.call.LineWriter(l.level)
	}
	_, _ = l.to.Write(p) // never fails
}

// end writes what is left of the last line.
func (l *lines) end() {
	if l.to != nil {
		l.to.Flush()
		l.to = nil
	}
}

// instantiate makes a guest over the memory of an image. No code of the guest
// has run, and it has the image's memory, not the globals that belong to it.
func (p *Plugin) instantiate(ctx context.Context, image *snapshot.Image) (*guest, error) {
	size := uint64(p.rewritten.Memory.Compiled) * pageBytes
	mapping, err := image.Map(max(size, pageBytes))
	if err != nil {
		return nil, hostFailed("no memory for an instance", err)
	}
	g := &guest{plugin: p, mapping: mapping}
	g.out, g.err = lines{guest: g, level: slog.LevelInfo}, lines{guest: g, level: slog.LevelWarn}
	g.ctx = engine.NewGuestContext(g)
	g.instance, err = p.code.Instantiate(ctx, mapping.Bytes()[:size], p.sandbox.nanotime)
	if err != nil {
		return nil, errors.Join(hostFailed("no instance", err), mapping.Unmap())
	}
	g.find()
	p.sandbox.counters.started.Add(1)
	return g, nil
}

func hostFailed(what string, err error) *abi.Error {
	return abi.NewError(abi.CodeDependencyUnavailable, "the sandbox has %s", what).WithCause(err)
}

// find looks up what a call needs of an instance.
func (g *guest) find() {
	r := g.plugin.rewritten
	g.alloc, g.call = g.instance.Function(exportAlloc), g.instance.Function(exportCall)
	g.fuel, _ = g.instance.Global(r.Fuel)
	if r.Memory.Virtual {
		g.size, _ = g.instance.Global(r.MemorySize)
		g.refused, _ = g.instance.Global(r.MemoryRefused)
	}
	g.globals = make([]engine.Global, 0, len(r.Globals))
	for _, exported := range r.Globals {
		global, _ := g.instance.Global(exported.Name)
		g.globals = append(g.globals, global)
	}
}

// close ends the instance and gives its memory back.
func (g *guest) close(ctx context.Context) error {
	return errors.Join(g.instance.Close(ctx), g.mapping.Unmap())
}

// memory is the linear memory as the guest sees it, until it grows.
func (g *guest) memory() []byte {
	return g.mapping.Bytes()[:g.memoryBytes()]
}

func (g *guest) memoryBytes() uint64 {
	if g.plugin.rewritten.Memory.Virtual {
		return g.size.Get() * pageBytes
	}
	return uint64(g.plugin.rewritten.Memory.Initial) * pageBytes
}

// view gives bytes of the guest's memory, valid until the guest runs on.
func (g *guest) view(address, size uint32) ([]byte, bool) {
	memory := g.memory()
	end := uint64(address) + uint64(size)
	if end > uint64(len(memory)) {
		return nil, false
	}
	return memory[address:end:end], true
}

// enter begins a call: from here to leave the guest's functions may run.
func (g *guest) enter(ctx context.Context, call *hostfunc.Call, began time.Time) {
	g.run = running{ctx: ctx, call: call, budget: g.plugin.limits.Fuel, began: began}
	g.run.granted = g.grant(0)
	g.fuel.Set(uint64(g.run.granted))
	if g.plugin.rewritten.Memory.Virtual {
		g.refused.Set(0) // what another call was refused is not this one's failure
	}
}

// leave ends a call. What the guest holds of the host is given back; its state
// stays as the call left it.
func (g *guest) leave() {
	g.plugin.sandbox.turns.leave(&g.turn)
	if g.run.abandoned {
		g.out.to, g.err.to = nil, nil
	}
	g.out.end()
	g.err.end()
	g.run = running{}
	g.calls++
}

// used is the fuel that the call took so far.
func (g *guest) used() int64 { return g.run.granted - int64(g.fuel.Get()) }

// start begins an instance that is as its image has it: data, the start
// function and _initialize.
func (g *guest) start() error {
	r := g.plugin.rewritten
	constant := func(name string) uint32 {
		global, _ := g.instance.Constant(name)
		return uint32(global)
	}
	if err := r.WriteData(g.mapping.Bytes(), constant); err != nil {
		return abi.NewError(abi.CodeSandboxTrap, "the plugin cannot start: %s", err).WithCause(err)
	}
	for _, name := range []string{r.Start, exportInitialize} {
		if err := g.runNamed(name); err != nil {
			return fmt.Errorf("start the instance: %w", err)
		}
	}
	return nil
}

// runNamed calls an exported function of no arguments, if there is one.
func (g *guest) runNamed(name string) error {
	if name == "" {
		return nil
	}
	function := g.instance.Function(name)
	if function == nil {
		return nil
	}
	return g.enterFunction(function, nil)
}

// enterFunction runs a function of the guest. A panic of refuel or of a host
// function comes back as its error.
func (g *guest) enterFunction(function *engine.Function, stack []uint64) error {
	g.running = function
	return function.Call(g.ctx, stack)
}

// serve hands the guest the input and gives a copy of its answer.
func (g *guest) serve(input []byte) ([]byte, error) {
	address, err := g.deliver(input)
	if err != nil {
		return nil, err
	}
	g.stack[0], g.stack[1] = address, uint64(len(input))
	if err := g.enterFunction(g.call, g.stack[:]); err != nil {
		return nil, fmt.Errorf("call the plugin: %w", err)
	}
	return g.collect(g.stack[0])
}

// deliver writes the input into memory that the guest allocates for it.
func (g *guest) deliver(input []byte) (address uint64, err error) {
	g.stack[0] = uint64(len(input))
	if err := g.enterFunction(g.alloc, g.stack[:1]); err != nil {
		return 0, fmt.Errorf("allocate %d bytes for the invocation: %w", len(input), err)
	}
	address = uint64(uint32(g.stack[0]))
	if address == 0 {
		have := int64(g.plugin.limits.MemoryMiB)
		return 0, abi.NewError(abi.CodeSandboxMemoryLimit, "the plugin has no room for an invocation of %d bytes", len(input)).
			WithDetails(overLimit("memoryMiB", have, have+1))
	}
	view, ok := g.view(uint32(address), uint32(len(input)))
	if !ok {
		return 0, abi.NewError(abi.CodeInvalidToolResult, "%s(%d) returned %d, which is outside the plugin's memory", exportAlloc, len(input), address)
	}
	copy(view, input)
	return address, nil
}

// collect copies the payload that the guest's answer points to.
func (g *guest) collect(packed uint64) ([]byte, error) {
	address, size := uint32(packed>>32), uint32(packed)
	limit := g.plugin.limits.MaxOutputBytes
	switch {
	case packed == 0 || size == 0:
		return nil, abi.NewError(abi.CodeInvalidToolResult, "%s returned no payload", exportCall)
	case int64(size) > limit:
		return nil, abi.NewError(abi.CodeInvalidToolResult, "the payload has %d bytes, and the plugin may return %d", size, limit).
			WithDetails(overLimit("maxOutputBytes", limit, int64(size)))
	}
	view, ok := g.view(address, size)
	if !ok {
		return nil, abi.NewError(abi.CodeInvalidToolResult, "%s returned address %d with %d bytes, which is outside the plugin's memory", exportCall, address, size)
	}
	return bytes.Clone(view), nil
}

// sleep waits as a guest asked, without its turn and no longer than its call.
func (g *guest) sleep(ns int64) {
	if g.run.call == nil || ns <= 0 {
		return
	}
	g.away(func() { g.run.call.Sleep(ns) })
}

// away waits for something outside the guest, without its turn. The time is not
// that of its slice.
func (g *guest) away(wait func()) {
	g.plugin.sandbox.turns.leave(&g.turn)
	began := time.Now()
	wait()
	g.run.began = g.run.began.Add(time.Since(began))
}

// restore puts the guest back to the plugin's snapshot.
func (g *guest) restore() error {
	if _, err := g.mapping.Restore(); err != nil {
		return fmt.Errorf("restore an instance: %w", err)
	}
	for i, value := range g.plugin.template.globals {
		g.globals[i].Set(value)
	}
	return nil
}
