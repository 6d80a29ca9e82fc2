package contract

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/identity"
	"vcphost/server/servertest"
)

// limit bounds a whole run of the client.
const limit = 8 * time.Minute

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

func start(t *testing.T) *servertest.Server {
	t.Helper()
	guest := wasmbuild.Guest{Payload: []byte(`{"status":"success","data":{"sum":0}}`)}
	secret := rand.Text() + rand.Text()
	key, err := identity.Static(secret) // which the client cannot revoke
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Start(t, &servertest.Options{
		Plugins: fstest.MapFS{
			"contract/plugin-manifest.json": {Data: []byte(manifest)}, "contract/tiny.wasm": {Data: guest.Bytes()},
			"tiny/plugin-manifest.json": {Data: []byte(servertest.Manifest)}, "tiny/tiny.wasm": {Data: wasmbuild.Guest{}.Bytes()},
		},
		Change: func(o *server.Options) { o.API.Keys = key },
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
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, program, arguments...)
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
	work := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	run(t, []string{"VCPHOST_CONTRACT_KEY=" + s.Secret, "SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH=" + here, "HYPOTHESIS_STORAGE_DIRECTORY=" + work},
		filepath.Join(bin, "schemathesis"), "--config-file", filepath.Join(here, "schemathesis.toml"),
		"run", s.URL+"/openapi.json", "--no-color")
}
