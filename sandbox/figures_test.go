package sandbox

import (
	"context"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

func TestFiguresCount(t *testing.T) {
	s := newSandbox(t)
	want := func(when string, want Figures) {
		t.Helper()
		if got := s.Figures(); got != want {
			t.Errorf("%s the figures are %+v, want %+v", when, got, want)
		}
	}
	want("at first", Figures{})
	if _, err := s.Open(context.Background(), Module{Name: "Bad", Binary: []byte("no module")}); err == nil {
		t.Fatal("a text was opened as a module")
	}
	good := open(t, s, wasmbuild.Guest{}, Limits{})
	bad := open(t, s, wasmbuild.Guest{Payload: []byte{}}, Limits{})
	want("opened", Figures{OpenModules: 2, Instances: 2}) // one each for the snapshot

	for range 8 {
		_, _ = good.Invoke(context.Background(), &abi.Invocation{})
		_, _ = bad.Invoke(context.Background(), &abi.Invocation{})
	}
	want("called", Figures{OpenModules: 2, Instances: 4, Failures: 8}) // the calls of a plugin used one

	for range 2 {
		if err := bad.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	want("closed", Figures{OpenModules: 1, Instances: 4, Failures: 8})
}

func TestFiguresShowARunningInstance(t *testing.T) {
	s := newSandbox(t)
	loop := open(t, s, wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte {
		return [][]byte{wasmbuild.Loop(), wasmbuild.I64Const(0)}
	}}, Limits{})
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := loop.Invoke(ctx, &abi.Invocation{})
		done <- err
	}()
	for seen := false; !seen; {
		select {
		case err := <-done:
			t.Fatalf("the call ended (%v) and was never seen running", err)
		case <-time.After(time.Millisecond):
			seen = s.Figures().RunningInstances == 1
		}
	}
	<-done
	if running := s.Figures().RunningInstances; running != 0 {
		t.Errorf("%d instances run after the call", running)
	}
}
