package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"vcphost/abi"
	"vcphost/host"
)

// A plugin that cannot be reached is not tried for ever, its neighbours' results
// say so canonically, and an administrator can have it tried at once.
func TestAPluginThatCannotBeReachedIsLeftAlone(t *testing.T) {
	reached, broken := 0, true
	b := plugin{invoke: func(context.Context, *abi.Invocation) (*abi.Reply, error) {
		reached++
		if broken {
			panic("a transport that panics cannot be reached either")
		}
		return &abi.Reply{Payload: json.RawMessage(`{"status":"success","data":1}`)}, nil
	}}.bench(t)
	call := func() *abi.Result { return b.Execute(t.Context(), t, b.Call("Test", `{"must":""}`)) }
	if got := b.Host.Breaker("Test").State; got != host.BreakerClosed {
		t.Errorf("the breaker of a plugin that was not called is %s", got)
	}
	for range 5 {
		wantError(t, call(), abi.StatusError, abi.CodeInternalError)
	}
	refused := call()
	failure := wantError(t, refused, abi.StatusError, abi.CodeDependencyUnavailable)
	if _, told := refused.Extensions[abi.ExtensionTrust]; told {
		t.Error("the result tells how the plugin was confined, and it was not reached")
	}
	var details struct {
		Reason       string
		RetryAfterMs int64
	}
	if err := json.Unmarshal(failure.Details, &details); err != nil || details.Reason != "circuit_open" || details.RetryAfterMs < 1 || !failure.Retryable {
		t.Errorf("got %+v of %s", failure, failure.Details)
	}
	if got := b.Host.Breaker("Test"); reached != 5 || got.State != host.BreakerOpen || got.Opened != 1 || got.Refused != 1 || got.RetryAfterMs < 1 {
		t.Errorf("reached %d times, and the breaker is %+v", reached, got)
	}
	broken = false
	b.Host.ResetBreaker("Test")
	wantSuccess(t, call())
	if got := b.Host.Breaker("Test"); got.State != host.BreakerClosed || got.Failures != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestAPluginThatFailsIsReached(t *testing.T) {
	b := plugin{invoke: func(context.Context, *abi.Invocation) (*abi.Reply, error) {
		return nil, abi.NewError(abi.CodeSandboxTrap, "the plugin failed")
	}}.bench(t)
	for range 12 {
		wantError(t, b.Execute(t.Context(), t, b.Call("Test", `{"must":""}`)), abi.StatusError, abi.CodeSandboxTrap)
	}
}
