package contract

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"testing/fstest"
	"time"

	"vcphost/host"
	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/identity"
	"vcphost/server/limit"
	"vcphost/server/metrics"
	"vcphost/server/servertest"
)

// longest bounds a whole run of the client.
const longest = 8 * time.Minute

// manifest is a plugin whose schemas use what plugins use: definitions,
// references to them and to resources, a closed object, combinations.
const manifest = `{
  "manifestVersion": "1.0.0", "name": "Contract", "displayName": "Contract", "version": "1.0.0", "description": "Answers the same always.",
  "pluginType": "synchronous", "entryPoint": { "type": "wasm", "module": "tiny.wasm" },
  "communication": { "protocol": "wasm", "timeout": 20000 },
  "toolResultProtocol": { "name": "vcp.tool-result", "version": "1.0" },
  "capabilities": { "invocationCommands": [
    { "commandIdentifier": "Sum", "description": "Adds up.\nIn any order.",
      "inputSchema": { "type": "object", "properties": {
          "command": { "const": "Sum" }, "numbers": { "type": "array", "items": { "$ref": "#/$defs/number" }, "maxItems": 9 } },
        "required": ["command", "numbers"], "additionalProperties": false,
        "$defs": { "number": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } } },
      "outputSchema": { "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"], "additionalProperties": false },
      "errorCodes": ["INVALID_ARGUMENT"], "idempotent": true, "readOnly": true },
    { "commandIdentifier": "Look at", "description": "Takes a resource.",
      "inputSchema": { "type": "object", "properties": { "command": { "const": "Look at" }, "what": { "$ref": "vcp:resource" } }, "required": ["what"] },
      "outputSchema": true }
  ] }
}`

// start starts a server with every part that brings routes of its own, and
// bounds that no client of one machine meets.
func start(t *testing.T) *servertest.Server {
	t.Helper()
	secret := rand.Text() + rand.Text()
	key, err := identity.Static(secret) // which the client cannot revoke
	if err != nil {
		t.Fatal(err)
	}
	limiter := limit.New(limit.Options{Rate: -1, PerKey: -1})
	var figures *metrics.Metrics
	guest := wasmbuild.Guest{Payload: []byte(`{"status":"success","data":{"sum":0}}`)}
	return servertest.Start(t, &servertest.Options{
		Plugins: fstest.MapFS{
			"contract/plugin-manifest.json": {Data: []byte(manifest)}, "contract/tiny.wasm": {Data: guest.Bytes()},
			"tiny/plugin-manifest.json": {Data: []byte(servertest.Manifest)}, "tiny/tiny.wasm": {Data: wasmbuild.Guest{}.Bytes()},
		},
		ChangeHost: func(o *host.Options) {
			figures = metrics.New(metrics.Options{Registry: o.Registry, Admission: limiter})
			o.Observers = []host.Observer{figures}
		},
		Change: func(o *server.Options) {
			o.API.Keys, o.API.Admission, o.API.Metrics, o.API.Observers = key, limiter, figures, []api.Observer{figures}
			o.API.Backup = func(_ context.Context, w io.Writer) error { _, err := w.Write([]byte("a backup")); return err }
		},
	}).As(secret)
}

// tools gives the directory of the client's programs, and skips the test where
// there is none.
func tools(t *testing.T) string {
	t.Helper()
	environment := os.Getenv("VCPHOST_CONTRACT")
	if environment == "" {
		t.Skip("VCPHOST_CONTRACT names no environment; server/contract/run.sh makes one")
	}
	return filepath.Join(environment, "bin")
}

func run(t *testing.T, env []string, program string, arguments ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir = t.TempDir() // where the client leaves its files
	command.Env = append(os.Environ(), env...)
	command.WaitDelay = time.Second
	out, err := command.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(program), err)
	}
}

func TestTheDocumentIsOpenAPI(t *testing.T) {
	bin, s := tools(t), start(t)
	status, _, document := s.Do(t, "GET", "/openapi.json", "", "")
	if status != 200 {
		t.Fatalf("the document: got %d %s", status, document)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, document, "", "  "); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, indented.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, nil, filepath.Join(bin, "openapi-spec-validator"), "--schema", "3.1", file)
}

func TestEveryOperationAnswersAsDescribed(t *testing.T) {
	bin, s := tools(t), start(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	run(t, []string{"VCPHOST_CONTRACT_KEY=" + s.Secret, "SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH=" + here, "PYTHONDONTWRITEBYTECODE=1"},
		filepath.Join(bin, "schemathesis"), "--config-file", filepath.Join(here, "schemathesis.toml"),
		"run", s.URL+"/openapi.json", "--no-color")
	done := succeeded(t, s)
	for _, route := range s.API.Routes() {
		if name := route.Method + " " + route.Path; !done[name] {
			t.Errorf("%s never succeeded", name)
		}
	}
}

// succeeded tells which operations were answered with a status of success, by
// what the server itself counted.
func succeeded(t *testing.T, s *servertest.Server) map[string]bool {
	t.Helper()
	status, _, figures := s.Do(t, "GET", "/metrics", "", "")
	if status != 200 {
		t.Fatalf("got %d %s", status, figures)
	}
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(`_http_request_duration_seconds_count\{route="([^"]*)",status="2\d\d"\}`).FindAllSubmatch(figures, -1) {
		found[string(match[1])] = true
	}
	return found
}
