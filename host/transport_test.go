package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/registry"
)

// counting is a transport that counts how it is used.
type counting struct {
	running, closed atomic.Int32
	hold            chan struct{} // calls wait for its end; nil lets them through
}

func (c *counting) Invoke(ctx context.Context, _ *abi.Invocation) (*abi.Reply, error) {
	c.running.Add(1)
	defer c.running.Add(-1)
	if c.hold != nil {
		select {
		case <-c.hold:
		case <-ctx.Done():
		}
	}
	return &abi.Reply{Payload: json.RawMessage(plain)}, nil
}

func (c *counting) Close(context.Context) error {
	c.closed.Add(1)
	return nil
}

func TestATransportIsOpenedOnce(t *testing.T) {
	var opened atomic.Int32
	transport := &counting{}
	p := plugin{open: func(context.Context, *registry.Plugin) (host.Transport, error) {
		opened.Add(1)
		time.Sleep(5 * time.Millisecond) // let the others pile up
		return transport, nil
	}}
	b := p.bench(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if result := b.Host.Execute(context.Background(), b.Call("Test", `{"must":""}`)); result.Status != abi.StatusSuccess {
				t.Errorf("got status %s, error %v", result.Status, result.Error)
			}
		})
	}
	wg.Wait()
	if got := opened.Load(); got != 1 {
		t.Errorf("the transport was opened %d times, want once", got)
	}
	for range 3 {
		if err := b.Host.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if got := transport.closed.Load(); got != 1 {
		t.Errorf("the transport was closed %d times, want once", got)
	}
	result := b.Execute(context.Background(), t, b.Call("Test", `{"must":""}`))
	wantError(t, result, abi.StatusError, abi.CodeInternalError)
}

func TestATransportThatDoesNotOpen(t *testing.T) {
	for _, test := range []struct {
		name string
		open func() (host.Transport, error)
		code string
	}{
		{"refused by name", func() (host.Transport, error) {
			return nil, abi.NewError(abi.CodeToolDisabled, "the module does not compile")
		}, abi.CodeToolDisabled},
		{"an error of its own", func() (host.Transport, error) { return nil, errors.New("exec /secret/node: not found") }, abi.CodeTransportFailure},
		{"a panic", func() (host.Transport, error) { panic("secret") }, abi.CodeInternalError},
	} {
		t.Run(test.name, func(t *testing.T) {
			var opened atomic.Int32
			b := plugin{open: func(context.Context, *registry.Plugin) (host.Transport, error) {
				opened.Add(1)
				return test.open()
			}}.bench(t)
			for range 3 {
				wantError(t, b.Execute(context.Background(), t, b.Call("Test", `{"must":""}`)), abi.StatusError, test.code)
			}
			if got := opened.Load(); got != 1 {
				t.Errorf("opened %d times, want once", got)
			}
		})
	}
}

// A caller who gives up while the transport opens must not spoil it for those
// who come later or wait with him.
func TestAnOpeningThatWasCutShortIsTriedAnew(t *testing.T) {
	for _, test := range []struct {
		name string
		err  func(ctx context.Context) error
	}{
		{"with the context's error", func(ctx context.Context) error { return ctx.Err() }},
		{"with an error of its own", func(context.Context) error { return errors.New("signal: killed") }},
		{"with a refusal", func(context.Context) error { return abi.NewError(abi.CodeToolDisabled, "does not compile") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var opened atomic.Int32
			begun := make(chan struct{})
			b := plugin{open: func(ctx context.Context, _ *registry.Plugin) (host.Transport, error) {
				if opened.Add(1) > 1 {
					return &counting{}, nil
				}
				close(begun)
				<-ctx.Done()
				return nil, test.err(ctx)
			}}.bench(t)
			ctx, cancel := context.WithCancel(context.Background())
			first, second := make(chan *abi.Result, 1), make(chan *abi.Result, 1)
			go func() { first <- b.Host.Execute(ctx, b.Call("Test", `{"must":""}`)) }()
			<-begun
			go func() { second <- b.Host.Execute(context.Background(), b.Call("Test", `{"must":""}`)) }()
			time.Sleep(5 * time.Millisecond) // the second waits, most likely; either way it must succeed
			cancel()
			wantError(t, <-first, abi.StatusCancelled, abi.CodeToolCancelled)
			wantSuccess(t, <-second)
			if got := opened.Load(); got != 2 {
				t.Errorf("opened %d times, want 2", got)
			}
		})
	}
}

func TestAWaitForAnOpeningEndsWithItsContext(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	b := plugin{open: func(context.Context, *registry.Plugin) (host.Transport, error) {
		close(begun)
		<-release
		return &counting{}, nil
	}}.bench(t)
	first := make(chan *abi.Result, 1)
	go func() { first <- b.Host.Execute(context.Background(), b.Call("Test", `{"must":""}`)) }()
	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	result := b.Host.Execute(ctx, b.Call("Test", `{"must":""}`))
	wantError(t, result, abi.StatusTimeout, abi.CodeToolTimeout)
	close(release)
	wantSuccess(t, <-first)
}

func TestCloseWhileCallsRun(t *testing.T) {
	transport := &counting{hold: make(chan struct{})}
	b := plugin{open: func(context.Context, *registry.Plugin) (host.Transport, error) { return transport, nil }}.bench(t)
	var calls, closers sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			result := b.Host.Execute(context.Background(), b.Call("Test", `{"must":""}`))
			if result.Status != abi.StatusSuccess && abi.CodeOf(result.Error) != abi.CodeInternalError {
				t.Errorf("got status %s, error %v", result.Status, result.Error)
			}
		})
	}
	for transport.running.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 4 {
		closers.Go(func() {
			if err := b.Host.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	closers.Wait()
	if got := transport.closed.Load(); got != 1 {
		t.Errorf("the transport was closed %d times, want once", got)
	}
	close(transport.hold)
	calls.Wait()
}

func TestPrepareOpensWithoutCalling(t *testing.T) {
	var opened atomic.Int32
	b := plugin{open: func(context.Context, *registry.Plugin) (host.Transport, error) {
		opened.Add(1)
		return invoke(func(context.Context, *abi.Invocation) (*abi.Reply, error) {
			t.Error("the plugin was called")
			return nil, errors.New("not expected")
		}), nil
	}}.bench(t)
	loaded, _ := b.Registry.Snapshot().Lookup("Test")
	for range 2 {
		if _, err := b.Host.Prepare(context.Background(), loaded); err != nil {
			t.Fatal(err)
		}
	}
	if got := opened.Load(); got != 1 {
		t.Errorf("opened %d times, want once", got)
	}
}
