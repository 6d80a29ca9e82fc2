// Package servertest starts whole servers for tests: the real host, sandbox,
// stores and routes over a database in memory or on disk, with a plugin that is
// assembled in memory. It is imported by tests alone.
//
// A server and all that it stands on ends with its test.
package servertest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"
	"time"

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
	"vcphost/server/signedurl"
)

// Manifest is the plugin of a server whose options name none: Tiny, with the
// commands Run, which takes an integer n, and Other, which takes anything.
const Manifest = `{
  "manifestVersion": "1.0.0", "name": "Tiny", "displayName": "Tiny", "version": "1.0.0", "description": "Answers null.",
  "pluginType": "synchronous", "entryPoint": { "type": "wasm", "module": "tiny.wasm" },
  "communication": { "protocol": "wasm", "timeout": 20000 },
  "toolResultProtocol": { "name": "vcp.tool-result", "version": "1.0" },
  "capabilities": { "invocationCommands": [
    { "commandIdentifier": "Run", "description": "Run.", "inputSchema": { "type": "object", "properties": { "command": { "const": "Run" }, "n": { "type": "integer" } }, "additionalProperties": false }, "outputSchema": true },
    { "commandIdentifier": "Other", "description": "Run.", "inputSchema": { "type": "object" }, "outputSchema": true }
  ] }
}`

// Options are settings of a server for tests. Nil, and the zero value, are one
// plugin of Manifest that answers null.
type Options struct {
	Guest wasmbuild.Guest
	// Manifest is the plugin's manifest, whose module is tiny.wasm.
	Manifest string
	// Plugins replaces Guest and Manifest: a folder of plugin folders with their
	// modules in them.
	Plugins fs.FS
	// OnDisk puts the database into a directory that ends with the test.
	OnDisk bool
	// ChangeHost and then Change see the options of the host and the server before
	// they are made; nil leaves them.
	ChangeHost func(*host.Options)
	Change     func(*server.Options)
}

// Server is a server that runs.
type Server struct {
	URL     string // http://127.0.0.1:port
	Secret  string // of an administrator's key
	Keys    *identity.Store
	API     *api.API
	Host    *host.Host
	Plugins *registry.Registry
}

// Start starts a server that ends with the test.
func Start(t testing.TB, opts *Options) *Server {
	t.Helper()
	if opts == nil {
		opts = &Options{}
	}
	parts := assemble(t, opts)
	keys, err := identity.Open(parts.db, nil)
	must(t, err)
	secret, _, err := keys.Bootstrap(t.Context())
	must(t, err)
	urls, err := signedurl.Open(parts.db)
	must(t, err)
	settings := server.Options{API: api.Options{
		Host: parts.host, Registry: parts.plugins, Resources: parts.store, Results: parts.results, Keys: keys, KeyStore: keys, URLs: urls,
		Gauges: api.Gauges{Sandbox: parts.box.Figures, FailedPlugins: parts.host.FailedPlugins},
	}}
	if opts.Change != nil {
		opts.Change(&settings)
	}
	s := server.New(settings)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(s.Close(ctx), <-done); err != nil {
			t.Error(err)
		}
		parts.close(ctx)
	})
	started := &Server{URL: "http://" + listener.Addr().String(), Secret: secret, Keys: keys, API: s.API(), Host: parts.host, Plugins: parts.plugins}
	// A test that sends nothing would close a server that does not serve yet.
	started.Do(t, "GET", "/healthz", "", "")
	return started
}

// parts are what a server stands on.
type parts struct {
	db      kv.DB
	store   *resources.Store
	results *record.Store
	plugins *registry.Registry
	box     *sandbox.Sandbox
	host    *host.Host
}

func assemble(t testing.TB, opts *Options) *parts {
	t.Helper()
	p := &parts{db: kv.NewMemory()}
	var err error
	if opts.OnDisk {
		p.db, err = kv.OpenBadger(t.TempDir(), nil)
		must(t, err)
	}
	p.store, err = resources.Open(p.db, nil)
	must(t, err)
	p.results, err = record.New(p.db, nil)
	must(t, err)
	p.box, err = sandbox.New(t.Context(), &sandbox.Options{DB: p.db})
	must(t, err)
	p.plugins, err = registry.New([]registry.Source{{Name: "test", Trusted: true, FS: opts.folder()}}, nil)
	must(t, err)
	settings := host.Options{
		Registry: p.plugins, Resources: p.store, Recorder: p.results,
		Kinds: map[string]host.Kind{"wasm": {Trust: abi.TrustWASM, Open: p.open}},
	}
	if opts.ChangeHost != nil {
		opts.ChangeHost(&settings)
	}
	p.host, err = host.New(settings)
	must(t, err)
	return p
}

func (p *parts) open(ctx context.Context, plugin *registry.Plugin) (host.Transport, error) {
	binary, err := fs.ReadFile(plugin.FS, plugin.Manifest.EntryPoint.Module)
	if err != nil {
		return nil, err
	}
	opened, err := p.box.Open(ctx, sandbox.Module{Name: plugin.Name, Binary: binary})
	if err != nil {
		return nil, err // not a nil plugin in an interface
	}
	return opened, nil
}

func (p *parts) close(ctx context.Context) {
	p.host.Close(ctx)
	p.box.Close(ctx)
	p.db.Close()
}

func (o *Options) folder() fs.FS {
	if o.Plugins != nil {
		return o.Plugins
	}
	manifest := o.Manifest
	if manifest == "" {
		manifest = Manifest
	}
	return fstest.MapFS{
		"tiny/plugin-manifest.json": {Data: []byte(manifest)}, "tiny/tiny.wasm": {Data: o.Guest.Bytes()},
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Key makes a key of some scopes and gives its secret.
func (s *Server) Key(t testing.TB, spec identity.KeySpec) string {
	t.Helper()
	if spec.Name == "" {
		spec.Name = "test"
	}
	_, secret, err := s.Keys.Add(t.Context(), spec)
	must(t, err)
	return secret
}

// As is the server as the holder of another key sees it; "" sends no key.
func (s *Server) As(secret string) *Server {
	other := *s
	other.Secret = secret
	return &other
}

// Do sends a request with the server's Secret and reads the answer.
func (s *Server) Do(t testing.TB, method, path, contentType, body string) (status int, header http.Header, answer []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	must(t, err)
	if s.Secret != "" {
		request.Header.Set("Authorization", "Bearer "+s.Secret)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, response.Header, answer
}
