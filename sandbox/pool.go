package sandbox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

const (
	// maxIdle bounds the instances of one plugin that wait for calls.
	maxIdle = 64
	// instanceBytes is what an instance costs beside its memory: two stacks, the
	// engine's tables.
	instanceBytes = 48 << 10
	// maxCalls is how many calls an instance serves before a new one takes its
	// place, so that nothing that is not put back can gather for ever.
	maxCalls = 10_000
)

// idle holds the instances of one plugin that wait for calls; the one that was
// used last is used next, for its memory is in the processor's caches.
type idle struct {
	mu        sync.Mutex
	guests    []*guest
	closed    bool
	refilling bool // an instance is being made in the background
}

func (i *idle) any() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.guests) > 0
}

func (i *idle) take() *guest {
	i.mu.Lock()
	defer i.mu.Unlock()
	last := len(i.guests) - 1
	if last < 0 {
		return nil
	}
	g := i.guests[last]
	i.guests[last] = nil
	i.guests = i.guests[:last]
	return g
}

// put takes an instance, false if there is no room.
func (i *idle) put(g *guest) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || len(i.guests) >= maxIdle {
		return false
	}
	i.guests = append(i.guests, g)
	return true
}

// poolBudget counts the memory of all instances that wait, and ends those of
// the plugin that was called least recently when there is too much of it.
type poolBudget struct {
	limit int64
	used  atomic.Int64

	mu      sync.Mutex
	plugins map[*Plugin]bool // that are open
}

func (b *poolBudget) open(p *Plugin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.plugins == nil {
		b.plugins = map[*Plugin]bool{}
	}
	b.plugins[p] = true
}

func (b *poolBudget) close(p *Plugin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.plugins, p)
}

// room makes room for one more instance to wait, and reports whether there is.
func (b *poolBudget) room(g *guest) bool {
	if b.used.Load()+g.bytes() <= b.limit {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.used.Load()+g.bytes() > b.limit {
		victim := b.oldest(g.plugin)
		if victim == nil {
			if g.plugin.isolation == IsolationShared {
				return false // giving memory back is putting it back
			}
			return g.mapping.GiveBack() == nil && b.used.Load()+g.bytes() <= b.limit
		}
		if evicted := victim.idle.take(); evicted != nil {
			b.used.Add(-evicted.bytes())
			victim.discard(evicted)
		}
	}
	return true
}

// oldest finds the plugin, other than one, that has instances waiting and was
// called least recently.
func (b *poolBudget) oldest(but *Plugin) (found *Plugin) {
	for p := range b.plugins {
		if p != but && p.idle.any() && (found == nil || p.lastKept.Load() < found.lastKept.Load()) {
			found = p
		}
	}
	return found
}

// bytes is what the instance costs while it waits.
func (g *guest) bytes() int64 { return int64(g.mapping.ResidentBytes()) + instanceBytes }

// acquire gives an instance that is as the snapshot has it.
func (p *Plugin) acquire(ctx context.Context) (g *guest, path string, err error) {
	if g := p.idle.take(); g != nil {
		p.sandbox.pool.used.Add(-g.bytes())
		return g, pathPooled, nil
	}
	g, err = p.fromTemplate(ctx)
	return g, pathMade, err
}

// fromTemplate makes an instance that is as the snapshot has it.
func (p *Plugin) fromTemplate(ctx context.Context) (*guest, error) {
	g, err := p.instantiate(ctx, p.template.image)
	if err != nil {
		return nil, err
	}
	for i, value := range p.template.globals {
		g.globals[i].Set(value)
	}
	return g, nil
}

// release puts an instance back to the snapshot and keeps it for the next call,
// or ends it where it is not worth keeping.
func (p *Plugin) release(g *guest) {
	g.spoiled = g.spoiled || g.call.StackBytes()+g.alloc.StackBytes() > keptStackBytes
	keep := !g.spoiled && g.calls < maxCalls
	if keep && p.isolation != IsolationShared {
		if err := g.restore(); err != nil {
			p.logger.Warn("an instance could not be restored", "error", err)
			keep = false
		}
	}
	if keep && p.keep(g) {
		return
	}
	p.discard(g)
	if g.spoiled && p.isolation == IsolationCall {
		p.refill()
	}
}

// keep puts an instance into the pool, false if there is no room for it.
func (p *Plugin) keep(g *guest) bool {
	p.lastKept.Store(p.sandbox.nanotime())
	if !p.sandbox.pool.room(g) {
		return false
	}
	p.sandbox.pool.used.Add(g.bytes())
	if p.idle.put(g) {
		return true
	}
	p.sandbox.pool.used.Add(-g.bytes())
	return false
}

func (p *Plugin) discard(g *guest) {
	if err := g.close(context.Background()); err != nil {
		p.logger.Warn("an instance could not be closed", "error", err)
	}
}

// refill makes an instance in the background, in the place of one that a call
// has spoiled, so that the next call need not wait for it.
func (p *Plugin) refill() {
	p.idle.mu.Lock()
	defer p.idle.mu.Unlock()
	if p.idle.closed || p.idle.refilling {
		return
	}
	p.idle.refilling = true
	p.refills.Go(func() {
		g, err := p.fromTemplate(context.Background())
		if err == nil && !p.keep(g) { // of an error the next call tells
			p.discard(g)
		}
		p.idle.mu.Lock()
		defer p.idle.mu.Unlock()
		p.idle.refilling = false
	})
}

// drain ends all instances that wait, and takes no more.
func (p *Plugin) drain(ctx context.Context) error {
	p.sandbox.pool.close(p)
	p.idle.mu.Lock()
	p.idle.closed = true
	guests := p.idle.guests
	p.idle.guests = nil
	p.idle.mu.Unlock()
	p.refills.Wait()
	var errs []error
	for _, g := range guests {
		p.sandbox.pool.used.Add(-g.bytes())
		errs = append(errs, g.close(ctx))
	}
	return errors.Join(errs...)
}
