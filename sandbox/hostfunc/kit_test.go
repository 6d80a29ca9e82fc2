package hostfunc_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/sandbox/hostfunc"
)

// bench is a call over real stores.
type bench struct {
	*hostfunc.Call
	session *resources.Session
	input   string // id of an input of 100,000 bytes
	events  []abi.Progress
	log     bytes.Buffer // one line each: level and message
	cancel  context.CancelFunc
}

// setup is what a test changes of a call.
type setup struct {
	grants    hostfunc.Grants
	logBytes  int
	resources resources.Limits
	db        kv.DB
}

func newBench(t testing.TB, s setup) *bench {
	t.Helper()
	if s.db == nil {
		s.db = kv.NewMemory()
	}
	store, err := resources.Open(s.db, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	b := &bench{cancel: cancel}
	owner := abi.Owner{Tenant: "default", Actor: "tester"}
	input, err := store.Import(ctx, owner, abi.ResourceDraft{FileName: "in.txt"}, strings.NewReader(strings.Repeat("0123456789", 10_000)), 0)
	if err != nil {
		t.Fatal(err)
	}
	b.input = input.ID
	b.session = store.Begin(owner, "Test", s.resources)
	t.Cleanup(func() {
		if err := b.session.Discard(); err != nil {
			t.Error(err)
		}
	})
	if _, err := b.session.Allow(ctx, abi.Viewer{Owner: owner}, []string{b.input}); err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))
	b.Call = hostfunc.NewCall(ctx, &abi.Invocation{
		Resources: b.session, Reader: b.session,
		Progress: func(event abi.Progress) { b.events = append(b.events, event) },
	}, s.grants, hostfunc.Limits{MaxLogBytes: s.logBytes}, logger)
	return b
}

// withoutTime leaves the time out, and the id of the call, which
// TestEveryLineSaysWhoseCallItIs is about.
func withoutTime(_ []string, attribute slog.Attr) slog.Attr {
	if attribute.Key == slog.TimeKey || attribute.Key == "invocationId" {
		return slog.Attr{}
	}
	return attribute
}

func want[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func wantErrno(t testing.TB, what string, got int32, errno hostfunc.Errno) {
	t.Helper()
	want(t, what, hostfunc.Errno(got), errno)
}
