package server_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/server/identity"
	"vcphost/server/servertest"
)

// interrupt asks for a stop, and gives the invocations that were stopped.
func interrupt(t *testing.T, s *servertest.Server, body string) []string {
	t.Helper()
	status, _, answer := s.Do(t, "POST", "/v1/interrupt", "application/json", body)
	var stopped struct{ Interrupted []string }
	if err := json.Unmarshal(answer, &stopped); status != 200 || err != nil || stopped.Interrupted == nil {
		t.Fatalf("got %d %s", status, answer)
	}
	return stopped.Interrupted
}

// asCaller makes a key that may call, for an actor.
func (s *stoppable) asCaller(t *testing.T, tenant, actor string) *stoppable {
	t.Helper()
	other := *s
	other.Server = s.As(s.Key(t, identity.KeySpec{Tenant: tenant, Actor: actor, Scopes: identity.Scopes{
		identity.ScopeToolsCall + "*", identity.ScopeResultsRead,
	}}))
	return &other
}

// answerOf reads the answer to the request of a connection.
func answerOf(t *testing.T, conn net.Conn) (http.Header, string) {
	t.Helper()
	response, err := http.ReadResponse(newReader(t, conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("got %d %s with %v", response.StatusCode, body, err)
	}
	return response.Header, string(body)
}

// Whoever made a call may stop it by either id, and so may an administrator;
// for everybody else it is not there.
func TestWhoMayInterruptACall(t *testing.T) {
	s := startStoppable(t, polite())
	owner := s.asCaller(t, "acme", "ada")
	for _, test := range []struct {
		name  string
		who   *servertest.Server
		stops bool
	}{
		{"the owner", owner.Server, true},
		{"another key of the owner", s.asCaller(t, "acme", "ada").Server, true},
		{"an administrator", s.Server, true},
		{"another actor", s.asCaller(t, "acme", "bob").Server, false},
		{"another tenant", s.asCaller(t, "other", "ada").Server, false},
	} {
		for _, by := range []string{"requestId", "invocationId", "both"} {
			t.Run(test.name+" by "+by, func(t *testing.T) {
				conn := s.dial(t, owner.raw("/v1/human/tool", "application/json", "*/*", `{"tool":"Tiny.Run","arguments":{}}`))
				call := s.begun(t)
				ids := map[string]string{"requestId": "leaver", "invocationId": call.Context.InvocationID}
				if by != "both" {
					ids = map[string]string{by: ids[by]}
				}
				body, err := json.Marshal(ids)
				if err != nil {
					t.Fatal(err)
				}
				got := interrupt(t, test.who, string(body))
				if !test.stops {
					if len(got) != 0 {
						t.Errorf("somebody else's call %v is stopped", got)
					}
					s.wantRunning(t)
					got = interrupt(t, owner.Server, string(body))
				}
				if want := []string{call.Context.InvocationID}; !slices.Equal(got, want) {
					t.Errorf("stopped %v, want %v", got, want)
				}
				s.wantCancelled(t, call)
				header, answer := answerOf(t, conn)
				if got := header.Get("X-Request-Id"); got != "leaver" || !strings.Contains(answer, `"requestId":"leaver"`) || !strings.Contains(answer, `"status":"cancelled"`) {
					t.Errorf("request %q is answered with %s", got, answer)
				}
				if got := interrupt(t, owner.Server, string(body)); len(got) != 0 {
					t.Errorf("a call that is over is stopped: %v", got)
				}
			})
		}
	}
}

// wantRunning makes sure that no call ends within a while.
func (s *stoppable) wantRunning(t *testing.T) {
	t.Helper()
	select {
	case result := <-s.results:
		t.Fatalf("a call ended as %s", result.Status)
	case <-time.After(200 * time.Millisecond):
	}
}

// Nothing in the answer tells a foreign call from one that there is not.
func TestAForeignCallIsNotRevealed(t *testing.T) {
	s := startStoppable(t, polite())
	stranger := s.asCaller(t, "other", "eve")
	conn := s.dial(t, s.raw("/v1/human/tool", "application/json", "*/*", `{"tool":"Tiny.Run","arguments":{}}`))
	call := s.begun(t)
	ask := func(id string) (int, string) {
		status, _, body := stranger.Do(t, "POST", "/v1/interrupt", "application/json", `{"invocationId":"`+id+`"}`)
		return status, string(body)
	}
	foreignStatus, foreign := ask(call.Context.InvocationID)
	absentStatus, absent := ask("ti_00000000000000000000000000")
	if foreignStatus != absentStatus || foreign != absent {
		t.Errorf("a foreign call gives %d %s, an absent one %d %s", foreignStatus, foreign, absentStatus, absent)
	}
	s.wantRunning(t)
	conn.Close()
	s.wantCancelled(t, call)
}

func TestARequestIsStoppedWithAllItsCalls(t *testing.T) {
	s := startStoppable(t, polite())
	conn := s.dial(t, s.raw("/v1/human/tool", "text/plain", "*/*", textCalls))
	first := s.begun(t)
	if got := interrupt(t, s.Server, `{"requestId":"leaver"}`); !slices.Equal(got, []string{first.Context.InvocationID}) {
		t.Errorf("stopped %v", got)
	}
	s.wantCancelled(t, first)
	var results []abi.Result
	if _, body := answerOf(t, conn); json.Unmarshal([]byte(body), &results) != nil || len(results) != 1 {
		t.Errorf("got %s, want the one call that began", body)
	}

	// By its invocation only the one call is stopped.
	t.Run("by invocation", func(t *testing.T) {
		s := startStoppable(t, polite())
		conn := s.dial(t, s.raw("/v1/human/tool", "text/plain", "*/*", textCalls))
		for range 2 {
			call := s.begun(t)
			interrupt(t, s.Server, `{"invocationId":"`+call.Context.InvocationID+`"}`)
			s.wantCancelled(t, call)
		}
		var results []abi.Result
		if _, body := answerOf(t, conn); json.Unmarshal([]byte(body), &results) != nil || len(results) != 2 {
			t.Errorf("got %s, want both calls", body)
		}
	})
}

func TestAnEventStreamEndsWithTheCancelledResult(t *testing.T) {
	s := startStoppable(t, polite())
	conn := s.dial(t, s.raw("/v1/human/tool", "application/json", "text/event-stream", `{"tool":"Tiny.Run","arguments":{}}`))
	call := s.begun(t)
	time.Sleep(1200 * time.Millisecond) // a heartbeat at least
	interrupt(t, s.Server, `{"requestId":"leaver"}`)
	s.wantCancelled(t, call)
	header, body := answerOf(t, conn)
	if kind := header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("got %s", kind)
	}
	if !strings.Contains(body, ": still running") || !strings.Contains(body, "event: result\n") || !strings.Contains(body, `"status":"cancelled"`) {
		t.Errorf("got %s", body)
	}
}

func TestRequestIDsOfCallers(t *testing.T) {
	s := servertest.Start(t, nil)
	for _, test := range []struct {
		name, id string
		kept     bool
	}{
		{"plain", "my-request_1.2/3", true},
		{"the longest", strings.Repeat("x", 128), true},
		{"too long", strings.Repeat("x", 129), false},
		{"with a space", "a b", false},
		{"not ASCII", "grüße", false},
		{"empty", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/v1/tools/Tiny/Run", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+s.Secret)
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("X-Request-Id", test.id)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			var result abi.Result
			if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
				t.Fatal(err)
			}
			got := response.Header.Get("X-Request-Id")
			if (got == test.id) != test.kept || got != result.Execution.RequestID || got == "" {
				t.Errorf("%q is answered as %q, and the result says %q", test.id, got, result.Execution.RequestID)
			}
		})
	}
}
