// Package sandbox runs plugins that nobody has reason to trust: core
// WebAssembly modules in wazero, each call in an instance of its own, with
// nothing in reach but the host functions of guest ABI 1.
//
// A module is opened once ([Sandbox.Open]: checked, compiled through the disk
// cache) and called many times ([Plugin.Invoke]). What a module cannot be is
// refused when it is opened, by name; what a guest does wrong in a call becomes
// an [abi.Error] with a stable code, and the next call works.
//
// # Binding "vcp", version 1
//
// A module exports memory, vcp_abi_1, vcp_alloc and vcp_call, and may export
// _initialize. The host writes the invocation (JSON) into memory that
// vcp_alloc gave and calls vcp_call, whose result packs address and length of
// the Plugin Result Payload as ptr<<32 | len. The imports of module "vcp" are
// listed in vcp.go; WASI preview 1 is there for the language run-times, and
// reaches nothing: no files, no environment, no network.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"vcphost/internal/kv"
)

// Options of a sandbox. The zero value is usable: nothing is cached on disk, no
// plugin has a store, and logs are discarded.
type Options struct {
	// CacheDir holds compiled modules between processes. It is made with mode
	// 0700, since what lies in it is run. Empty keeps them in memory.
	CacheDir string
	// DB holds the plugins' own stores; nil means that none is granted.
	DB kv.DB
	// Logger receives what plugins log, under their names; nil discards it.
	Logger *slog.Logger
}

// Sandbox compiles and runs modules. It is safe for concurrent use.
type Sandbox struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache
	kept    string                                       // directory of compiled modules; "" where none is kept
	known   map[string]map[string]api.FunctionDefinition // module → name → what the host links
	db      kv.DB
	logger  *slog.Logger

	memories memoryPool
	counters counters
}

// New starts a sandbox. Close it when every plugin of it is done.
func New(ctx context.Context, opts *Options) (*Sandbox, error) {
	if opts == nil {
		opts = &Options{}
	}
	cache, err := openCache(opts.CacheDir)
	if err != nil {
		return nil, err
	}
	config := wazero.NewRuntimeConfig().WithCompilationCache(cache)
	s := &Sandbox{
		runtime: wazero.NewRuntimeWithConfig(ctx, withDeadline(config)),
		cache:   cache,
		kept:    opts.CacheDir,
		known:   map[string]map[string]api.FunctionDefinition{},
		db:      opts.DB,
		logger:  opts.Logger,
	}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if err := s.link(ctx); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// withDeadline lets the engine end a guest when its context ends. It is the one
// place that decides how a running guest is interrupted.
func withDeadline(config wazero.RuntimeConfig) wazero.RuntimeConfig {
	return config.WithCloseOnContextDone(true)
}

// link instantiates the host's modules and remembers what they offer, so that
// a guest's imports can be checked by name before it is instantiated.
func (s *Sandbox) link(ctx context.Context) error {
	wasi, err := wasi_snapshot_preview1.Instantiate(ctx, s.runtime)
	if err != nil {
		return fmt.Errorf("link WASI: %w", err)
	}
	_ = wasi // lives as long as the runtime
	if err := linkVCP(ctx, s.runtime); err != nil {
		return err
	}
	for _, name := range []string{wasi_snapshot_preview1.ModuleName, vcpModule} {
		s.known[name] = s.runtime.Module(name).ExportedFunctionDefinitions()
	}
	return nil
}

// Close ends the sandbox and everything compiled in it. Calls that still run
// are ended.
func (s *Sandbox) Close(ctx context.Context) error {
	return errors.Join(s.runtime.Close(ctx), s.cache.Close(ctx))
}
