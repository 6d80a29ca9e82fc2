package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/hosttest"
	"vcphost/host/registry"
)

const plain = `{"status":"success","data":null}`

func TestCallsThatNeverReachThePlugin(t *testing.T) {
	reached := func(context.Context, *abi.Invocation) (*abi.Reply, error) {
		t.Error("the plugin was called")
		return &abi.Reply{Payload: json.RawMessage(plain)}, nil
	}
	b := plugin{invoke: reached, sandbox: `{"maxInputBytes":1000000}`}.bench(t)
	for _, test := range []struct {
		name, tool, arguments string
		code, target          string
		says                  string // in message or details
	}{
		{"an unknown tool", "Nope", "{}", abi.CodeToolNotFound, "Nope", "Nope"},
		{"a tool in another case", "te-st.Do", "{}", abi.CodeToolNotFound, "te-st.Do", `there is "Test"`},
		{"no tool", "", "{}", abi.CodeToolNotFound, "", ""},
		{"an unknown command", "Test.Undo", `{"must":""}`, abi.CodeUnknownCommand, "", "Do"},
		{"a command that contradicts the tool", "Test.Do", `{"command":"Undo","must":""}`, "", "", ""},
		{"not JSON", "Test", `{"must":`, abi.CodeInvalidArgument, "", "JSON"},
		{"single quotes", "Test", `{'must':''}`, abi.CodeInvalidArgument, "", "JSON"},
		{"not UTF-8", "Test", "{\"must\":\"\xff\"}", abi.CodeInvalidArgument, "", "utf8"},
		{"a member twice", "Test", `{"must":"","must":"x"}`, abi.CodeInvalidArgument, "/must", "duplicateKey"},
		{"an array", "Test", `[1]`, abi.CodeInvalidArgument, "", "array"},
		{"a string", "Test", `"must"`, abi.CodeInvalidArgument, "", "string"},
		{"depth", "Test", `{"must":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, abi.CodeInvalidArgument, "", "depth"},
		{"10 MiB", "Test", `{"must":"` + strings.Repeat("x", 10<<20) + `"}`, abi.CodeInvalidArgument, "", "maxInputBytes"},
		{"a missing argument", "Test", `{}`, abi.CodeMissingArgument, "must", "must"},
		{"no arguments at all", "Test", ``, abi.CodeMissingArgument, "must", "must"},
		{"a wrong type", "Test", `{"must":"","n":"12abc"}`, abi.CodeInvalidArgument, "n", "integer"},
		{"an unknown argument", "Test", `{"must":"","nn":1}`, abi.CodeInvalidArgument, "nn", "nn"},
		{"a resource that does not exist", "Test", `{"must":"","input":{"$resource":"res_0000000000000000000000000A"}}`, abi.CodeFileNotFound, "", "res_0000000000000000000000000A"},
		{"a resource id that is a path", "Test", `{"must":"","input":{"$resource":"../../etc/passwd"}}`, abi.CodeFileNotFound, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := b.Execute(context.Background(), t, b.Call(test.tool, test.arguments))
			if test.code == "" {
				if result.Status != abi.StatusError {
					t.Fatalf("got status %s", result.Status)
				}
				return
			}
			failure := wantError(t, result, abi.StatusError, test.code)
			if test.target != "" && failure.Target != test.target {
				t.Errorf("got target %q, want %q", failure.Target, test.target)
			}
			if text := failure.Message + string(failure.Details); !strings.Contains(text, test.says) {
				t.Errorf("the error %s does not say %q", text, test.says)
			}
			if len(failure.Message) > 4000 || len(failure.Details) > 64<<10 {
				t.Errorf("the error has a message of %d bytes and details of %d", len(failure.Message), len(failure.Details))
			}
		})
	}
}

func TestAForeignResourceAnswersLikeAnAbsentOne(t *testing.T) {
	b := plugin{invoke: answers(plain)}.bench(t)
	id := b.Import(t, "mine.txt", []byte("mine"))
	call := b.Call("Test", fmt.Sprintf(`{"must":"","input":{"$resource":%q}}`, id))
	wantSuccess(t, b.Execute(context.Background(), t, call))
	call.Context.Owner.Actor = "stranger"
	foreign := wantError(t, b.Host.Execute(context.Background(), call), abi.StatusError, abi.CodeFileNotFound)
	const absent = "res_0000000000000000000000000A"
	call.Arguments = json.RawMessage(fmt.Sprintf(`{"must":"","input":{"$resource":%q}}`, absent))
	none := wantError(t, b.Host.Execute(context.Background(), call), abi.StatusError, abi.CodeFileNotFound)
	if got, want := strings.ReplaceAll(foreign.Message, id, ""), strings.ReplaceAll(none.Message, absent, ""); got != want {
		t.Errorf("a foreign resource is told apart from an absent one: %q and %q", got, want)
	}
}

func TestPluginsThatCannotRun(t *testing.T) {
	sound := plugin{}.folder()["test/plugin-manifest.json"]
	for _, test := range []struct {
		name    string
		files   fstest.MapFS
		trusted bool
		reason  string
	}{
		{"switched off", fstest.MapFS{"test/plugin-manifest.json.block": sound, "test/main.py": {}}, true, "blocked"},
		{"refused", fstest.MapFS{"Test/plugin-manifest.json": {Data: []byte(`{"name":"Test"}`)}}, true, "refused"},
		{"no manifest to speak of", fstest.MapFS{"Test/plugin-manifest.json": {Data: []byte(`[]`)}}, true, "refused"},
		{"not approved", plugin{}.folder(), false, "approval_required"},
		{"two of one name", fstest.MapFS{"a/plugin-manifest.json": sound, "a/main.py": {}, "b/plugin-manifest.json": sound, "b/main.py": {}}, true, "refused"},
		{"an entry point that nobody runs", plugin{entry: "python"}.folder(), true, "unsupported"},
	} {
		t.Run(test.name, func(t *testing.T) {
			setup := plugin{invoke: answers(plain)}.setup()
			setup.Sources = []registry.Source{{Name: "tests", FS: test.files, Trusted: test.trusted}}
			b := hosttest.NewBench(t, setup)
			result := b.Execute(context.Background(), t, b.Call("Test", `{"must":""}`))
			failure := wantError(t, result, abi.StatusError, abi.CodeToolDisabled)
			if got, want := member(t, failure.Details, "reason"), `"`+test.reason+`"`; got != want {
				t.Errorf("got reason %s, want %s", got, want)
			}
			loaded, ok := b.Registry.Snapshot().Lookup("Test")
			if !ok {
				t.Fatal("the plugin is not in the registry")
			}
			if _, err := b.Host.Prepare(context.Background(), loaded); abi.CodeOf(err) != abi.CodeToolDisabled {
				t.Errorf("Prepare gives %v, want what a call gives", err)
			}
		})
	}
}

func TestACallThatIsNobodysIsRefusedAndNotKept(t *testing.T) {
	b := plugin{invoke: answers(plain)}.bench(t)
	for _, owner := range []abi.Owner{{}, {Tenant: "default"}, {Actor: "tester"}} {
		call := b.Call("Test", `{"must":""}`)
		call.Context.Owner = owner
		result := b.Host.Execute(context.Background(), call)
		wantError(t, result, abi.StatusError, abi.CodeUnauthorized)
		if _, err := b.Results.Get(context.Background(), abi.Viewer{Admin: true}, result.ID); err == nil {
			t.Errorf("the result of %+v was kept", owner)
		}
	}
}

func TestTheShorterTimeoutCounts(t *testing.T) {
	var deadline time.Time
	b := plugin{invoke: func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
		deadline = inv.Deadline
		if of, ok := ctx.Deadline(); !ok || !of.Equal(inv.Deadline) {
			t.Errorf("the context ends at %v, the invocation at %v", of, inv.Deadline)
		}
		return &abi.Reply{Payload: json.RawMessage(plain)}, nil
	}}.bench(t)
	for _, test := range []struct {
		asked int64 // ms
		want  time.Duration
	}{{0, 20 * time.Second}, {-5, 20 * time.Second}, {500, 500 * time.Millisecond}, {3_600_000, 20 * time.Second}} {
		call := b.Call("Test", `{"must":""}`)
		call.Options.TimeoutMs = test.asked
		began := time.Now()
		result := b.Execute(context.Background(), t, call)
		if got := time.Duration(result.Execution.TimeoutMs) * time.Millisecond; got != test.want {
			t.Errorf("asked for %d ms: got timeoutMs %v, want %v", test.asked, got, test.want)
		}
		if early, late := began.Add(test.want), time.Now().Add(test.want); deadline.Before(early) || deadline.After(late) {
			t.Errorf("asked for %d ms: the plugin got the deadline %v, want between %v and %v", test.asked, deadline, early, late)
		}
	}
}

func TestWhatATransportMayDoWrong(t *testing.T) {
	fails := func(err error) invoke {
		return func(context.Context, *abi.Invocation) (*abi.Reply, error) { return nil, err }
	}
	for _, test := range []struct {
		name   string
		invoke invoke
		status abi.Status
		code   string
	}{
		{"an error of its own", fails(errors.New("dial unix /secret/socket: refused")), abi.StatusError, abi.CodeTransportFailure},
		{"an error of the protocol", fails(fmt.Errorf("call: %w", abi.NewError(abi.CodeSandboxTrap, "unreachable"))), abi.StatusError, abi.CodeSandboxTrap},
		{"a panic", func(context.Context, *abi.Invocation) (*abi.Reply, error) { panic("secret") }, abi.StatusError, abi.CodeInternalError},
		{"a panic with nil memory", func(context.Context, *abi.Invocation) (*abi.Reply, error) {
			var reply *abi.Reply
			return &abi.Reply{Payload: reply.Payload}, nil
		}, abi.StatusError, abi.CodeInternalError},
		{"no reply and no error", fails(nil), abi.StatusError, abi.CodeInternalError},
		{"no payload", answers(""), abi.StatusError, abi.CodeInvalidToolResult},
	} {
		t.Run(test.name, func(t *testing.T) {
			result, _ := plugin{invoke: test.invoke}.run(t)
			wantError(t, result, test.status, test.code)
		})
	}
}

// stopped is why somebody ended a call, in words of their own.
var errStopped = errors.New("the person pressed stop")

func TestHowAContextEnds(t *testing.T) {
	until := func(err error) invoke { // the context's end, then this error, or a payload
		return func(ctx context.Context, _ *abi.Invocation) (*abi.Reply, error) {
			<-ctx.Done()
			if err != nil {
				return nil, err
			}
			return &abi.Reply{Payload: json.RawMessage(plain)}, nil
		}
	}
	const soon = 20 * time.Millisecond
	for _, test := range []struct {
		name   string
		begin  func() (context.Context, context.CancelFunc)
		status abi.Status
		code   string
	}{
		{"a deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), soon)
		}, abi.StatusTimeout, abi.CodeToolTimeout},
		{"a deadline with a cause", func() (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(context.Background(), soon, errStopped)
		}, abi.StatusTimeout, abi.CodeToolTimeout},
		{"a cancellation", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(soon, cancel)
			return ctx, cancel
		}, abi.StatusCancelled, abi.CodeToolCancelled},
		{"a cancellation with a cause", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(soon, func() { cancel(errStopped) })
			return ctx, func() { cancel(nil) }
		}, abi.StatusCancelled, abi.CodeToolCancelled},
	} {
		for _, answer := range []struct {
			name string
			err  error
		}{{"a late payload", nil}, {"an error that follows", errors.New("read |0: file already closed")}, {"the context's error", context.Canceled}} {
			t.Run(test.name+", "+answer.name, func(t *testing.T) {
				b := plugin{invoke: until(answer.err)}.bench(t)
				ctx, cancel := test.begin()
				defer cancel()
				wantError(t, b.Execute(ctx, t, b.Call("Test", `{"must":""}`)), test.status, test.code)
			})
		}
	}
}

func TestALatePayloadLeavesNoResource(t *testing.T) {
	write := answers(`{"status":"success","data":{"$resource":"a"}}`, abi.ResourceDraft{ID: "a"})
	b := plugin{invoke: func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
		reply, err := write(ctx, inv)
		<-ctx.Done()
		return reply, err
	}}.bench(t)
	call := b.Call("Test", `{"must":""}`)
	call.Options.TimeoutMs = 20
	wantError(t, b.Execute(context.Background(), t, call), abi.StatusTimeout, abi.CodeToolTimeout)
	err := b.DB.Scan([]byte("res/"), func(key, _ []byte) bool { t.Errorf("%s is left", key); return true })
	if err != nil {
		t.Fatal(err)
	}
}

func TestHostNeedsItsParts(t *testing.T) {
	if _, err := host.New(host.Options{}); err == nil {
		t.Error("a host without registry and resources was made")
	}
}
