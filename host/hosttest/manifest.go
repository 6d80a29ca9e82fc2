package hosttest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing/fstest"

	"vcphost/host/registry"
)

// PluginName is the name of the conformance plugin.
const PluginName = "Conformance"

// The limits in the manifest of the conformance plugin.
const (
	MaxInputBytes    = 2 << 20
	MaxOutputBytes   = 1 << 20
	MaxResources     = 4
	MaxResourceBytes = 8 << 20
)

// command is a command of the conformance plugin: its arguments as JSON schemas
// and what it returns.
type command struct {
	name      string
	arguments map[string]string
	required  []string
	output    string
}

func commands() []command {
	const (
		object   = `{"type":"object"}`
		text     = `{"type":"string"}`
		count    = `{"type":"integer","minimum":0}`
		resource = `{"$ref":"vcp:resource"}`
	)
	return []command{
		{"Echo", map[string]string{"value": "true"}, []string{"value"}, `{"type":"object","required":["value"]}`},
		{"Fail", map[string]string{"code": text, "message": text}, []string{"code", "message"}, object},
		{"Raw", map[string]string{"base64": text}, []string{"base64"}, "true"},
		{"Oversize", map[string]string{"bytes": count}, []string{"bytes"}, text},
		{"Count", nil, nil, `{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}`},
		{"Progress", map[string]string{"steps": count}, []string{"steps"}, object},
		{"Wait", nil, nil, object},
		{"Spin", nil, nil, object},
		{"Sleep", map[string]string{"ms": count}, []string{"ms"}, object},
		{
			"Stream", map[string]string{"bytes": count, "piece": count, "fileName": text, "mimeType": text},
			[]string{"bytes", "piece"}, `{"type":"object","properties":{"file":{"$ref":"vcp:resource"}},"required":["file"]}`,
		},
		{
			"Read", map[string]string{"input": resource, "piece": count}, []string{"input", "piece"},
			`{"type":"object","required":["sizeBytes","sha256"]}`,
		},
		{"Copy", map[string]string{"input": resource}, []string{"input"}, `{"type":"object","required":["copy"]}`},
		{"Open", map[string]string{"id": text}, []string{"id"}, object},
		{"Unfinished", nil, nil, object},
		{"Flood", map[string]string{"resources": count, "bytes": count}, []string{"resources", "bytes"}, object},
	}
}

// manifest writes the manifest of the conformance plugin around an entry point.
func manifest(entryPoint json.RawMessage) []byte {
	list := make([]string, 0, len(commands()))
	for _, c := range commands() {
		properties := fmt.Sprintf(`"command":{"const":%q}`, c.name)
		for name, schema := range c.arguments {
			properties += fmt.Sprintf(`,%q:%s`, name, schema)
		}
		required := "[]"
		if len(c.required) > 0 {
			required = `["` + strings.Join(c.required, `","`) + `"]`
		}
		list = append(list, fmt.Sprintf(`{"commandIdentifier":%q,"description":"Part of the conformance suite.",`+
			`"inputSchema":{"type":"object","properties":{%s},"required":%s,"additionalProperties":false},"outputSchema":%s}`,
			c.name, properties, required, c.output))
	}
	return fmt.Appendf(nil, `{"manifestVersion":"1.0.0","name":%q,"version":"1.0.0","description":"Does what the transport suite asks.",
"pluginType":"synchronous","entryPoint":%s,"communication":{"timeout":60000},
"toolResultProtocol":{"name":"vcp.tool-result","version":"1.0"},
"sandbox":{"maxInputBytes":%d,"maxOutputBytes":%d,"maxResources":%d,"maxResourceBytes":%d},
"capabilities":{"invocationCommands":[%s]}}`,
		PluginName, entryPoint, MaxInputBytes, MaxOutputBytes, MaxResources, MaxResourceBytes, strings.Join(list, ",\n"))
}

// folder is a source of plugins with the conformance plugin in it.
func (h Harness) folder() fstest.MapFS {
	files := fstest.MapFS{"conformance/" + registry.ManifestFile: {Data: manifest(h.EntryPoint)}}
	for name, content := range h.Files {
		files["conformance/"+name] = &fstest.MapFile{Data: content, Mode: 0o755}
	}
	return files
}
