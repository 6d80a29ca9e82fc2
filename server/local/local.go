// Package local is the wire form of the endpoints that a host has for its own
// command line, below /v1/local: what the server writes is what the client
// reads. They answer on trusted connections only and are no part of the API for
// programs, so both ends are of one version and nothing here is kept compatible.
package local

import (
	"encoding/json"

	"vcphost/host/registry"
)

// Process describes the process that serves.
type Process struct {
	PID     int    `json:"pid"`
	Version string `json:"version"`
	// Plugins and Trust are the directories that it was started with, as real
	// absolute paths, sorted.
	Plugins []string `json:"plugins"`
	Trust   []string `json:"trust"`
	// MaxUploadBytes is the most that a resource may have. The server sets it.
	MaxUploadBytes int64 `json:"maxUploadBytes"`
}

// Plugins answers the request for every plugin.
type Plugins struct {
	Plugins []Plugin `json:"plugins"`
}

// Plugin is a plugin as an administrator sees it.
type Plugin struct {
	Name        string             `json:"name"`
	DisplayName string             `json:"displayName,omitempty"`
	Version     string             `json:"version,omitempty"`
	Type        string             `json:"pluginType,omitempty"`
	EntryPoint  string             `json:"entryPoint,omitempty"`
	State       string             `json:"state"`
	Reason      string             `json:"reason,omitempty"`
	Source      string             `json:"source"`
	Folder      string             `json:"folder"`
	Digest      string             `json:"digest,omitempty"`
	Commands    []string           `json:"commands"`
	Refusals    []registry.Refusal `json:"refusals"`
	Notices     []registry.Notice  `json:"notices"`
	// Manifest is null where there is none that can be read; nil leaves it out.
	Manifest json.RawMessage `json:"manifest,omitempty"`
}

// Call is a call as somebody typed it. Arguments and values are any bytes: what
// is wrong with them is told in the result.
type Call struct {
	Tool      string  `json:"tool"`
	Arguments []byte  `json:"arguments"` // a JSON object, or what was meant as one
	Pairs     []Pair  `json:"pairs"`     // set in the arguments, each typed by the command's schema
	Inputs    []Input `json:"inputs"`    // set in the arguments as references
	TimeoutMs int64   `json:"timeoutMs"` // 0 means the plugin's
	// View "canonical" asks for the result alone, "ai" for a second event with
	// that projection.
	View          string `json:"view"`
	MaxCharacters int    `json:"maxCharacters"` // of that projection; 0 means its default
}

// Pair is an argument given as text.
type Pair struct {
	Name  []byte `json:"name"`
	Value []byte `json:"value"`
}

// Input is an argument that is a stored resource.
type Input struct {
	Name     []byte `json:"name"`
	Resource string `json:"resource"`
}
