package registry

import (
	"encoding/json"

	"vcphost/abi"
	"vcphost/host/validate"
)

// Manifest is a plugin-manifest.json, read. A member that the manifest lacks has
// the zero value, unless its comment names a default.
type Manifest struct {
	ManifestVersion     string
	Name                string
	DisplayName         string // default Name
	Version             string
	Description         string
	Author              string
	PluginType          PluginType
	EntryPoint          EntryPoint
	Communication       Communication
	ToolResultProtocol  *abi.Protocol // nil for a legacy or plain Extism plugin
	Sandbox             SandboxConfig
	ConfigSchema        map[string]ConfigField
	Classification      abi.Classification // default internal
	Commands            []*Command
	Compatibility       Compatibility
	RequiresAdmin       bool
	HasAPIRoutes        bool
	RefreshIntervalCron string
	// Raw is the whole manifest as it stands in the file, without a byte order
	// mark.
	Raw []byte
}

// PluginType says who triggers a plugin.
type PluginType string

// The plugin types.
const (
	TypeSynchronous  PluginType = "synchronous"
	TypeAsynchronous PluginType = "asynchronous"
	TypeStatic       PluginType = "static"
	TypePreprocessor PluginType = "messagePreprocessor"
	TypeService      PluginType = "service"
	TypeHybrid       PluginType = "hybridservice"
)

// PluginTypes lists every valid plugin type.
func PluginTypes() []PluginType {
	return []PluginType{TypeSynchronous, TypeAsynchronous, TypeStatic, TypePreprocessor, TypeService, TypeHybrid}
}

// EntryPoint says what is run. Paths are relative to the plugin's folder.
type EntryPoint struct {
	Type    string // wasm, nodejs, python, native; legacy manifests may leave it out
	Module  string // wasm: the module's file
	ABI     string // wasm: vcp, extism, wasi; "" is told from the module
	Script  string // nodejs, python: the script's file
	Command string // process plugins: the command line
	Runtime string // nodejs, python: "wasm" asks for the sandbox
}

// Communication says how a call reaches the plugin.
type Communication struct {
	Protocol  string // wasm, stdio, direct, …; "" where left out
	TimeoutMs int64  // deadline of a call in milliseconds; 0 means the default, see Plugin.Timeout
	Input     string // stdio: "arguments" (default) or "invocation"
}

// ConfigField describes one configuration key of a plugin.
type ConfigField struct {
	Type        string          // string, integer, number, boolean
	Default     json.RawMessage // nil without one; else a JSON value of Type
	Description string
	Required    bool
}

// Compatibility holds the version ranges that a manifest asks for; "" asks for
// nothing.
type Compatibility struct {
	VCPVersion    string
	NodeVersion   string
	PythonVersion string
}

// Strict reports whether the manifest promises payloads of the protocol.
func (m *Manifest) Strict() bool { return m.ToolResultProtocol != nil }

// Sandboxed reports whether the plugin runs as WebAssembly.
func (m *Manifest) Sandboxed() bool {
	return m.EntryPoint.Type == entryWASM || m.EntryPoint.Runtime == runtimeWASM
}

// ConfigDefaults gives the default of every configuration key that has one, as
// raw JSON. The map is the caller's.
func (m *Manifest) ConfigDefaults() map[string]json.RawMessage {
	defaults := make(map[string]json.RawMessage)
	for key, field := range m.ConfigSchema {
		if field.Default != nil {
			defaults[key] = field.Default
		}
	}
	return defaults
}

// Command is one command of a plugin.
type Command struct {
	// Identifier is the commandIdentifier; "" where a legacy manifest has none.
	Identifier  string
	Description string
	// Input and Output are nil only for commands of plugins that are not strict.
	Input, Output       *validate.Schema
	InputRaw, OutputRaw json.RawMessage
	ResourceOutputs     []ResourceOutput
	ErrorCodes          []string
	Presentation        *abi.Presentation // default for payloads; nil without one
	AIAdvice            *abi.AIAdvice     // default for payloads; nil without one
	Asynchronous        bool              // default: the plugin is asynchronous
	Idempotent          bool
	ReadOnly            bool
	Export              string // Extism: the module's export; "" means the default
	Example             string

	takesCommand bool // arguments.command passes the input schema
}

// ResourceOutput names a place in data that holds a resource.
type ResourceOutput struct {
	Field string // RFC 6901 pointer into data
	Kind  abi.ResourceKind
	Role  abi.ResourceRole // default output
	// MIMETypes lists the media types that may come; empty means any.
	MIMETypes []string
}
