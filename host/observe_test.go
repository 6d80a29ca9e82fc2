package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/hosttest"
	"vcphost/host/record"
	"vcphost/host/registry"
)

// watcher notes what it is told, by call.
type watcher struct {
	mu    sync.Mutex
	calls map[int]*watched
}

type watched struct {
	call  *abi.Call
	steps []host.StepTiming
	ends  []host.CallEnd
}

type watchedKey struct{ *watcher }

func (w *watcher) CallBegins(ctx context.Context, call *abi.Call) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = map[int]*watched{}
	}
	n := len(w.calls)
	w.calls[n] = &watched{call: call}
	return context.WithValue(ctx, watchedKey{w}, n)
}

func (w *watcher) at(ctx context.Context) *watched {
	return w.calls[ctx.Value(watchedKey{w}).(int)]
}

func (w *watcher) StepEnds(ctx context.Context, step host.StepTiming) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.at(ctx)
	c.steps = append(c.steps, step)
}

func (w *watcher) CallEnds(ctx context.Context, end host.CallEnd) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.at(ctx)
	c.ends = append(c.ends, end)
}

// line writes the steps as "resolve admit! …", with the code of the one that
// ended the line.
func (c *watched) line() string {
	var words []string
	for _, step := range c.steps {
		word := string(step.Step)
		if step.Code != "" {
			word += "!" + step.Code
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestObserversAreToldOfEveryStep(t *testing.T) {
	whole := "resolve admit checkIn invoke adopt checkOut publish build keep"
	for _, test := range []struct {
		name, tool, arguments string
		change                func(*abi.Call)
		invoke                invoke
		want                  string // the line
		end                   host.CallEnd
	}{
		{"success", "Test", `{"must":""}`, nil, answers(`{"status":"success","data":1}`), whole,
			host.CallEnd{Tool: "Test", Command: "Do", Transport: "native", Trust: abi.TrustProcess}},
		{"a plugin's own error", "Test.Do", `{"must":""}`, nil, answers(`{"status":"error","data":null,"error":{"code":"X.Y","message":"no"}}`), whole,
			host.CallEnd{Tool: "Test", Command: "Do", Transport: "native", Trust: abi.TrustProcess}},
		{"an unknown tool", "Nothing Like It", `{}`, nil, nil, "resolve!TOOL_NOT_FOUND build keep", host.CallEnd{}},
		{"an unknown command", "Test.Jump", `{}`, nil, nil, "resolve!UNKNOWN_COMMAND build keep",
			host.CallEnd{Tool: "Test", Transport: "native", Trust: abi.TrustProcess}},
		{"nobody", "Test", `{"must":""}`, func(c *abi.Call) { c.Context.Owner = abi.Owner{} }, nil, "resolve admit!UNAUTHORIZED build keep",
			host.CallEnd{Tool: "Test", Command: "Do", Transport: "native", Trust: abi.TrustProcess}},
		{"a missing argument", "Test", `{}`, nil, nil, "resolve admit checkIn!MISSING_ARGUMENT build keep",
			host.CallEnd{Tool: "Test", Command: "Do", Transport: "native", Trust: abi.TrustProcess}},
		{"a transport that panics", "Test", `{"must":""}`, nil, func(context.Context, *abi.Invocation) (*abi.Reply, error) { panic("secret") },
			"resolve admit checkIn invoke!INTERNAL_ERROR build keep",
			host.CallEnd{Tool: "Test", Command: "Do", Transport: "native", Trust: abi.TrustProcess}},
		{"a payload that is none", "Test", `{"must":""}`, nil, answers(`[]`), "resolve admit checkIn invoke adopt!INVALID_TOOL_RESULT build keep",
			host.CallEnd{Tool: "Test", Command: "Do", Transport: "native", Trust: abi.TrustProcess}},
	} {
		t.Run(test.name, func(t *testing.T) {
			one, two := &watcher{}, &watcher{}
			setup := plugin{invoke: test.invoke}.setup()
			setup.Observers = []host.Observer{one, nil, two}
			b := hosttest.NewBench(t, setup)
			call := b.Call(test.tool, test.arguments)
			if test.change != nil {
				test.change(call)
			}
			result := b.Host.Execute(context.Background(), call)
			for _, w := range []*watcher{one, two} {
				checkWatched(t, w, call, result, test.want, test.end)
			}
		})
	}
}

func checkWatched(t *testing.T, w *watcher, call *abi.Call, result *abi.Result, line string, want host.CallEnd) {
	t.Helper()
	if len(w.calls) != 1 || len(w.calls[0].ends) != 1 || w.calls[0].call != call {
		t.Fatalf("told of %+v, want one call", w.calls)
	}
	c := w.calls[0]
	if got := c.line(); got != line {
		t.Errorf("the line was\n%s, want\n%s", got, line)
	}
	end := c.ends[0]
	if end.Result != result {
		t.Errorf("told another result: %+v", end.Result)
	}
	if end.Tool != want.Tool || end.Command != want.Command || end.Transport != want.Transport || end.Trust != want.Trust {
		t.Errorf("told the end %+v, want %+v", end, want)
	}
	at := end.Start
	for _, step := range c.steps {
		if step.Start.Before(at) || step.End.Before(step.Start) {
			t.Errorf("the step %s goes from %v to %v, and the one before ended %v", step.Step, step.Start, step.End, at)
		}
		at = step.End
	}
	if end.End.Before(at) {
		t.Errorf("the call ends %v, its last step %v", end.End, at)
	}
}

func TestStepsAreListedInOrder(t *testing.T) {
	w := &watcher{}
	setup := plugin{invoke: answers(`{"status":"success","data":1}`)}.setup()
	setup.Observers = []host.Observer{w}
	b := hosttest.NewBench(t, setup)
	wantSuccess(t, b.Execute(context.Background(), t, b.Call("Test", `{"must":""}`)))
	var got []host.Step
	for _, step := range w.calls[0].steps {
		got = append(got, step.Step)
	}
	if !slices.Equal(got, host.Steps()) {
		t.Errorf("a call ran %v, and the list is %v", got, host.Steps())
	}
}

// lossy is a recorder that keeps nothing.
type lossy struct{}

func (lossy) Keep(context.Context, abi.Owner, *abi.Result) error { return errors.New("full") }

func TestAnObserverIsToldThatAResultWasNotKept(t *testing.T) {
	w := &watcher{}
	setup := plugin{invoke: answers(`{"status":"success","data":1}`)}.setup()
	setup.Observers = []host.Observer{w}
	setup.Recorder = func(*record.Store) host.Recorder { return lossy{} }
	b := hosttest.NewBench(t, setup)
	result := b.Host.Execute(context.Background(), b.Call("Test", `{"must":""}`))
	wantSuccess(t, result)
	if line := w.calls[0].line(); !strings.HasSuffix(line, " keep!"+abi.WarningResultNotKept) {
		t.Errorf("the line was %s", line)
	}
	if len(warned(w.calls[0].ends[0].Result, abi.WarningResultNotKept)) != 1 {
		t.Error("the observer got another result than the caller")
	}
}

// panicking panics wherever it is called.
type panicking struct{}

func (panicking) CallBegins(context.Context, *abi.Call) context.Context { panic("begin") }
func (panicking) StepEnds(context.Context, host.StepTiming)             { panic("step") }
func (panicking) CallEnds(context.Context, host.CallEnd)                { panic("end") }

// lost gives no context back.
type lost struct{ panicking }

func (lost) CallBegins(context.Context, *abi.Call) context.Context { return nil }

func TestABrokenObserverDoesNotTouchTheCall(t *testing.T) {
	w := &watcher{}
	setup := plugin{invoke: answers(`{"status":"success","data":1}`)}.setup()
	setup.Observers = []host.Observer{panicking{}, lost{}, w}
	b := hosttest.NewBench(t, setup)
	wantSuccess(t, b.Execute(context.Background(), t, b.Call("Test", `{"must":""}`)))
	if len(w.calls) != 1 || len(w.calls[0].ends) != 1 {
		t.Error("the observer after it was not told")
	}
}

func TestTheStepsRunInTheObserversContext(t *testing.T) {
	w := &watcher{}
	seen := false
	p := plugin{invoke: func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
		_, seen = ctx.Value(watchedKey{w}).(int)
		return answers(`{"status":"success","data":1}`)(ctx, inv)
	}}
	setup := p.setup()
	setup.Observers = []host.Observer{w}
	b := hosttest.NewBench(t, setup)
	wantSuccess(t, b.Execute(context.Background(), t, b.Call("Test", `{"must":""}`)))
	if !seen {
		t.Error("the transport does not get the context that the observer gave")
	}
}

func TestManyCallsAreToldApart(t *testing.T) {
	w := &watcher{}
	setup := plugin{invoke: answers(`{"status":"success","data":1}`)}.setup()
	setup.Observers = []host.Observer{w}
	b := hosttest.NewBench(t, setup)
	var wg sync.WaitGroup
	const calls = 64
	for i := range calls {
		wg.Go(func() {
			arguments := `{"must":""}`
			if i%2 == 0 {
				arguments = `{}`
			}
			b.Host.Execute(context.Background(), b.Call("Test", arguments))
		})
	}
	wg.Wait()
	if len(w.calls) != calls {
		t.Fatalf("told of %d calls, want %d", len(w.calls), calls)
	}
	for _, c := range w.calls {
		want := len(host.Steps())
		if string(c.call.Arguments) == `{}` {
			want = 5
		}
		if len(c.steps) != want || len(c.ends) != 1 {
			t.Errorf("told of %d steps (%s) and %d ends, want %d and 1", len(c.steps), c.line(), len(c.ends), want)
		}
	}
}

func TestFailedPluginsAreNamed(t *testing.T) {
	p := plugin{open: func(context.Context, *registry.Plugin) (host.Transport, error) {
		return nil, fmt.Errorf("no such module")
	}}
	b := p.bench(t)
	if failed := b.Host.FailedPlugins(); len(failed) != 0 {
		t.Errorf("before any call %v failed", failed)
	}
	b.Host.Execute(context.Background(), b.Call("Test", `{"must":""}`))
	if failed := b.Host.FailedPlugins(); !slices.Equal(failed, []string{"Test"}) {
		t.Errorf("%v failed, want Test", failed)
	}
}
