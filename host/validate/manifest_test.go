package validate

import (
	"reflect"
	"testing"
)

const wasmManifest = `{
	"manifestVersion":"1.0.0","name":"CsvChart","displayName":"CSV chart","version":"1.0.0","description":"A chart.","author":"A",
	"pluginType":"synchronous","classification":"internal",
	"entryPoint":{"type":"wasm","module":"csvchart.wasm","abi":"vcp"},
	"communication":{"protocol":"wasm","timeout":30000,"input":"arguments"},
	"toolResultProtocol":{"name":"vcp.tool-result","version":"1.0"},
	"sandbox":{"isolation":"call","prepare":[{"command":"Plot","arguments":{"data":{"$resource":"file:sample.csv"}}}],
		"memoryMiB":64,"tableElements":10000,"fuel":0,"maxInputBytes":8388608,"maxOutputBytes":8388608,
		"maxResources":16,"maxResourceBytes":67108864,"maxLogBytes":65536,
		"permissions":[
			{"kind":"kv","bytes":1048576,"reason":"Remembers the style."},
			{"kind":"config","keys":["CHART_THEME"],"reason":"Draws in the theme."},
			{"kind":"http","hosts":["api.example.com","*.example.org:8443"],"methods":["GET"],"maxBytes":1048576,"maxRequests":4,"reason":"Fetches rates."},
			{"kind":"mount","name":"notes","path":"/notes","access":"ro","reason":"Reads notes."},
			{"kind":"env","names":["TZ"],"reason":"Prints times."}]},
	"configSchema":{"CHART_THEME":{"type":"string","default":"light","description":"light or dark"},"DebugMode":"boolean"},
	"compatibility":{"vcpVersion":">=1.0.0"},"dependencies":{"npm":["a"],"pip":["b"],"system":["ffmpeg"]},
	"requiresAdmin":false,"hasApiRoutes":false,"lifecycle":{"loadCache":"initialize"},
	"capabilities":{"invocationCommands":[{
		"commandIdentifier":"Plot","description":"Draws.","inputSchema":{"type":"object"},"outputSchema":true,
		"resourceOutputs":[{"field":"/chart","kind":"image","role":"output","mimeTypes":["image/png"]}],
		"errorCodes":["INVALID_ARGUMENT","CSV.MALFORMED"],"presentation":{"preferredView":"image-result"},
		"aiAdvice":{"intent":"display_resource"},"asynchronous":false,"idempotent":true,"readOnly":true,"export":"plot","example":"x"}],
		"systemPromptPlaceholders":[{"placeholder":"{{X}}","description":"d","isDynamic":false}],"services":[{"serviceName":"S","description":"d"}]}}`

// What exists today: no protocol, no schemas, keys of all sorts.
const legacyManifest = `{"name":"VSearch","displayName":"Search","version":"1.0.0","description":"d","author":"VCP","pluginType":"synchronous",
	"entryPoint":{"command":"node VSearch.js","timeout":5},"communication":{"protocol":"stdio","timeout":300000},
	"configSchema":{"VSearchKey":{"type":"string","min":1},"Note":"a long sentence, not a type"},"webSocketPush":{"enabled":true},
	"capabilities":{"invocationCommands":[{"command":"go","description":"d","parameters":[1]}]}}`

func TestManifestsPass(t *testing.T) {
	c := newCompiler(t)
	for name, manifest := range map[string]string{
		"wasm":    wasmManifest,
		"legacy":  legacyManifest,
		"static":  `{"name":"D","pluginType":"static","entryPoint":{"type":"nodejs","command":"node a.js"},"refreshIntervalCron":"*/5 * * * *"}`,
		"service": `{"name":"I","pluginType":"service","entryPoint":{"type":"nodejs","script":"image-server.js"},"communication":{"protocol":"direct"},"configSchema":{"Image_Key":"string"}}`,
		"hybrid":  `{"name":"C","pluginType":"hybridservice","entryPoint":{"script":"C.js"},"communication":{"protocol":"direct","timeout":30000}}`,
		"extism":  `{"name":"E","pluginType":"synchronous","entryPoint":{"type":"wasm","module":"lib/e.wasm","abi":"extism"},"sandbox":{}}`,
		"python in the sandbox": `{"name":"P","pluginType":"asynchronous","entryPoint":{"type":"python","script":"main.py","runtime":"wasm"},
			"toolResultProtocol":{"name":"vcp.tool-result","version":"1.0"},"sandbox":{"isolation":"fresh"},
			"capabilities":{"invocationCommands":[{"commandIdentifier":"A","inputSchema":{},"outputSchema":{},"asynchronous":true}]}}`,
		"unknown keys": edit(t, edit(t, wasmManifest, "/nickname", `"x"`), "/capabilities/extra", `1`),
	} {
		if problems := c.Manifest([]byte(manifest)); problems != nil {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestManifestsAreRefused(t *testing.T) {
	c := newCompiler(t)
	command := "/capabilities/invocationCommands/0"
	for _, test := range []struct{ name, pointer, value, at string }{
		{"no name", "/name", "-", ""},
		{"empty name", "/name", `""`, ""},
		{"name with a slash", "/name", `"a/b"`, ""},
		{"name with a space", "/name", `"a b"`, ""},
		{"no kind", "/pluginType", "-", ""},
		{"unknown kind", "/pluginType", `"plugin"`, ""},
		{"no entry point", "/entryPoint", "-", ""},
		{"unknown type", "/entryPoint/type", `"ruby"`, ""},
		{"no module", "/entryPoint/module", "-", ""},
		{"module above the folder", "/entryPoint/module", `"a/../../b.wasm"`, ""},
		{"module at the root", "/entryPoint/module", `"/etc/b.wasm"`, ""},
		{"module on a drive", "/entryPoint/module", `"C:b.wasm"`, ""},
		{"module with backslashes", "/entryPoint/module", `"..\\b.wasm"`, ""},
		{"unknown binding", "/entryPoint/abi", `"wasi2"`, ""},
		{"wasm without the protocol", "/toolResultProtocol", "-", ""},
		{"other protocol", "/toolResultProtocol/name", `"mcp"`, ""},
		{"later version", "/toolResultProtocol/version", `"2.0"`, ""},
		{"no version", "/toolResultProtocol/version", "-", ""},
		{"deadline of nothing", "/communication/timeout", `0`, ""},
		{"deadline as text", "/communication/timeout", `"60s"`, ""},
		{"unknown transport", "/communication/protocol", `"smoke"`, ""},
		{"misspelt limit", "/sandbox/memoryMib", `64`, ""},
		{"negative limit", "/sandbox/maxResources", `-1`, ""},
		{"no memory", "/sandbox/memoryMiB", `0`, ""},
		{"memory beyond wasm", "/sandbox/memoryMiB", `4097`, ""},
		{"unknown isolation", "/sandbox/isolation", `"none"`, ""},
		{"misspelt preparation", "/sandbox/prepare", `[{"cmd":"x"}]`, "/sandbox/prepare/0/cmd"},
		{"permission without a reason", "/sandbox/permissions", `[{"kind":"kv"}]`, "/sandbox/permissions/0/reason"},
		{"permission with an empty reason", "/sandbox/permissions", `[{"kind":"kv","reason":""}]`, "/sandbox/permissions/0/reason"},
		{"permission of an unknown kind", "/sandbox/permissions", `[{"kind":"gpu","reason":"r"}]`, "/sandbox/permissions/0/kind"},
		{"misspelt permission", "/sandbox/permissions", `[{"kind":"http","hosts":["a"],"reason":"r","method":["GET"]}]`, "/sandbox/permissions/0/method"},
		{"http to nowhere", "/sandbox/permissions", `[{"kind":"http","hosts":[],"reason":"r"}]`, "/sandbox/permissions/0/hosts"},
		{"mount that climbs", "/sandbox/permissions", `[{"kind":"mount","name":"n","path":"/a/../b","reason":"r"}]`, "/sandbox/permissions/0/path"},
		{"mount in an unknown mode", "/sandbox/permissions", `[{"kind":"mount","name":"n","path":"/a","access":"w","reason":"r"}]`, "/sandbox/permissions/0/access"},
		{"setting of an unknown type", "/configSchema/CHART_THEME/type", `"colour"`, ""},
		{"setting as a sentence", "/configSchema/DebugMode", `"whether to debug"`, ""},
		{"no commands", "/capabilities/invocationCommands", `[]`, ""},
		{"no capabilities", "/capabilities", "-", ""},
		{"command without a name", command + "/commandIdentifier", "-", ""},
		{"command without an input schema", command + "/inputSchema", "-", ""},
		{"command without an output schema", command + "/outputSchema", "-", ""},
		{"schema of the wrong kind", command + "/inputSchema", `"object"`, ""},
		{"output that is no pointer", command + "/resourceOutputs/0/field", `"chart"`, ""},
		{"output of an unknown kind", command + "/resourceOutputs/0/kind", `"picture"`, ""},
		{"code in small letters", command + "/errorCodes", `["oops"]`, command + "/errorCodes/0"},
		{"advice of an unknown intent", command + "/aiAdvice/intent", `"obey"`, ""},
		{"unknown classification", "/classification", `"secret"`, ""},
		{"dependency as a text", "/dependencies/npm", `"a"`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			broken := edit(t, wasmManifest, test.pointer, test.value)
			at := test.at
			if at == "" {
				at = test.pointer
			}
			problems := c.Manifest([]byte(broken))
			if len(problems) != 1 || problems[0].Pointer != at {
				t.Errorf("got %+v, want one problem at %s", problems, at)
			}
		})
	}
	for name, raw := range map[string]string{"not JSON": `{"name":`, "not UTF-8": "{\"name\":\"\xff\"}", "twice": `{"name":"a","name":"b"}`} {
		if problems := c.Manifest([]byte(raw)); len(problems) != 1 || problems[0].Keyword != "json" {
			t.Errorf("%s: got %+v, want one problem with the text", name, problems)
		}
	}
	static := `{"name":"D","pluginType":"static","entryPoint":{"type":"nodejs","command":"node a.js"},"toolResultProtocol":{"name":"vcp.tool-result","version":"1.0"}}`
	if problems := c.Manifest([]byte(static)); len(problems) != 1 || problems[0].Pointer != "/refreshIntervalCron" {
		t.Errorf("strict static without a schedule: got %+v", problems)
	}
}

func TestUnknownManifestKeys(t *testing.T) {
	c := newCompiler(t)
	if got := c.UnknownManifestKeys([]byte(wasmManifest)); got != nil {
		t.Errorf("got %q, want none", got)
	}
	want := []string{"/entryPoint/timeout"}
	if got := c.UnknownManifestKeys([]byte(legacyManifest)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	raw := `{"nmae":"x","capabilities":{"invocationCommands":[{},{"inputShema":{"whatever":1}}],"a/b":1}}`
	want = []string{"/nmae", "/capabilities/invocationCommands/1/inputShema", "/capabilities/a~1b"}
	if got := c.UnknownManifestKeys([]byte(raw)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
