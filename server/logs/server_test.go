package logs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/registry"
	"vcphost/internal/lockbuf"
	"vcphost/server"
	"vcphost/server/identity"
	"vcphost/server/logs"
	"vcphost/server/servertest"
)

const staticKey = "a-static-key-that-somebody-chose-for-this"

// careless is a transport that repeats all it is told, in turn as an error, as
// an error of its own kind, and as a panic.
type careless struct{}

func (careless) Invoke(_ context.Context, inv *abi.Invocation) (*abi.Reply, error) {
	said := string(inv.Arguments)
	switch {
	case strings.Contains(said, `"how":"panic"`):
		panic("no: " + said)
	case strings.Contains(said, `"how":"abi"`):
		return nil, abi.NewError(abi.CodeUpstreamError, "no: %s", said).WithCause(errors.New(said))
	}
	return nil, errors.New("no: " + said)
}

func (careless) Close(context.Context) error { return nil }

// loud is a server that logs everything there is to log.
func loud(t *testing.T, out io.Writer) *servertest.Server {
	static, err := identity.Static(staticKey)
	if err != nil {
		t.Fatal(err)
	}
	logger := logs.New(out, &logs.Options{Level: slog.LevelDebug, Secrets: []string{staticKey}})
	return servertest.Start(t, &servertest.Options{
		ChangeHost: func(o *host.Options) {
			o.Logger = logger
			o.Kinds = map[string]host.Kind{"wasm": {Trust: abi.TrustWASM, Open: func(context.Context, *registry.Plugin) (host.Transport, error) {
				return careless{}, nil
			}}}
		},
		Change: func(o *server.Options) {
			o.Logger = logger
			o.API.Keys = either{o.API.Keys.(*identity.Store), static}
		},
	})
}

// either asks for a static key, then the store.
type either struct {
	store  *identity.Store
	static *identity.StaticKey
}

func (e either) Authenticate(ctx context.Context, secret string) (*identity.Identity, error) {
	if who, err := e.static.Authenticate(ctx, secret); err == nil {
		return who, nil
	}
	return e.store.Authenticate(ctx, secret)
}

// everywhere lists requests with a secret in each place that a request has. In
// paths and bodies SECRET stands for it.
func everywhere() []struct{ name, method, path, contentType, body string } {
	const jsonType = "application/json"
	return []struct{ name, method, path, contentType, body string }{
		{"a path", "GET", "/v1/results/SECRET", "", ""},
		{"a path to nowhere", "GET", "/SECRET/x", "", ""},
		{"a query", "GET", "/v1/results/tr_1?view=SECRET&key=SECRET", "", ""},
		{"a view", "POST", "/v1/tools/Tiny/Other?view=SECRET", jsonType, `{}`},
		{"a tool", "POST", "/v1/tools/SECRET/SECRET", jsonType, `{}`},
		{"a tool in a body", "POST", "/v1/human/tool", jsonType, `{"tool":"SECRET","arguments":{}}`},
		{"an unknown member", "POST", "/v1/human/tool", jsonType, `{"SECRET":"SECRET"}`},
		{"a bad option", "POST", "/v1/human/tool", jsonType, `{"tool":"Tiny.Other","options":{"view":"SECRET"}}`},
		{"no JSON", "POST", "/v1/human/tool", jsonType, `{"tool":SECRET`},
		{"an argument of the wrong type", "POST", "/v1/tools/Tiny/Run", jsonType, `{"n":"SECRET"}`},
		{"an argument that there is not", "POST", "/v1/tools/Tiny/Run", jsonType, `{"SECRET":1}`},
		{"a text", "POST", "/v1/human/tool", "text/plain", "<<<[TOOL_REQUEST]>>>\ntool_name:「始」Tiny「末」,\nmaid:「始」SECRET「末」,\ntool_password:「始」SECRET「末」,\ncommand:「始」Other「末」\n<<<[END_TOOL_REQUEST]>>>"},
		{"a broken text", "POST", "/v1/human/tool", "text/plain", "<<<[TOOL_REQUEST]>>>\nSECRET"},
		{"a content type", "POST", "/v1/human/tool", "text/SECRET", "SECRET"},
		{"a transport's error", "POST", "/v1/tools/Tiny/Other", jsonType, `{"a":"SECRET"}`},
		{"an error of the protocol", "POST", "/v1/tools/Tiny/Other", jsonType, `{"a":"SECRET","how":"abi"}`},
		{"a panic", "POST", "/v1/tools/Tiny/Other", jsonType, `{"a":"SECRET","how":"panic"}`},
		{"an interrupt", "POST", "/v1/interrupt", jsonType, `{"requestId":"SECRET"}`},
		{"a file", "POST", "/v1/resources", "application/SECRET", "SECRET"},
	}
}

func TestAFloodOfKeysNeverReachesTheLog(t *testing.T) {
	var out lockbuf.Buffer
	s := loud(t, &out)
	other := s.Key(t, identity.KeySpec{Scopes: identity.Scopes{identity.ScopeToolsList}})
	secrets := []string{s.Secret, other, staticKey, strings.Replace(s.Secret, s.Secret[40:45], "wrong", 1)}
	var wg sync.WaitGroup
	for _, secret := range secrets {
		for _, place := range everywhere() {
			wg.Go(func() {
				for range 3 {
					sendSecret(t, s.URL, secret, place.method, place.path, place.contentType, place.body)
				}
			})
		}
	}
	wg.Wait()
	text := out.String()
	for _, secret := range secrets {
		for _, form := range []string{secret, url.QueryEscape(secret), secret[:20], secret[len(secret)-20:]} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("the log shows %q of a key: %s", form, text[max(0, i-300):min(len(text), i+100)])
			}
		}
	}
	requests, calls := 0, 0
	for line := range strings.Lines(text) {
		var told struct{ Msg, RequestID, InvocationID, Route string }
		if err := json.Unmarshal([]byte(line), &told); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if told.Msg == "request" {
			requests++
			if told.RequestID == "" || told.Route == "" {
				t.Errorf("a request without id or route: %s", line)
			}
		}
		if told.InvocationID != "" {
			calls++
		}
	}
	if want := 3*len(secrets)*len(everywhere()) + 1; requests != want || calls == 0 { // and one of servertest
		t.Errorf("%d lines of requests, want %d; %d with calls", requests, want, calls)
	}
}

// sendSecret sends a request with a secret in a place and in every header that
// somebody might put one in.
func sendSecret(t *testing.T, base, secret, method, path, contentType, body string) {
	fill := func(s, with string) string { return strings.ReplaceAll(s, "SECRET", with) }
	request, err := http.NewRequestWithContext(t.Context(), method, base+fill(path, url.QueryEscape(secret)), strings.NewReader(fill(body, secret)))
	if err != nil {
		t.Error(err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	for _, name := range []string{"X-Request-Id", "User-Agent", "Cookie", "X-Api-Key", "Traceparent", "Referer", "If-None-Match", "Range"} {
		request.Header.Set(name, secret)
	}
	request.Header.Set("Accept", fmt.Sprintf("application/json, x/%s", secret))
	if contentType != "" {
		request.Header.Set("Content-Type", fill(contentType, secret))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Error(err)
	}
}
