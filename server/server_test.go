package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"context"
	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/record"
	"vcphost/host/registry"
	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/identity"
)

const manifest = `{
  "manifestVersion": "1.0.0", "name": "Tiny", "displayName": "Tiny", "version": "1.0.0", "description": "Answers null.",
  "pluginType": "synchronous", "entryPoint": { "type": "wasm", "module": "tiny.wasm" },
  "communication": { "protocol": "wasm", "timeout": 20000 },
  "toolResultProtocol": { "name": "vcp.tool-result", "version": "1.0" },
  "capabilities": { "invocationCommands": [
    { "commandIdentifier": "Run", "description": "Run.", "inputSchema": { "type": "object", "properties": { "command": { "const": "Run" }, "n": { "type": "integer" } }, "additionalProperties": false }, "outputSchema": true },
    { "commandIdentifier": "Other", "description": "Run.", "inputSchema": { "type": "object" }, "outputSchema": true }
  ] }
}`

// world is a server over real parts, and a key.
type world struct {
	url, secret string
}

func start(t *testing.T, guest wasmbuild.Guest) world {
	t.Helper()
	db := kv.NewMemory()
	store, err := resources.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	results, err := record.New(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(t.Context(), &sandbox.Options{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	plugins, err := registry.New([]registry.Source{{Name: "test", Trusted: true, FS: fstest.MapFS{
		"tiny/plugin-manifest.json": {Data: []byte(manifest)}, "tiny/tiny.wasm": {Data: guest.Bytes()},
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Options{Registry: plugins, Resources: store, Recorder: results, Kinds: map[string]host.Kind{"wasm": {
		Trust: abi.TrustWASM,
		Open: func(ctx context.Context, p *registry.Plugin) (host.Transport, error) {
			return box.Open(ctx, sandbox.Module{Name: p.Name, Binary: guest.Bytes()})
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := identity.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := keys.Bootstrap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Options{API: api.Options{Host: h, Registry: plugins, Resources: store, Results: results, Keys: keys, KeyStore: keys}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		h.Close(ctx)
		box.Close(ctx)
		db.Close()
	})
	return world{"http://" + listener.Addr().String(), secret}
}

func (w world) do(t *testing.T, method, path, contentType, body string) (int, http.Header, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+w.secret)
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, answer
}

func TestACallOverHTTPAnswersCanonically(t *testing.T) {
	w := start(t, wasmbuild.Guest{})
	for _, test := range []struct{ name, path, kind, body string }{
		{"the human endpoint", "/v1/human/tool", "application/json", `{"tool":"Tiny.Run","arguments":{"n":1}}`},
		{"a command's own endpoint", "/v1/tools/Tiny/Run", "application/json", `{"n":1}`},
		{"a text block", "/v1/human/tool", "text/plain", "<<<[TOOL_REQUEST]>>>\ntool_name:「始」Tiny「末」,\ncommand:「始」Run「末」,\nN:「始」1「末」\n<<<[END_TOOL_REQUEST]>>>"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, header, body := w.do(t, "POST", test.path, test.kind, test.body)
			var result abi.Result
			if err := json.Unmarshal(body, &result); status != 200 || err != nil || result.Status != abi.StatusSuccess {
				t.Fatalf("got %d %s", status, body)
			}
			if got := header.Get("X-Request-Id"); got != result.Execution.RequestID {
				t.Errorf("the header names request %q, the result %q", got, result.Execution.RequestID)
			}
			status, _, stored := w.do(t, "GET", "/v1/results/"+result.ID, "", "")
			if status != 200 || !bytes.Equal(stored, body) {
				t.Errorf("the stored result is %d %s", status, stored)
			}
		})
	}
}
