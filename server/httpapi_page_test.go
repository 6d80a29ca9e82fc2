package server_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"vcphost/sandbox/wasmbuild"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/identity"
	"vcphost/server/problem"
	"vcphost/server/servertest"
)

var updatePages = flag.Bool("update", false, "rewrite the tables of docs/http-api.md")

const pageFile = "../docs/http-api.md"

// allParts gives a server everything that brings routes of its own.
func allParts(o *server.Options) {
	o.API.Backup = func(context.Context, io.Writer) error { return nil }
	o.API.Metrics = noMetrics{}
}

type noMetrics struct{ api.Metrics }

// tables are the parts of the page that are made from the code.
func tables(t *testing.T) map[string]string {
	t.Helper()
	var endpoints, scopes, problems strings.Builder
	endpoints.WriteString("| endpoint | scope | what it does |\n|---|---|---|\n")
	w := servertest.Start(t, &servertest.Options{Change: allParts})
	for _, route := range w.API.Routes() {
		if route.Method == "HEAD" {
			continue // the page says it once, of all of them
		}
		need := "`" + string(route.Scope) + "`"
		switch {
		case route.Public:
			need = "none, public"
		case route.OperationID == "interrupt":
			need = "any; one's own calls"
		case route.PerTool:
			need = "`tools:call:…` for the tool"
		case route.Alternative != nil:
			need += ", or a signed URL"
		}
		fmt.Fprintf(&endpoints, "| `%s %s` | %s | %s |\n", route.Method, route.Path, need, route.Summary)
	}
	scopes.WriteString("| scope | what it allows |\n|---|---|\n")
	for _, info := range identity.KnownScopes() {
		fmt.Fprintf(&scopes, "| `%s` | %s |\n", info.Scope, info.Description)
	}
	problems.WriteString("| type | status | title | when |\n|---|---|---|---|\n")
	for _, info := range problem.Kinds() {
		fmt.Fprintf(&problems, "| `%s` | %d | %s | %s |\n", info.Type(), info.Status, info.Title, info.Description)
	}
	return map[string]string{"endpoints": endpoints.String(), "scopes": scopes.String(), "problems": problems.String()}
}

func TestHTTPAPIPageHasTheTablesOfTheCode(t *testing.T) {
	raw, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for name, table := range tables(t) {
		block := regexp.MustCompile(`(?s)(<!-- ` + name + `: [^\n]*-->\n).*?(<!-- end -->)`)
		if !block.MatchString(page) {
			t.Fatalf("the page has no block %s", name)
		}
		page = block.ReplaceAllString(page, "${1}"+strings.ReplaceAll(table, "$", "$$")+"${2}")
	}
	switch {
	case page == string(raw):
	case *updatePages:
		if err := os.WriteFile(pageFile, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("docs/http-api.md is not what the code says; go test ./server -run TestHTTPAPIPage -update writes it")
	}
}

// chart stands for the example that the page calls.
const chart = `{
  "manifestVersion": "1.0.0", "name": "CsvChart", "displayName": "CSV chart", "version": "1.0.0", "description": "Draws nothing.",
  "pluginType": "synchronous", "entryPoint": { "type": "wasm", "module": "tiny.wasm" },
  "communication": { "protocol": "wasm", "timeout": 20000 },
  "toolResultProtocol": { "name": "vcp.tool-result", "version": "1.0" },
  "capabilities": { "invocationCommands": [
    { "commandIdentifier": "Plot", "description": "Plot.", "outputSchema": true, "inputSchema": { "type": "object", "properties": {
        "command": { "const": "Plot" }, "data": { "$ref": "vcp:resource" }, "column": { "type": "string" } }, "required": ["data"], "additionalProperties": false } }
  ] }
}`

func TestHTTPAPIPageHasCommandsThatWork(t *testing.T) {
	for _, program := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
	raw, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	w := servertest.Start(t, &servertest.Options{Manifest: chart, Guest: wasmbuild.Guest{}})
	blocks := regexp.MustCompile("(?s)<!-- curl: (\\w+) -->\n```sh\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	want := map[string]string{
		"tools": `"inputSchema"`, "call": `"status":"success"`, "human": `"text":"**CsvChart.Plot**: success`, "text": `"text":"**CsvChart.Plot**: success`,
	}
	if len(blocks) != len(want) {
		t.Fatalf("the page has %d commands, want %d", len(blocks), len(want))
	}
	script := "set -euo pipefail\n"
	for _, block := range blocks {
		script += block[2] + "echo; echo ::" + block[1] + "\n"
	}
	command := exec.CommandContext(t.Context(), "bash", "-c", script)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "URL="+w.URL, "KEY="+w.Secret)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rest := string(out)
	for _, block := range blocks {
		answer, after, found := strings.Cut(rest, "::"+block[1]+"\n")
		if !found || !strings.Contains(answer, want[block[1]]) {
			t.Errorf("%s: got %s", block[1], answer)
		}
		rest = after
	}
}
