package server_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/registry"
	"vcphost/server"
	"vcphost/server/identity"
	"vcphost/server/servertest"
)

// unreachable is a transport that fails while it is told to.
type unreachable struct {
	broken atomic.Bool
	calls  atomic.Int64
}

// Invoke answers null, or that the plugin cannot be reached.
func (u *unreachable) Invoke(context.Context, *abi.Invocation) (*abi.Reply, error) {
	u.calls.Add(1)
	if u.broken.Load() {
		return nil, abi.NewError(abi.CodeTransportFailure, "the plugin is away")
	}
	return &abi.Reply{Payload: json.RawMessage(`{"status":"success","data":null}`)}, nil
}

// Close has nothing to end.
func (u *unreachable) Close(context.Context) error { return nil }

func TestABreakerIsSeenAndReset(t *testing.T) {
	transport := &unreachable{}
	transport.broken.Store(true)
	s := servertest.Start(t, &servertest.Options{Change: func(o *server.Options) {
		h, err := host.New(host.Options{
			Registry: o.API.Registry, Resources: o.API.Resources, Recorder: o.API.Results,
			Kinds: map[string]host.Kind{"wasm": {Trust: abi.TrustWASM, Open: func(context.Context, *registry.Plugin) (host.Transport, error) {
				return transport, nil
			}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		o.API.Host = h
	}})
	call := func() string {
		_, _, body := s.Do(t, "POST", "/v1/tools/Tiny/Run", "application/json", "{}")
		return string(body)
	}
	for range 5 {
		if body := call(); !strings.Contains(body, "TRANSPORT_FAILURE") {
			t.Fatalf("got %s", body)
		}
	}
	if body := call(); !strings.Contains(body, `"DEPENDENCY_UNAVAILABLE"`) || !strings.Contains(body, `"circuit_open"`) || transport.calls.Load() != 5 {
		t.Fatalf("got %s after %d calls", body, transport.calls.Load())
	}
	wantBreaker := func(want string) {
		t.Helper()
		if _, _, body := s.Do(t, "GET", "/v1/plugins", "", ""); !strings.Contains(string(body), `"breaker":"`+want+`"`) {
			t.Errorf("the breaker is not %s: %s", want, body)
		}
		_, _, body := s.Do(t, "GET", "/v1/stats", "", "")
		var stats struct{ Breakers []host.BreakerStatus }
		if err := json.Unmarshal(body, &stats); err != nil || len(stats.Breakers) != 1 || stats.Breakers[0].Plugin != "Tiny" ||
			string(stats.Breakers[0].State) != want || stats.Breakers[0].Opened != 1 || stats.Breakers[0].Refused != 1 {
			t.Errorf("the statistics have no breaker that is %s: %v %s", want, err, body)
		}
	}
	wantBreaker("open")
	transport.broken.Store(false)

	reader := s.As(s.Key(t, identity.KeySpec{Scopes: identity.Scopes{identity.ScopePluginsRead}}))
	if status, _, body := reader.Do(t, "POST", "/v1/plugins/Tiny/reset", "", ""); status != 403 {
		t.Errorf("a key without plugins:admin gets %d %s", status, body)
	}
	wantBreaker("open")
	if status, _, body := s.Do(t, "POST", "/v1/plugins/None/reset", "", ""); status != 404 {
		t.Errorf("a plugin that there is not gets %d %s", status, body)
	}
	admin := s.As(s.Key(t, identity.KeySpec{Scopes: identity.Scopes{identity.ScopePluginsAdmin}}))
	status, _, body := admin.Do(t, "POST", "/v1/plugins/Tiny/reset", "", "")
	if want := `{"plugin":"Tiny","state":"closed","failures":0,"opened":1,"refused":1,"retryAfterMs":0}`; status != 200 || string(body) != want {
		t.Errorf("got %d %s, want %s", status, body, want)
	}
	wantBreaker("closed")
	if body := call(); !strings.Contains(body, `"status":"success"`) {
		t.Errorf("got %s", body)
	}
}
