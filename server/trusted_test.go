package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/client"
	"vcphost/server/identity"
	"vcphost/server/local"
	"vcphost/server/servertest"
)

func operator() *identity.Identity {
	return &identity.Identity{
		KeyID: "local", Name: "operator", Scopes: identity.Scopes{identity.ScopeAdmin},
		Owner: abi.Owner{Tenant: "default", Actor: "operator"}, ActorType: abi.ActorUser, Admin: true,
	}
}

// startTrusted starts a server with a second one beside it on a trusted pipe,
// over the same parts.
func startTrusted(t *testing.T, guest wasmbuild.Guest) (*servertest.Server, *client.Pipe) {
	t.Helper()
	var options server.Options
	public := servertest.Start(t, &servertest.Options{Guest: guest, Change: func(o *server.Options) { options = *o }})
	options.API.Process = local.Process{PID: 7, Plugins: []string{"/p"}, Trust: []string{}}
	s, pipe := server.New(options), client.NewPipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeTrusted(pipe, operator()) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return public, pipe
}

func askPipe(t *testing.T, pipe *client.Pipe, method, path, key, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return pipe.Dial(ctx) }}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

func TestOnlyATrustedConnectionSpeaksWithoutAKey(t *testing.T) {
	public, pipe := startTrusted(t, wasmbuild.Guest{})
	reader := public.Key(t, identity.KeySpec{Name: "reader", Scopes: identity.Scopes{"results:read"}})
	for _, test := range []struct {
		name, method, path, key string
		trusted                 bool
		want                    int
	}{
		{"trusted", "GET", "/v1/keys", "", true, 200},
		{"trusted, with a key that may", "GET", "/v1/keys", public.Secret, true, 200},
		{"trusted, with a key that may not", "GET", "/v1/keys", reader, true, 403},
		{"trusted, with a key that is none", "GET", "/v1/keys", "vcp_x", true, 401},
		{"what is local", "GET", "/v1/local/process", "", true, 200},
		{"what is local, with an administrator's key", "GET", "/v1/local/process", public.Secret, true, 404},
		{"not trusted", "GET", "/v1/keys", "", false, 401},
		{"what is local, not trusted", "GET", "/v1/local/process", public.Secret, false, 404},
		{"a local call, not trusted", "POST", "/v1/local/call", public.Secret, false, 404},
		{"local plugins, not trusted", "GET", "/v1/local/plugins", "", false, 401},
	} {
		t.Run(test.name, func(t *testing.T) {
			var status int
			var body string
			if test.trusted {
				status, body = askPipe(t, pipe, test.method, test.path, test.key, "")
			} else {
				var raw []byte
				status, _, raw = public.As(test.key).Do(t, test.method, test.path, "application/json", "{}")
				body = string(raw)
			}
			if status != test.want {
				t.Errorf("got %d %s, want %d", status, body, test.want)
			}
		})
	}
}

func TestWhoCallsOnATrustedConnection(t *testing.T) {
	public, pipe := startTrusted(t, wasmbuild.Guest{})
	status, body := askPipe(t, pipe, "POST", "/v1/human/tool", "", `{"tool":"Tiny.Run","arguments":{}}`)
	var result abi.Result
	if err := json.Unmarshal([]byte(body), &result); err != nil || status != 200 || result.Origin.Source != abi.FromHumanTool || *result.Actor.ID != "operator" {
		t.Errorf("got %d %s", status, body)
	}
	c := client.New(pipe.Dial)
	defer c.Close()
	answer, err := c.Call(t.Context(), client.Call{
		Tool: "Tiny.Run", Arguments: []byte("{}"), Pairs: []local.Pair{{Name: []byte("n"), Value: []byte("7")}}, RequestID: "req_x", AI: true,
	})
	if err != nil || answer.Result.Origin.Source != abi.FromCLI || answer.Result.Execution.RequestID != "req_x" || !strings.Contains(answer.Text, "Tiny.Run") {
		t.Fatalf("got %+v, %v", answer, err)
	}
	if status, _, _ := public.Do(t, "GET", "/v1/results/"+answer.Result.ID, "", ""); status != 200 {
		t.Errorf("an administrator reads it with status %d", status)
	}
}

func TestALocalCallTellsInTheResultWhatIsWrongWithArguments(t *testing.T) {
	_, pipe := startTrusted(t, wasmbuild.Guest{})
	c := client.New(pipe.Dial)
	defer c.Close()
	for _, test := range []struct{ name, arguments, code string }{
		{"no JSON", "{", abi.CodeInvalidArgument},
		{"not UTF-8", "{\"n\":\"\xff\"}", abi.CodeInvalidArgument},
		{"twice", `{"n":1,"n":2}`, abi.CodeInvalidArgument},
		{"deep", strings.Repeat("[", 200_000), abi.CodeInvalidArgument},
		{"no object", `[]`, abi.CodeInvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer, err := c.Call(t.Context(), client.Call{
				Tool: "Tiny.Run", Arguments: []byte(test.arguments), RequestID: "req_1",
				Pairs: []local.Pair{{Name: []byte("n"), Value: []byte("\xff")}}, Inputs: []local.Input{{Name: []byte("r"), Resource: "res_0"}},
			})
			if err != nil || answer.Result.Error == nil || answer.Result.Error.Code != test.code {
				t.Errorf("got %+v, %v", answer, err)
			}
		})
	}
	for _, body := range []string{"", "[]", `{"view":"legacy"}`, `{"view":"canonical","extra":1}`, `{"arguments":"no base 64!","view":"ai"}`} {
		if status, answer := askPipe(t, pipe, "POST", "/v1/local/call", "", body); status != 400 {
			t.Errorf("%q: got %d %s", body, status, answer)
		}
	}
}

func TestDataOfSeveralLinesTravelsWhole(t *testing.T) {
	const payload = "{\"status\":\"success\",\"data\":{\"a\":\n\n[1,\r\n2]\n}}"
	_, pipe := startTrusted(t, wasmbuild.Guest{Payload: []byte(payload)})
	c := client.New(pipe.Dial)
	defer c.Close()
	answer, err := c.Call(t.Context(), client.Call{Tool: "Tiny.Run", Arguments: []byte("{}"), RequestID: "req_1"})
	if err != nil {
		t.Fatal(err)
	}
	var data struct{ A []int }
	if err := json.Unmarshal(answer.Result.Data, &data); err != nil || len(data.A) != 2 {
		t.Errorf("got %s, %v", answer.Raw, err)
	}
}

func TestAListenerThatOthersReachIsNeverTrusted(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Options{})
	if err := s.ServeTrusted(listener, operator()); err == nil {
		t.Error("a TCP listener is trusted")
	}
	if conn, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		conn.Close()
		t.Error("the refused listener is open")
	}
	if err := s.ServeTrusted(client.NewPipe(), nil); err == nil {
		t.Error("a listener speaks for nobody")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Serve(client.NewPipe()); err != nil {
		t.Errorf("serving after Close: %v", err)
	}
}
