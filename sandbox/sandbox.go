// Package sandbox runs plugins that nobody has reason to trust: core
// WebAssembly modules, with nothing in reach but the host functions of guest
// ABI 1.
//
// A module is opened once ([Sandbox.Open]: checked, rewritten, compiled through
// the disk cache, started, warmed and held as a snapshot) and called many times
// ([Plugin.Invoke]). Every call finds the guest as the snapshot has it, whatever
// the calls before it did. What a module cannot be is refused when it is opened,
// by name; what a guest does wrong in a call becomes an [abi.Error] with a stable
// code, and the next call works.
//
// A running guest comes back to the host every millisecond or so, because the
// rewriting makes it pay for what it does out of a tank that the host refills
// (refuel.go). That is where deadlines, cancellation, budgets and fairness
// between guests are kept, and what lets the host collect garbage beside it.
//
// # Binding "vcp", version 1
//
// A module exports memory, vcp_abi_1, vcp_alloc and vcp_call, and may export
// _initialize and vcp_prepare. The host writes the invocation (JSON) into memory
// that vcp_alloc gave and calls vcp_call, whose result packs address and length of
// the Plugin Result Payload as ptr<<32 | len. The imports of module "vcp" are
// listed in vcp.go; WASI preview 1 is there for the language run-times, and
// reaches nothing: no files, no environment, no network.
package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"vcphost/internal/kv"
	"vcphost/sandbox/engine"
	"vcphost/sandbox/snapshot"
)

// DefaultPoolBytes bounds the memory of instances that wait for calls.
const DefaultPoolBytes = 256 << 20

// Options of a sandbox. The zero value is usable: nothing is cached on disk, no
// plugin has a store, and logs are discarded.
type Options struct {
	// CacheDir holds compiled modules between processes. It is made with mode
	// 0700, since what lies in it is run. Empty keeps them in memory.
	CacheDir string
	// Cache bounds the compiling of modules; nil means its defaults, in this
	// process. It has no effect without CacheDir.
	Cache *engine.CacheOptions
	// DB holds the plugins' own stores; nil means that none is granted.
	DB kv.DB
	// Logger receives what plugins log, under their names; nil discards it.
	Logger *slog.Logger
	// PoolBytes bounds the memory that waiting instances of all plugins hold
	// together; zero means DefaultPoolBytes, below zero none wait.
	PoolBytes int64
	// MaxInstances bounds the calls of all plugins that run side by side; others
	// wait, and plugins take turns. Zero and below mean 256.
	MaxInstances int
	// AllowShared lets plugins ask for IsolationShared; without it they are refused.
	AllowShared bool
	// Restore forces a way of putting memory back; the zero value takes the best
	// that the system has.
	Restore snapshot.Method
}

// Sandbox compiles and runs modules. It is safe for concurrent use.
type Sandbox struct {
	opts   Options // no zero values
	engine *engine.Engine
	cache  *engine.Cache // nil without CacheDir
	zero   *snapshot.Image
	logger *slog.Logger

	began    time.Time // of the guests' monotonic clock
	turns    *turns
	gate     *gate
	pool     poolBudget
	counters counters
	waits    sync.WaitGroup // host functions that run beside their guests
}

// New starts a sandbox. Close it when every plugin of it is done.
func New(ctx context.Context, opts *Options) (*Sandbox, error) {
	s := &Sandbox{began: time.Now()}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.PoolBytes == 0 {
		s.opts.PoolBytes = DefaultPoolBytes
	}
	if s.opts.MaxInstances <= 0 {
		s.opts.MaxInstances = 256
	}
	if s.logger = s.opts.Logger; s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	s.turns, s.gate = newTurns(), newGate(s.opts.MaxInstances)
	s.pool.limit = s.opts.PoolBytes
	var err error
	if s.zero, err = snapshot.NewImage(nil, &snapshot.Options{Method: s.opts.Restore}); err != nil {
		return nil, err
	}
	if s.opts.CacheDir != "" {
		var options engine.CacheOptions
		if s.opts.Cache != nil {
			options = *s.opts.Cache
		}
		if options.Logger == nil {
			options.Logger = s.logger
		}
		if s.cache, err = engine.OpenCache(s.opts.CacheDir, &options); err != nil {
			return nil, errors.Join(err, s.zero.Close())
		}
	}
	s.engine = engine.New(ctx, s.cache)
	if err := s.link(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// link offers the host functions of every import module.
func (s *Sandbox) link(ctx context.Context) error {
	if err := s.engine.LinkWASI(ctx, wasiFunctions()); err != nil {
		return err
	}
	if err := s.engine.Link(ctx, vcpModule, linkedFunctions()); err != nil {
		return err
	}
	return s.engine.Link(ctx, refuelModule, []engine.HostFunction{refuelFunction()})
}

// nanotime is the monotonic clock of all guests.
func (s *Sandbox) nanotime() int64 { return int64(time.Since(s.began)) }

// Close ends the sandbox and everything compiled in it. Its plugins must have
// been closed.
func (s *Sandbox) Close(ctx context.Context) error {
	s.waitForHost(ctx)
	errs := []error{s.engine.Close(ctx), s.zero.Close()}
	if s.cache != nil {
		errs = append(errs, s.cache.Close())
	}
	return errors.Join(errs...)
}

// waitForHost waits until no host function runs that was left behind by its
// call, or until ctx ends.
func (s *Sandbox) waitForHost(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		s.waits.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
