package host

import (
	"context"
	"errors"
	"sync"

	"vcphost/abi"
	"vcphost/host/registry"
)

// Transport runs the calls of one plugin. It transports and nothing else: it
// neither formats nor wraps nor validates (§4.2). Implementations are safe for
// concurrent use, end soon after ctx does, and pass the suite of package
// hosttest.
type Transport interface {
	// Invoke runs one call and returns the payload's bytes as the plugin wrote
	// them. Its error is an *abi.Error; any other error becomes
	// TRANSPORT_FAILURE.
	Invoke(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error)
	// Close ends what the transport holds for the plugin.
	Close(ctx context.Context) error
}

// Kind is a sort of transport, chosen by the manifest's entryPoint.type.
type Kind struct {
	// Open makes a plugin ready to be called. It runs once for each plugin; its
	// error refuses the plugin, and an *abi.Error of code TOOL_DISABLED says so
	// in its own words.
	Open func(ctx context.Context, plugin *registry.Plugin) (Transport, error)
	// Trust is the class of confinement, told in every result.
	Trust abi.Trust
}

// transports keeps one open transport for each plugin that was called.
type transports struct {
	kinds map[string]Kind

	mu     sync.Mutex
	opened map[*registry.Plugin]*opening
	closed bool
}

// opening is a transport that is being opened or is open. done is closed when
// the other fields are set.
type opening struct {
	done      chan struct{}
	transport Transport
	err       error
	cut       bool // err came because the caller's context ended
}

// get gives the transport of a plugin, opening it if this is the first call.
// Callers that come while it opens wait for the same outcome; an opening that
// was cut short by its caller's context is tried anew by the next.
func (t *transports) get(ctx context.Context, plugin *registry.Plugin) (Transport, error) {
	for {
		entry, mine, err := t.enter(plugin)
		if err != nil {
			return nil, err
		}
		if mine {
			t.open(ctx, plugin, entry)
		}
		select {
		case <-entry.done:
		case <-ctx.Done():
			return nil, ctx.Err() // the cause may be of any kind
		}
		if mine || ctx.Err() != nil || !entry.cut {
			return entry.transport, entry.err
		}
	}
}

func (t *transports) enter(plugin *registry.Plugin) (entry *opening, mine bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, false, abi.NewError(abi.CodeInternalError, "the host is shutting down")
	}
	if entry, ok := t.opened[plugin]; ok {
		return entry, false, nil
	}
	entry = &opening{done: make(chan struct{})}
	t.opened[plugin] = entry
	return entry, true, nil
}

func (t *transports) open(ctx context.Context, plugin *registry.Plugin, entry *opening) {
	// A panic of Open goes on to its caller; whoever comes later gets the error.
	entry.err = abi.NewError(abi.CodeInternalError, "the transport of the plugin could not be opened")
	defer close(entry.done)
	kind, ok := t.kinds[plugin.Manifest.EntryPoint.Type]
	if !ok {
		entry.err = disabled(plugin, "unsupported", "no transport of this host runs entryPoint.type %q", plugin.Manifest.EntryPoint.Type)
		return
	}
	entry.transport, entry.err = kind.Open(ctx, plugin)
	if entry.cut = entry.err != nil && (ctx.Err() != nil || isContextError(entry.err)); entry.cut {
		t.mu.Lock()
		delete(t.opened, plugin)
		t.mu.Unlock()
	}
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// trust is the class of confinement of a plugin's transport.
func (t *transports) trust(plugin *registry.Plugin) abi.Trust {
	return t.kinds[plugin.Manifest.EntryPoint.Type].Trust
}

// close closes every open transport, once.
func (t *transports) close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	entries := t.opened
	t.opened = nil
	t.mu.Unlock()
	var errs []error
	for _, entry := range entries {
		<-entry.done
		if entry.transport != nil {
			errs = append(errs, entry.transport.Close(ctx))
		}
	}
	return errors.Join(errs...)
}
