package registry

import (
	"io/fs"
	"time"
)

// The names of the file that makes a folder a plugin.
const (
	ManifestFile = "plugin-manifest.json"
	BlockedFile  = "plugin-manifest.json.block"
)

// Deadlines of a call where the manifest names none.
const (
	DefaultTimeout             = 60 * time.Second
	DefaultAsynchronousTimeout = 30 * time.Minute
)

// State says whether a plugin may run.
type State string

// The states of a plugin.
const (
	// Ready: the plugin may be called.
	Ready State = "ready"
	// Refused: the plugin breaks a rule; its Refusals say which.
	Refused State = "refused"
	// Blocked: the manifest is there under its disabled name.
	Blocked State = "blocked"
	// ApprovalRequired: the plugin is sound, but nobody has trusted it.
	ApprovalRequired State = "approval_required"
)

// Refusal is one reason why a plugin was refused.
type Refusal struct {
	// File is the manifest, named by source, folder and file.
	File string `json:"file"`
	// Pointer is the RFC 6901 pointer of the offending value in the manifest; ""
	// is the whole file.
	Pointer string `json:"pointer"`
	// Reason is one English sentence fragment for a person.
	Reason string `json:"reason"`
}

// Notice is something odd in a manifest that does not refuse the plugin.
type Notice struct {
	File    string `json:"file"`
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// Plugin is one plugin of a snapshot, refused ones included. It is read-only.
type Plugin struct {
	// Name is the manifest's name; the folder's name where the manifest has none
	// that can be used.
	Name string
	// Folder is the plugin's folder below its source; "." where the source is the
	// plugin.
	Folder string
	// Source is the name of the source.
	Source string
	// Bundled reports whether the plugin came with the host.
	Bundled bool
	// Manifest is what could be read of the manifest; nil where it is no JSON
	// object at all.
	Manifest *Manifest
	// State is Refused exactly where Refusals is not empty.
	State    State
	Refusals []Refusal
	Notices  []Notice
	// FS is the plugin's folder, confined to it.
	FS fs.FS
	// Digest is the SHA-256, in lower-case hex, over the manifest and the module
	// or script and the files that sandbox.prepare names. It is computed at load,
	// and is "" where one of those files cannot be read. Other files of a process
	// plugin are not in it.
	Digest string

	named bool // Name is the manifest's own
}

// Timeout is the deadline of a call: the manifest's, else DefaultTimeout, for
// an asynchronous plugin DefaultAsynchronousTimeout.
func (p *Plugin) Timeout() time.Duration {
	switch {
	case p.Manifest == nil:
		return DefaultTimeout
	case p.Manifest.Communication.TimeoutMs > 0:
		return time.Duration(p.Manifest.Communication.TimeoutMs) * time.Millisecond
	case p.Manifest.PluginType == TypeAsynchronous:
		return DefaultAsynchronousTimeout
	}
	return DefaultTimeout
}

// settle gives the plugin the state that its refusals, its file name and the
// trust in its source amount to.
func (p *Plugin) settle(source *Source, blocked bool) {
	switch {
	case len(p.Refusals) > 0:
		p.State = Refused
	case blocked:
		p.State = Blocked
	case source.Bundled || source.trusts(p.Folder):
		p.State = Ready
	default:
		p.State = ApprovalRequired
	}
}
