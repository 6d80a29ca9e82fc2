package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/hosttest"
	"vcphost/host/record"
	"vcphost/internal/ids"
)

func TestIdentitiesOfAResult(t *testing.T) {
	b := plugin{manifest: `,"classification":"confidential"`, invoke: answers(plain)}.bench(t)
	name := "Ada"
	call := b.Call("Test.Do", `{"must":""}`)
	call.Context.Actor = &abi.Actor{Type: abi.ActorUser, Name: &name}
	call.Context.Source = abi.FromMCP
	call.Context.NodeID, call.Context.RequestIP = "node-7", "192.0.2.1"
	call.Context.InvocationID, call.Context.RequestID = "ti_given", "req_given"
	result := b.Execute(context.Background(), t, call)
	wantSuccess(t, result)
	if result.Protocol != abi.CurrentProtocol() || !ids.Valid(ids.Result, result.ID) {
		t.Errorf("got protocol %+v, id %s", result.Protocol, result.ID)
	}
	if want := (abi.Tool{Name: "Test", DisplayName: "A test", Version: "2.1.0", Command: "Do"}); result.Tool != want {
		t.Errorf("got tool %+v, want %+v", result.Tool, want)
	}
	if e := result.Execution; e.InvocationID != "ti_given" || e.RequestID != "req_given" || e.Attempt != 1 || e.TimeoutMs != 20000 || e.RecordID != nil {
		t.Errorf("got execution %+v", e)
	}
	if o := result.Origin; o.Source != abi.FromMCP || *o.NodeID != "node-7" || !o.Distributed || *o.RequestIP != "192.0.2.1" || o.ServerID != "local" {
		t.Errorf("got origin %+v", o)
	}
	if result.Actor == call.Context.Actor || *result.Actor != *call.Context.Actor {
		t.Errorf("got actor %+v, want a copy of the call's", result.Actor)
	}
	if got := result.Policy.Classification; got != abi.ClassificationConfidential {
		t.Errorf("got classification %s", got)
	}
}

func TestTheHostMakesTheIdentitiesThatTheCallerLeftOut(t *testing.T) {
	b := plugin{invoke: answers(plain)}.bench(t)
	first := b.Execute(context.Background(), t, b.Call("Test", `{"must":""}`))
	second := b.Execute(context.Background(), t, b.Call("Nope", `{}`))
	for _, result := range []*abi.Result{first, second} {
		e := result.Execution
		if !ids.Valid(ids.Invocation, e.InvocationID) || !ids.Valid(ids.Request, e.RequestID) {
			t.Errorf("got execution %+v", e)
		}
		if started, finished := time.Time(e.StartedAt), time.Time(e.FinishedAt); finished.Before(started) || time.Since(started) > time.Minute {
			t.Errorf("the call ran from %v to %v", started, finished)
		}
	}
	if first.ID == second.ID || first.Execution.InvocationID == second.Execution.InvocationID {
		t.Error("two calls share an identity")
	}
	if second.Tool != (abi.Tool{Name: "Nope"}) || second.Policy.Classification != abi.ClassificationInternal {
		t.Errorf("got tool %+v, policy %+v", second.Tool, second.Policy)
	}
}

// broken is a recorder that fails in the way it is told.
type broken func() error

// Keep fails.
func (b broken) Keep(context.Context, abi.Owner, *abi.Result) error { return b() }

func TestARecorderThatFailsDoesNotUndoTheCall(t *testing.T) {
	for _, test := range []struct {
		name string
		keep broken
	}{
		{"an error", func() error { return errors.New("secret: disk full") }},
		{"a panic", func() error { panic("secret") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			setup := plugin{invoke: answers(plain, draft("a"))}.setup()
			setup.Recorder = func(*record.Store) host.Recorder { return test.keep }
			b := hosttest.NewBench(t, setup)
			result := b.Host.Execute(context.Background(), b.Call("Test", `{"must":""}`))
			wantSuccess(t, result)
			if len(warned(result, abi.WarningResultNotKept)) != 1 {
				t.Errorf("got warnings %+v, want %s", result.Warnings, abi.WarningResultNotKept)
			}
			if raw, err := json.Marshal(result); err != nil || strings.Contains(string(raw), "secret") {
				t.Errorf("the result shows the host's inside: %s, %v", raw, err)
			}
			if got := string(b.Bytes(t, result.Resources[0].ID)); got != "the bytes of a" {
				t.Errorf("got resource %q", got)
			}
		})
	}
}

func TestACallOffTheRecord(t *testing.T) {
	b := plugin{invoke: answers(plain)}.bench(t)
	call := b.Call("Test", `{"must":""}`)
	call.Options.NoRecord = true
	result := b.Host.Execute(context.Background(), call)
	wantSuccess(t, result)
	if _, err := b.Results.Get(context.Background(), b.Viewer(), result.ID); !errors.Is(err, record.ErrNotFound) {
		t.Errorf("the result was kept: %v", err)
	}
}

func TestAStoreThatDiesDuringTheCall(t *testing.T) {
	var b *hosttest.Bench
	b = plugin{invoke: func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
		reply, err := answers(`{"status":"success","data":{"$resource":"a"}}`, draft("a"))(ctx, inv)
		if closeErr := b.DB.Close(); closeErr != nil {
			t.Error(closeErr)
		}
		return reply, err
	}}.bench(t)
	result := b.Host.Execute(context.Background(), b.Call("Test", `{"must":""}`))
	wantError(t, result, abi.StatusError, abi.CodeInternalError)
	if len(result.Resources) > 0 || len(result.Data) > 0 {
		t.Errorf("the result shows data %s and resources %+v", result.Data, result.Resources)
	}
	if !slices.Contains([]int{0, 1}, len(warned(result, abi.WarningResultNotKept))) {
		t.Errorf("got warnings %+v", result.Warnings)
	}
}

func TestWhatTheTransportWarnedOfStaysWithAFailure(t *testing.T) {
	result, _ := plugin{invoke: func(context.Context, *abi.Invocation) (*abi.Reply, error) {
		return &abi.Reply{
			Payload:  json.RawMessage(`{"status":"success","data":{"$resource":"x"},"warnings":[{"code":"OWN","message":"m"}]}`),
			Warnings: []abi.Warning{{Code: abi.WarningResourceUnfinished, Message: "half", Target: "x"}},
		}, nil
	}}.run(t)
	wantError(t, result, abi.StatusError, abi.CodeInvalidToolResult)
	if len(result.Warnings) != 1 || result.Warnings[0].Target != "x" {
		t.Errorf("got warnings %+v, want the transport's alone", result.Warnings)
	}
}

// What a plugin writes under a limit and then ignores is the host's to tell.
func TestALimitThatThePluginIgnored(t *testing.T) {
	result, _ := plugin{sandbox: `{"maxResourceBytes":10}`, invoke: func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
		sink, err := inv.Resources.Create(ctx, draft("a"))
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(sink, "eleven bytes"); abi.CodeOf(err) != abi.CodeResourceTooLarge {
			t.Errorf("writing too much gives %v", err)
		}
		return &abi.Reply{Payload: json.RawMessage(plain)}, nil
	}}.run(t)
	wantError(t, result, abi.StatusError, abi.CodeResourceTooLarge)
}
