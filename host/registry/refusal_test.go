package registry

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// refusal is one manifest that breaks one rule.
type refusal struct {
	name     string
	manifest string
	pointer  string
	reason   string // a part of the reason
}

func runRefusals(t *testing.T, tests []refusal) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			checkRefusal(t, loadOne(t, folder(test.manifest)), test)
		})
	}
}

func checkRefusal(t *testing.T, p *Plugin, want refusal) {
	t.Helper()
	if p.State != Refused {
		t.Fatalf("got state %s, want refused", p.State)
	}
	for _, got := range p.Refusals {
		if got.File != file {
			t.Errorf("file: got %q, want %q", got.File, file)
		}
		if got.Pointer == want.pointer && strings.Contains(got.Reason, want.reason) {
			if len(p.Refusals) > 1 && want.pointer != "" {
				t.Logf("besides: %v", p.Refusals)
			}
			return
		}
	}
	t.Errorf("got %+v, want one at %q with %q", p.Refusals, want.pointer, want.reason)
}

func TestRefusedDocuments(t *testing.T) {
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	runRefusals(t, []refusal{
		{"empty", "", "", "not valid JSON"},
		{"not JSON", `{"name": nope}`, "/name", "not valid JSON"},
		{"not UTF-8", "{\"name\": \"\xff\"}", "/name", "not valid JSON"},
		{"duplicate key", `{"a": {"b": 1, "b": 2}}`, "/a/b", "not valid JSON"},
		{"too long", `{"name": "` + strings.Repeat("x", MaxManifestBytes) + `"}`, "", "longer than"},
		{"array", `[]`, "", "must be an object, is array"},
		{"null", `null`, "", "must be an object, is null"},
	})
	p := loadOne(t, folder(`{"a": `+deep+`}`))
	if p.State != Refused || p.Manifest != nil || p.Name != "chart" || !strings.Contains(p.Refusals[0].Reason, "not valid JSON") {
		t.Errorf("too deep: got %s %v", p.State, p.Refusals)
	}
	asFolder := fstest.MapFS{"chart/plugin-manifest.json/x": {Data: []byte("x")}}
	checkRefusal(t, loadOne(t, asFolder), refusal{reason: "not a regular file"})
}

func TestRefusedIdentity(t *testing.T) {
	name := `"name": "CsvChart"`
	kind := `"pluginType": "synchronous"`
	protocol := `{"name": "vcp.tool-result", "version": "1.0"}`
	runRefusals(t, []refusal{
		{"no name", broken(t, name+",", ""), "/name", "required"},
		{"number as name", broken(t, name, `"name": 5`), "/name", "must be a string"},
		{"name with a control character", broken(t, name, `"name": "a\u0007"`), "/name", "must be letters"},
		{"name with a slash", broken(t, name, `"name": "../x"`), "/name", "must be letters"},
		{"name beginning with a dot", broken(t, name, `"name": ".x"`), "/name", "must be letters"},
		{"long name", broken(t, name, `"name": "`+strings.Repeat("x", 129)+`"`), "/name", "1 to 128"},
		{"no type", broken(t, kind+",", ""), "/pluginType", "required"},
		{"unknown type", broken(t, kind, `"pluginType": "Synchronous"`), "/pluginType", `did you mean "synchronous"`},
		{"static without cron", broken(t, kind, `"pluginType": "static"`), "/refreshIntervalCron", "required"},
		{"description of another kind", broken(t, `"description": "A chart."`, `"description": []`), "/description", "must be a string"},
		{"what only the schema binds", broken(t, kind, kind+`, "dependencies": {"npm": [1]}`), "/dependencies/npm/0", ""},
		{"classification", broken(t, kind, kind+`, "classification": "secret"`), "/classification", "must be one of"},
		{"no protocol", broken(t, `"toolResultProtocol": `+protocol+",", ""), "/toolResultProtocol", "required for a WebAssembly plugin"},
		{"null protocol", broken(t, protocol, "null"), "/toolResultProtocol", "must be an object"},
		{"protocol name", broken(t, "vcp.tool-result", "vcp.result"), "/toolResultProtocol/name", "unknown protocol"},
		{"protocol version", broken(t, `"version": "1.0"`, `"version": "2.0"`), "/toolResultProtocol/version", "unknown version"},
		{"protocol without version", broken(t, protocol, `{"name": "vcp.tool-result"}`), "/toolResultProtocol/version", "required"},
	})
}

func TestRefusedEntryPoint(t *testing.T) {
	entry := `{"type": "wasm", "module": "chart.wasm", "abi": "vcp"}`
	module := func(path string) string { return broken(t, `"module": "chart.wasm"`, `"module": `+path) }
	at := "/entryPoint/module"
	runRefusals(t, []refusal{
		{"none", broken(t, `"entryPoint": `+entry+",", ""), "/entryPoint", "required"},
		{"text", broken(t, entry, `"chart.wasm"`), "/entryPoint", "must be an object"},
		{"unknown type", broken(t, `"type": "wasm"`, `"type": "wsm"`), "/entryPoint/type", `did you mean "wasm"`},
		{"no type", broken(t, `"type": "wasm", `, ""), "/entryPoint/type", "required"},
		{"unknown abi", broken(t, `"abi": "vcp"`, `"abi": "wit"`), "/entryPoint/abi", "must be one of"},
		{"no module", broken(t, `"module": "chart.wasm", `, ""), at, "required"},
		{"module is a number", module(`1`), at, "must be a string"},
		{"empty module", module(`""`), at, "names no file"},
		{"parent", module(`"../chart/chart.wasm"`), at, `holds ".."`},
		{"parent inside", module(`"sub/../../chart.wasm"`), at, `holds ".."`},
		{"parent that stays", module(`"sub/../chart.wasm"`), at, `holds ".."`},
		{"absolute", module(`"/etc/passwd"`), at, "absolute"},
		{"drive", module(`"C:/x.wasm"`), at, "absolute"},
		{"backslash", module(`"sub\\x.wasm"`), at, "backslash"},
		{"control", module(`"a\u0000.wasm"`), at, "control character"},
		{"missing", module(`"no.wasm"`), at, "does not exist"},
		{"folder", module(`"sub"`), at, "not a regular file"},
		{"dot", module(`"."`), at, "no path to a file"},
		{"native in the sandbox", broken(t, entry, `{"type": "native", "command": "x", "runtime": "wasm", "script": "sub/main.py"}`), "/entryPoint/runtime", "no WebAssembly runtime"},
		{"unknown runtime", broken(t, entry, `{"type": "python", "script": "sub/main.py", "runtime": "jvm"}`), "/entryPoint/runtime", "must be one of"},
		{"script that leads out", broken(t, entry, `{"type": "python", "script": "../x.py", "runtime": "wasm"}`), "/entryPoint/script", `holds ".."`},
		{"nothing to run", `{"name":"X","pluginType":"synchronous","entryPoint":{}}`, "/entryPoint", "nothing to run"},
		{"legacy script that leads out", `{"name":"X","pluginType":"service","entryPoint":{"script":"../../x.js"}}`, "/entryPoint/script", `holds ".."`},
		{"protocol of a process", broken(t, `"protocol": "wasm"`, `"protocol": "stdio"`), "/communication/protocol", "does not fit"},
		{"unknown protocol", broken(t, `"protocol": "wasm"`, `"protocol": "grpc"`), "/communication/protocol", "must be one of"},
		{"negative timeout", broken(t, `30000`, `-1`), "/communication/timeout", "must be from"},
		{"endless timeout", broken(t, `30000`, `99999999999`), "/communication/timeout", "must be from"},
		{"timeout as text", broken(t, `30000`, `"30000"`), "/communication/timeout", "must be a number"},
		{"broken timeout", broken(t, `30000`, `1.5`), "/communication/timeout", "must be an integer"},
		{"input", broken(t, `"timeout": 30000`, `"input": "all"`), "/communication/input", "must be one of"},
	})
}

func TestRefusedSandbox(t *testing.T) {
	memory := `"memoryMiB": 128`
	limit := func(text string) string { return broken(t, memory, text) }
	runRefusals(t, []refusal{
		{"not an object", broken(t, `"sandbox": {`, `"sandbox": [], "x": {`), "/sandbox", "must be an object"},
		{"misspelt limit", limit(`"memoryMib": 128`), "/sandbox/memoryMib", `did you mean "memoryMiB"`},
		{"misspelt by a letter", limit(`"maxLogByte": 1`), "/sandbox/maxLogByte", `did you mean "maxLogBytes"`},
		{"unknown key", limit(`"quux": 1`), "/sandbox/quux", "unknown key"},
		{"no memory", limit(`"memoryMiB": 0`), "/sandbox/memoryMiB", "from 1 to 4096"},
		{"negative memory", limit(`"memoryMiB": -1`), "/sandbox/memoryMiB", "from 1 to 4096"},
		{"absurd memory", limit(`"memoryMiB": 100000`), "/sandbox/memoryMiB", "from 1 to 4096"},
		{"endless memory", limit(`"memoryMiB": 99999999999999999999999`), "/sandbox/memoryMiB", "from 1 to 4096"},
		{"memory as text", limit(`"memoryMiB": "128"`), "/sandbox/memoryMiB", "must be a number"},
		{"memory null", limit(`"memoryMiB": null`), "/sandbox/memoryMiB", "must be a number"},
		{"negative fuel", limit(`"fuel": -5`), "/sandbox/fuel", "must be from 0"},
		{"fraction", limit(`"maxResources": 1.5`), "/sandbox/maxResources", "integer"},
		{"isolation", limit(`"isolation": "none"`), "/sandbox/isolation", "must be one of"},
		{"limits of a legacy plugin", `{"name":"X","pluginType":"synchronous","entryPoint":{"command":"x"},"sandbox":{"memory":1}}`, "/sandbox/memory", "unknown key"},
	})
}

func TestRefusedPermissions(t *testing.T) {
	kv := `{"kind": "kv", "bytes": 2048, "reason": "Remembers."}`
	permission := func(text string) string { return broken(t, kv, text) }
	at := "/sandbox/permissions/0"
	runRefusals(t, []refusal{
		{"not an object", permission(`"kv"`), at, "must be an object"},
		{"no kind", permission(`{"reason": "r"}`), at + "/kind", "required"},
		{"unknown kind", permission(`{"kind": "htp", "reason": "r"}`), at + "/kind", "must be one of"},
		{"no reason", permission(`{"kind": "kv"}`), at + "/reason", "required"},
		{"blank reason", permission(`{"kind": "kv", "reason": " "}`), at + "/reason", "empty"},
		{"misspelt key", permission(`{"kind": "kv", "byte": 1, "reason": "r"}`), at + "/byte", `did you mean "bytes"`},
		{"key of another kind", permission(`{"kind": "kv", "hosts": ["a.b"], "reason": "r"}`), at + "/hosts", "unknown key"},
		{"no quota", permission(`{"kind": "kv", "bytes": 0, "reason": "r"}`), at + "/bytes", "must be from"},
		{"two stores", permission(kv + "," + kv), "/sandbox/permissions/1", "twice"},
		{"config without keys", permission(`{"kind": "config", "reason": "r"}`), at + "/keys", "required"},
		{"config key unknown", permission(`{"kind": "config", "keys": ["THEM"], "reason": "r"}`), at + "/keys/0", `did you mean "THEME"`},
		{"http without hosts", permission(`{"kind": "http", "hosts": [], "reason": "r"}`), at + "/hosts", "must not be empty"},
		{"method", permission(`{"kind": "http", "hosts": ["a.b"], "methods": ["get"], "reason": "r"}`), at + "/methods/0", "no method"},
		{"requests", permission(`{"kind": "http", "hosts": ["a.b"], "maxRequests": 0, "reason": "r"}`), at + "/maxRequests", "must be from"},
		{"mount without path", permission(`{"kind": "mount", "name": "x", "reason": "r"}`), at + "/path", "required"},
		{"mount path relative", permission(`{"kind": "mount", "name": "x", "path": "x", "reason": "r"}`), at + "/path", "absolute path"},
		{"mount path leads up", permission(`{"kind": "mount", "name": "x", "path": "/x/../y", "reason": "r"}`), at + "/path", "absolute path"},
		{"mount root", permission(`{"kind": "mount", "name": "x", "path": "/", "reason": "r"}`), at + "/path", "absolute path"},
		{"mount access", permission(`{"kind": "mount", "name": "x", "path": "/x", "access": "w", "reason": "r"}`), at + "/access", "must be one of"},
		{"mount twice", permission(`{"kind": "mount", "name": "notes", "path": "/x", "reason": "r"}`), "/sandbox/permissions/3/name", "twice"},
		{"env name", permission(`{"kind": "env", "names": ["A=B"], "reason": "r"}`), at + "/names/0", "no name"},
	})
	for _, host := range []string{"*", "*.com", "http://a.b", "a.b/", "a.b:0", "a.b:70000", "a.b:08", "a b", "-a.b", "a..b", "*.*.b.c", "a.b:"} {
		t.Run("host "+host, func(t *testing.T) {
			p := loadOne(t, folder(permission(fmt.Sprintf(`{"kind": "http", "hosts": [%q], "reason": "r"}`, host))))
			checkRefusal(t, p, refusal{pointer: at + "/hosts/0", reason: "is no host"})
		})
	}
	for _, host := range []string{"localhost", "127.0.0.1:80", "[::1]:8443", "::1", "A.b", "*.a.b:1"} {
		if !validHost(strings.ToLower(host)) {
			t.Errorf("validHost(%q): got false", host)
		}
	}
}

func TestRefusedPrepare(t *testing.T) {
	whole := `{"command": "Plot", "arguments": {"data": {"$resource": "file:sample.csv"}, "column": "close"}}`
	prepare := func(text string) string { return broken(t, whole, text) }
	at := "/sandbox/prepare/0"
	runRefusals(t, []refusal{
		{"not an object", prepare(`1`), at, "must be an object"},
		{"unknown key", prepare(`{"comand": "Plot"}`), at + "/comand", `did you mean "command"`},
		{"unknown command", prepare(`{"command": "Draw"}`), at + "/command", "no command"},
		{"no command", prepare(`{}`), at + "/command", "missing"},
		{"arguments of another kind", prepare(`{"command": "Plot", "arguments": []}`), at + "/arguments", "must be an object"},
		{"wrong arguments", prepare(`{"command": "Plot", "arguments": {"column": 5}}`), at + "/arguments", "inputSchema"},
		{"missing file", prepare(`{"command": "Plot", "arguments": {"data": {"$resource": "file:no.csv"}}}`), at + "/arguments/data/$resource", "does not exist"},
		{"file that leads out", prepare(`{"command": "Plot", "arguments": {"data": {"$resource": "file:../x"}}}`), at + "/arguments/data/$resource", `holds ".."`},
		{"other resource", prepare(`{"command": "Plot", "arguments": {"data": {"$resource": "res_1"}}}`), at + "/arguments/data/$resource", "must begin with"},
	})
}

func TestRefusedConfig(t *testing.T) {
	size := `{"type": "integer", "default": 3}`
	runRefusals(t, []refusal{
		{"array", broken(t, `"configSchema": {"THEME"`, `"configSchema": [], "x": {"THEME"`), "/configSchema", "must be an object"},
		{"type", broken(t, size, `{"type": "int"}`), "/configSchema/SIZE/type", "must be one of"},
		{"12abc", broken(t, size, `{"type": "integer", "default": "12abc"}`), "/configSchema/SIZE/default", "not of type integer"},
		{"fraction", broken(t, size, `{"type": "integer", "default": 1.5}`), "/configSchema/SIZE/default", "not of type integer"},
		{"boolean", broken(t, size, `{"type": "boolean", "default": "yes"}`), "/configSchema/SIZE/default", "not of type boolean"},
		{"number", broken(t, size, `{"type": "number", "default": "NaN"}`), "/configSchema/SIZE/default", "not of type number"},
		{"string", broken(t, size, `{"type": "string", "default": 1}`), "/configSchema/SIZE/default", "must be a string"},
		{"entry", broken(t, size, `4`), "/configSchema/SIZE", "must be an object"},
		{"name", broken(t, `"SIZE"`, `"A=B"`), "/configSchema/A=B", "no name"},
		{"legacy 12abc", `{"name":"X","pluginType":"synchronous","entryPoint":{"command":"x"},"configSchema":{"N":{"type":"integer","default":"12abc"}}}`,
			"/configSchema/N/default", "not of type integer"},
	})
}

func TestRefusedCommands(t *testing.T) {
	input := `"inputSchema": {"type": "object", "additionalProperties": false}`
	second := func(text string) string { return broken(t, input, text) }
	list := "/capabilities/invocationCommands"
	at := list + "/1"
	field := `"field": "/chart"`
	runRefusals(t, []refusal{
		{"list", broken(t, `"invocationCommands": [`, `"invocationCommands": 1, "x": [`), list, "must be an array"},
		{"none", broken(t, `"invocationCommands"`, `"invokationCommands"`), list, "at least one command"},
		{"no identifier", broken(t, `"commandIdentifier": "Plot_All", `, ""), at + "/commandIdentifier", "required"},
		{"identifier with control", broken(t, `"Plot_All"`, `"a\nb"`), at + "/commandIdentifier", "control"},
		{"twice", broken(t, `"Plot_All"`, `"Plot"`), at + "/commandIdentifier", "two commands"},
		{"no input schema", broken(t, input+", ", ""), at + "/inputSchema", "required"},
		{"no output schema", broken(t, `, "outputSchema": true`, ""), at + "/outputSchema", "required"},
		{"schema of another kind", second(`"inputSchema": 5`), at + "/inputSchema", "schema cannot be used"},
		{"invalid schema", second(`"inputSchema": {"type": "objekt"}`), at + "/inputSchema/type", "schema cannot be used"},
		{"unresolved reference", second(`"inputSchema": {"properties": {"a": {"$ref": "#/$defs/a"}}}`), at + "/inputSchema/properties/a/$ref", "schema cannot be used"},
		{"remote reference", second(`"inputSchema": {"$ref": "https://example.com/schema.json"}`), at + "/inputSchema/$ref", "schema cannot be used"},
		{"file reference", second(`"inputSchema": {"$ref": "file:///etc/passwd"}`), at + "/inputSchema/$ref", "schema cannot be used"},
		{"unknown host schema", second(`"inputSchema": {"$ref": "vcp:nothing"}`), at + "/inputSchema/$ref", "schema cannot be used"},
		{"pointer", broken(t, field, `"field": "chart"`), list + "/0/resourceOutputs/0/field", "no JSON pointer"},
		{"pointer escape", broken(t, field, `"field": "/a~2"`), list + "/0/resourceOutputs/0/field", "no JSON pointer"},
		{"no pointer", broken(t, field+", ", ""), list + "/0/resourceOutputs/0/field", "required"},
		{"resource kind", broken(t, `"image"`, `"picture"`), list + "/0/resourceOutputs/0/kind", "must be one of"},
		{"error code", broken(t, `"CSV.MALFORMED"`, `"csv malformed"`), list + "/0/errorCodes/1", "no error code"},
		{"advice without intent", broken(t, `"intent": "display_resource", `, ""), list + "/0/aiAdvice/intent", "required"},
		{"long advice", broken(t, `"Show it."`, `"`+strings.Repeat("图", 501)+`"`), list + "/0/aiAdvice/message", "longer than 500"},
		{"flag", broken(t, `"idempotent": true`, `"idempotent": "yes"`), list + "/0/idempotent", "must be a boolean"},
	})
}

func TestRefusedCompatibility(t *testing.T) {
	legacy := func(text string) string {
		return `{"name":"X","pluginType":"synchronous","entryPoint":{"command":"x"},"compatibility":` + text + `}`
	}
	runRefusals(t, []refusal{
		{"newer VCP", broken(t, `"version": "1.2.3"`, `"compatibility": {"vcpVersion": ">=7"}`), "/compatibility/vcpVersion", "6.4.0"},
		{"no range", legacy(`{"vcpVersion": "soon"}`), "/compatibility/vcpVersion", "no version range"},
		{"older node", legacy(`{"nodeVersion": "<18"}`), "/compatibility/nodeVersion", "v20.11.1"},
		{"no python", legacy(`{"pythonVersion": ">=3.8"}`), "/compatibility/pythonVersion", "there is none"},
	})
	if p := loadOne(t, folder(legacy(`{"vcpVersion": ">=1.0.0", "nodeVersion": ">=14.0.0"}`))); p.State != Ready {
		t.Errorf("met ranges: got %v", p.Refusals)
	}
}
