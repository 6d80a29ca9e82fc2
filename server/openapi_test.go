package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"vcphost/server/identity"
	"vcphost/server/openapi/viewer"
	"vcphost/server/servertest"
)

func describedTo(t *testing.T, w *servertest.Server, scopes ...identity.Scope) map[string]map[string]json.RawMessage {
	t.Helper()
	status, _, body := w.As(w.Key(t, identity.KeySpec{Scopes: append(scopes, identity.ScopeToolsList)})).Do(t, "GET", "/openapi.json", "", "")
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(body, &document); err != nil || status != 200 {
		t.Fatalf("got %d %v %.200s", status, err, body)
	}
	return document.Paths
}

func TestTheDescriptionListsWhatTheKeyMayDo(t *testing.T) {
	w := servertest.Start(t, nil)
	for _, test := range []struct {
		name           string
		scopes         identity.Scopes
		with, withouts []string
	}{
		{"nothing but lists", nil, []string{"/v1/tools", "/healthz", "/docs"}, []string{"/v1/tools/Tiny/Run", "/v1/human/tool", "/v1/keys", "/v1/plugins", "/v1/results/{id}"}},
		{"one command", identity.Scopes{"tools:call:Tiny.Run"}, []string{"/v1/tools/Tiny/Run", "/v1/human/tool", "/v1/interrupt"}, []string{"/v1/tools/Tiny/Other", "/v1/keys"}},
		{"another tool", identity.Scopes{"tools:call:Tin"}, []string{"/v1/human/tool"}, []string{"/v1/tools/Tiny/Run"}},
		{"results", identity.Scopes{"results:read"}, []string{"/v1/results/{id}"}, []string{"/v1/human/tool", "/v1/resources/{id}"}},
		{"administrator", identity.Scopes{"admin"}, []string{"/v1/tools/Tiny/Run", "/v1/tools/Tiny/Other", "/v1/keys", "/v1/plugins", "/v1/resources/{id}"}, []string{"/v1/local/call", "/v1/local/process"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 2 { // the second time from what was kept
				paths := describedTo(t, w, test.scopes...)
				for _, path := range test.with {
					if paths[path] == nil {
						t.Errorf("%s is missing", path)
					}
				}
				for _, path := range test.withouts {
					if paths[path] != nil {
						t.Errorf("%s is there", path)
					}
				}
			}
		})
	}
}

func TestEveryRouteIsDescribed(t *testing.T) {
	w := servertest.Start(t, nil)
	paths := describedTo(t, w, identity.ScopeAdmin)
	for _, route := range w.API.Routes() {
		if paths[route.Path][strings.ToLower(route.Method)] == nil {
			t.Errorf("%s %s is not described", route.Method, route.Path)
		}
	}
}

func TestTheDescriptionFollowsTheRegistry(t *testing.T) {
	w := servertest.Start(t, nil)
	_, _, first := w.Do(t, "GET", "/openapi.json", "", "")
	_, _, again := w.Do(t, "GET", "/openapi.json", "", "")
	if err := w.Plugins.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, _, reloaded := w.Do(t, "GET", "/openapi.json", "", "")
	if !bytes.Equal(first, again) || !bytes.Equal(first, reloaded) {
		t.Error("the same API is described in different words")
	}
}

func TestDocsNeedNoKeyAndNothingFromElsewhere(t *testing.T) {
	w := servertest.Start(t, nil)
	for _, name := range append(viewer.Names(), "") {
		path := "/docs"
		if name != "" {
			path += "/" + name
		}
		for _, coding := range []string{"gzip", "identity"} {
			request, err := http.NewRequestWithContext(t.Context(), "GET", w.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Accept-Encoding", coding) // by hand, so that the client does not unpack
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != 200 || len(body) == 0 {
				t.Errorf("%s: %d, %d bytes, %v", path, response.StatusCode, len(body), err)
			}
			if policy := response.Header.Get("Content-Security-Policy"); policy != viewer.Policy || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: policy %q", path, policy)
			}
			packed := bytes.HasPrefix(body, []byte{0x1f, 0x8b})
			if got := response.Header.Get("Content-Encoding") == "gzip"; got != packed || packed && coding != "gzip" {
				t.Errorf("%s for %s: Content-Encoding says gzip %v, the bytes %v", path, coding, got, packed)
			}
		}
	}
	if status, _, body := w.As("").Do(t, "GET", "/openapi.json", "", ""); status != 401 {
		t.Errorf("the description without a key: %d %s", status, body)
	}
}
