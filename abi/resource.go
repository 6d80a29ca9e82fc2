package abi

import (
	"encoding/json"
	"time"
)

// Resource describes stored bytes (§7.1). It has no local path on purpose: no
// view, record or log can leak what is not there.
type Resource struct {
	ID         string                     `json:"id"`
	Kind       ResourceKind               `json:"kind"`
	Role       ResourceRole               `json:"role"`
	MIMEType   string                     `json:"mimeType"`
	FileName   string                     `json:"fileName"`
	SizeBytes  int64                      `json:"sizeBytes"`
	SHA256     string                     `json:"sha256"` // lower-case hex
	URL        *string                    `json:"url"`    // nil without a server to serve it
	Source     ResourceSource             `json:"source"`
	Dimensions *Dimensions                `json:"dimensions"` // images only
	DurationMs *int64                     `json:"durationMs"` // audio and video only
	Metadata   map[string]json.RawMessage `json:"metadata"`
	Access     *ResourceAccess            `json:"access,omitempty"`
}

// MarshalJSON writes metadata as an object even when it is empty (§7.1).
func (r Resource) MarshalJSON() ([]byte, error) {
	type wire Resource
	if r.Metadata == nil {
		r.Metadata = map[string]json.RawMessage{}
	}
	return Encode(wire(r))
}

// ResourceSource tells how the bytes came and from whom.
type ResourceSource struct {
	Type     SourceType `json:"type"`
	Provider string     `json:"provider,omitempty"`
}

// SourceType is the way in which bytes entered the host.
type SourceType string

// The source types.
const (
	SourceGenerated SourceType = "generated"
	SourceUpload    SourceType = "upload"
	SourceLegacy    SourceType = "legacy"
	SourceHTTP      SourceType = "http"
	SourceMCP       SourceType = "mcp"
	SourceNode      SourceType = "node"
)

// SourceTypes lists every valid source type.
func SourceTypes() []SourceType {
	return []SourceType{SourceGenerated, SourceUpload, SourceLegacy, SourceHTTP, SourceMCP, SourceNode}
}

// Dimensions are the pixels of an image.
type Dimensions struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// ResourceAccess tells what kind of URL a resource has (§7.6).
type ResourceAccess struct {
	Type         AccessType `json:"type"`
	ExpiresAt    *time.Time `json:"expiresAt"`
	RequiresAuth bool       `json:"requiresAuth"`
}

// AccessType is a class of resource URLs (§7.6).
type AccessType string

// The access types of §7.6.
const (
	AccessManaged   AccessType = "managed"
	AccessExternal  AccessType = "external"
	AccessEphemeral AccessType = "ephemeral"
)

// AccessTypes lists every valid access type.
func AccessTypes() []AccessType {
	return []AccessType{AccessManaged, AccessExternal, AccessEphemeral}
}

// ResourceDraft is what a plugin declares of a resource before the host has
// adopted it (§7.4). ID is the plugin's own name for it, which data, advice
// and presentation use, and which the host rewrites. LocalPath exists on
// drafts alone, and never leaves the host.
type ResourceDraft struct {
	ID         string                     `json:"id"`
	Kind       ResourceKind               `json:"kind,omitempty"`
	Role       ResourceRole               `json:"role,omitempty"`
	MIMEType   string                     `json:"mimeType,omitempty"`
	FileName   string                     `json:"fileName,omitempty"`
	LocalPath  string                     `json:"localPath,omitempty"`
	Source     *ResourceSource            `json:"source,omitempty"`
	Dimensions *Dimensions                `json:"dimensions,omitempty"`
	DurationMs *int64                     `json:"durationMs,omitempty"`
	Metadata   map[string]json.RawMessage `json:"metadata,omitempty"`
}

// Limits of a draft, so that a descriptor stays small whatever a guest says.
const (
	MaxDraftIDBytes  = 128
	MaxFileNameBytes = 255
	MaxMIMETypeBytes = 255
	MaxMetadataBytes = 16 << 10
)

// Reference points from data to a resource (§5.6). It is the whole object:
// {"$resource":"res_…"}.
type Reference struct {
	Resource string `json:"$resource"`
}

// ReferenceKey is the only member of a reference object.
const ReferenceKey = "$resource"

// ResourceKind says broadly what the bytes are (§7.2).
type ResourceKind string

// The kinds of §7.2.
const (
	KindImage     ResourceKind = "image"
	KindAudio     ResourceKind = "audio"
	KindVideo     ResourceKind = "video"
	KindDocument  ResourceKind = "document"
	KindArchive   ResourceKind = "archive"
	KindText      ResourceKind = "text"
	KindBinary    ResourceKind = "binary"
	KindDirectory ResourceKind = "directory"
	KindOther     ResourceKind = "other"
)

// ResourceKinds lists every valid kind.
func ResourceKinds() []ResourceKind {
	return []ResourceKind{KindImage, KindAudio, KindVideo, KindDocument, KindArchive, KindText, KindBinary, KindDirectory, KindOther}
}

// ResourceRole says what a resource is to the result (§7.3).
type ResourceRole string

// The roles of §7.3.
const (
	RoleInput        ResourceRole = "input"
	RoleOutput       ResourceRole = "output"
	RolePreview      ResourceRole = "preview"
	RoleThumbnail    ResourceRole = "thumbnail"
	RoleAttachment   ResourceRole = "attachment"
	RoleLog          ResourceRole = "log"
	RoleIntermediate ResourceRole = "intermediate"
)

// ResourceRoles lists every valid role.
func ResourceRoles() []ResourceRole {
	return []ResourceRole{RoleInput, RoleOutput, RolePreview, RoleThumbnail, RoleAttachment, RoleLog, RoleIntermediate}
}
