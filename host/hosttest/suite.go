package hosttest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/registry"
)

// Harness enrols a transport in the suite.
type Harness struct {
	// EntryPoint is the manifest's entryPoint object of the conformance plugin.
	EntryPoint json.RawMessage
	// Files are further files of the plugin's folder, by name.
	Files map[string][]byte
	// Kind is the transport under test.
	Kind host.Kind
	// EndsPlugins: the transport ends a plugin together with its call, so that
	// the plugin may never see that it was cancelled.
	EndsPlugins bool
}

// entryType is the type member of the entry point.
func (h Harness) entryType(t testing.TB) string {
	var entry struct{ Type string }
	if err := json.Unmarshal(h.EntryPoint, &entry); err != nil {
		t.Fatalf("the harness's entry point: %v", err)
	}
	return entry.Type
}

// Run runs the whole suite against a transport.
func Run(t *testing.T, harness Harness) {
	kind := harness.entryType(t)
	s := &suite{
		harness: harness,
		Bench: NewBench(t, Setup{
			Sources: []registry.Source{{Name: "hosttest", FS: harness.folder(), Trusted: true}},
			Kinds:   map[string]host.Kind{kind: harness.Kind},
		}),
	}
	for _, plugin := range s.Registry.Snapshot().Plugins() {
		if plugin.State != registry.Ready {
			t.Fatalf("the plugin is %s: %v", plugin.State, plugin.Refusals)
		}
	}
	for _, test := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"Success", s.testSuccess},
		{"Error", s.testError},
		{"Garbage", s.testGarbage},
		{"Oversize", s.testOversize},
		{"StateIsolation", s.testStateIsolation},
		{"Concurrent", s.testConcurrent},
		{"Progress", s.testProgress},
		{"Cancel", s.testCancel},
		{"Deadline", s.testDeadline},
		{"ResourceOut", s.testResourceOut},
		{"ResourceIn", s.testResourceIn},
		{"ResourceThrough", s.testResourceThrough},
		{"ResourceNotGiven", s.testResourceNotGiven},
		{"ResourceUnfinished", s.testResourceUnfinished},
		{"ResourceLimits", s.testResourceLimits},
		{"ResourceOfAFailedCall", s.testResourceOfAFailedCall},
	} {
		t.Run(test.name, test.run)
	}
}

// suite is a transport under test, with one host for all tests: each test also
// shows that the ones before it left nothing behind.
type suite struct {
	*Bench
	harness Harness
}

// call makes a call of a command with arguments that are marshalled.
func (s *suite) call(t testing.TB, command string, arguments map[string]any) *abi.Call {
	t.Helper()
	all := map[string]any{"command": command}
	for name, value := range arguments {
		all[name] = value
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return s.Call(PluginName, string(raw))
}

func (s *suite) run(t testing.TB, command string, arguments map[string]any) *abi.Result {
	t.Helper()
	return s.Execute(context.Background(), t, s.call(t, command, arguments))
}

// works fails the test if the plugin cannot be called.
func (s *suite) works(t testing.TB) {
	t.Helper()
	mustSucceed(t, s.run(t, "Echo", map[string]any{"value": "still here"}))
}

func mustSucceed(t testing.TB, result *abi.Result) {
	t.Helper()
	if result.Status != abi.StatusSuccess {
		t.Fatalf("got status %s with error %v, want success", result.Status, result.Error)
	}
}

// mustFail checks status and code, and that the caller is told nothing of the
// host's inside.
func mustFail(t testing.TB, result *abi.Result, status abi.Status, code string) {
	t.Helper()
	if result.Status != status || result.Error == nil || result.Error.Code != code {
		t.Fatalf("got status %s with error %v, want %s with %s", result.Status, result.Error, status, code)
	}
	if len(result.Resources) > 0 {
		t.Errorf("a failed call shows resources: %+v", result.Resources)
	}
	if text := result.Error.Message; text == "" || strings.Contains(text, ".go:") || strings.Contains(text, "goroutine ") {
		t.Errorf("got message %q, want one that tells what happened and shows no stack", text)
	}
}

// data decodes the data of a result.
func data[T any](t testing.TB, result *abi.Result) T {
	t.Helper()
	mustSucceed(t, result)
	var value T
	if err := json.Unmarshal(result.Data, &value); err != nil {
		t.Fatalf("read data %.200s: %v", result.Data, err)
	}
	return value
}

func (s *suite) testSuccess(t *testing.T) {
	for _, test := range []struct{ name, value string }{
		{"null", `null`},
		{"a number beyond float64", `12345678901234567890.000000000000000001`},
		{"text in many scripts", `"日程 – naïve \u0000 \ud83d\ude00 <b>&"`},
		{"an object", `{"b":[1,true,null,{"a":"ü"}],"a":{}}`},
		{"depth", strings.Repeat("[", 50) + strings.Repeat("]", 50)},
		{"length", `"` + strings.Repeat("long ", 100_000) + `"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := s.run(t, "Echo", map[string]any{"value": json.RawMessage(test.value)})
			got := data[struct{ Value json.RawMessage }](t, result)
			if !sameJSON(t, got.Value, []byte(test.value)) {
				t.Errorf("got %.200s, want %.200s", got.Value, test.value)
			}
			if result.Error != nil || len(result.Warnings) > 0 || len(result.Resources) > 0 {
				t.Errorf("got error %v, warnings %v, resources %v, want none", result.Error, result.Warnings, result.Resources)
			}
			if result.Tool.Name != PluginName || result.Tool.Command != "Echo" || result.Execution.Attempt != 1 {
				t.Errorf("got tool %+v, execution %+v", result.Tool, result.Execution)
			}
		})
	}
}

// sameJSON compares documents, numbers by their text.
func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	plain := func(raw []byte) string {
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("read %.200s: %v", raw, err)
		}
		return fmt.Sprintf("%#v", value)
	}
	return plain(a) == plain(b)
}

func (s *suite) testError(t *testing.T) {
	result := s.run(t, "Fail", map[string]any{"code": "SUITE.ASKED_FOR", "message": "as you wish: ü"})
	mustFail(t, result, abi.StatusError, "SUITE.ASKED_FOR")
	if e := result.Error; e.Message != "as you wish: ü" || e.Target != "value" || !sameJSON(t, e.Details, []byte(`{"why":"asked"}`)) || e.Category != abi.CategoryDomain {
		t.Errorf("got error %+v", e)
	}
	s.works(t)
}

func (s *suite) testOversize(t *testing.T) {
	const envelope = 4 << 10 // what a payload has around its data
	mustSucceed(t, s.run(t, "Oversize", map[string]any{"bytes": MaxOutputBytes - envelope}))
	for _, bytes := range []int{MaxOutputBytes, 3 * MaxOutputBytes} {
		result := s.run(t, "Oversize", map[string]any{"bytes": bytes})
		mustFail(t, result, abi.StatusError, abi.CodeInvalidToolResult)
		if text := result.Error.Message + string(result.Error.Details); !strings.Contains(text, fmt.Sprint(MaxOutputBytes)) {
			t.Errorf("the error does not name the limit of %d bytes: %s", MaxOutputBytes, text)
		}
	}
	s.works(t)
}

func (s *suite) testStateIsolation(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				result := s.run(t, "Count", nil)
				if got, want := string(result.Data), `{"count":1}`; got != want {
					t.Errorf("got data %s, want %s: something survived a call", got, want)
				}
			}
		})
	}
	wg.Wait()
}

func (s *suite) testConcurrent(t *testing.T) {
	var wg sync.WaitGroup
	for caller := range 16 {
		wg.Go(func() {
			for round := range 4 {
				want := fmt.Sprintf("caller %d round %d %s", caller, round, strings.Repeat(string(rune('a'+caller)), 1000*caller))
				result := s.run(t, "Echo", map[string]any{"value": want})
				var got struct{ Value string }
				if err := json.Unmarshal(result.Data, &got); err != nil || got.Value != want {
					t.Errorf("caller %d got status %s, error %v, data %.100s", caller, result.Status, result.Error, result.Data)
				}
			}
		})
	}
	wg.Wait()
}
