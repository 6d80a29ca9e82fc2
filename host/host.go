package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"vcphost/abi"
	"vcphost/host/registry"
	"vcphost/internal/ids"
	"vcphost/resources"
)

// Recorder keeps canonical results; *record.Store is the one that a host has in
// production.
type Recorder interface {
	Keep(ctx context.Context, owner abi.Owner, result *abi.Result) error
}

// Options of a host. Registry, Resources and Kinds are required.
type Options struct {
	Registry  *registry.Registry
	Resources *resources.Store
	Recorder  Recorder        // nil keeps no results
	Kinds     map[string]Kind // by the manifest's entryPoint.type
	Logger    *slog.Logger    // nil discards
	Now       func() time.Time
	IDs       *ids.Source
	// Observers are told of every call, in this order. None costs nothing.
	Observers []Observer
	// ServerID is told in every result; empty means "local".
	ServerID string
	// Breaker says when calls of a plugin that cannot be reached are refused.
	Breaker BreakerOptions
}

// Host runs calls. It is safe for concurrent use.
type Host struct {
	registry   *registry.Registry
	resources  *resources.Store
	recorder   Recorder
	transports transports
	breakers   *breakers
	logger     *slog.Logger
	now        func() time.Time
	ids        *ids.Source
	serverID   string
	observers  []Observer
}

// New makes a host. Close it when no call runs any more.
func New(opts Options) (*Host, error) {
	if opts.Registry == nil || opts.Resources == nil {
		return nil, errors.New("make a host: a registry and a resource store are required")
	}
	h := &Host{
		registry: opts.Registry, resources: opts.Resources, recorder: opts.Recorder,
		transports: transports{kinds: opts.Kinds, opened: map[*registry.Plugin]*opening{}},
		logger:     opts.Logger, now: opts.Now, ids: opts.IDs, serverID: opts.ServerID,
		observers: slices.DeleteFunc(slices.Clone(opts.Observers), func(o Observer) bool { return o == nil }),
	}
	if h.logger == nil {
		h.logger = slog.New(slog.DiscardHandler)
	}
	h.breakers = newBreakers(opts.Breaker, h.logger)
	if h.now == nil {
		h.now = time.Now
	}
	if h.ids == nil {
		h.ids = ids.NewSource(h.now)
	}
	if h.serverID == "" {
		h.serverID = "local"
	}
	return h, nil
}

// Close ends the transports of all plugins. It is idempotent.
func (h *Host) Close(ctx context.Context) error { return h.transports.close(ctx) }

// Noticer is a transport that has something to say to the author of its plugin,
// which is no reason to refuse it.
type Noticer interface{ Notices() []string }

// Prepare opens the transport of a plugin without calling it, so that what is
// wrong with it shows, and gives what it has to say to the plugin's author. A
// plugin whose state is not ready answers with the error that a call of it would
// give.
func (h *Host) Prepare(ctx context.Context, plugin *registry.Plugin) (notices []string, err error) {
	if err := ready(plugin); err != nil {
		return nil, err
	}
	transport, err := h.transports.get(ctx, plugin)
	if noticer, ok := transport.(Noticer); ok && err == nil {
		notices = noticer.Notices()
	}
	return notices, err
}
