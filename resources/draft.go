package resources

import (
	"encoding/json"
	"maps"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// maxDimension bounds declared pixels, so that a product of two fits an int64.
const maxDimension = 1 << 30

// checkDraft refuses a draft that no descriptor can be made of, with a JSON
// pointer into the draft.
func checkDraft(d abi.ResourceDraft) error {
	switch {
	case d.ID == "":
		return badDraft("/id", "a resource has no id")
	case len(d.ID) > abi.MaxDraftIDBytes:
		return badDraft("/id", "the id of a resource has %d bytes, %d are allowed", len(d.ID), abi.MaxDraftIDBytes)
	case !utf8.ValidString(d.ID):
		return badDraft("/id", "the id of a resource is not UTF-8")
	case d.LocalPath != "":
		return badDraft("/localPath", "resource %q names a local path, and the plugin has no file system", d.ID)
	case d.Kind == abi.KindDirectory:
		return badDraft("/kind", "resource %q is a directory, and the plugin has no file system", d.ID)
	case d.Kind != "" && !slices.Contains(abi.ResourceKinds(), d.Kind):
		return badDraft("/kind", "resource %q is of kind %q; one of %q was expected", d.ID, clip(string(d.Kind)), abi.ResourceKinds())
	case d.Role != "" && !slices.Contains(abi.ResourceRoles(), d.Role):
		return badDraft("/role", "resource %q has role %q; one of %q was expected", d.ID, clip(string(d.Role)), abi.ResourceRoles())
	case !utf8.ValidString(d.FileName):
		return badDraft("/fileName", "the file name of resource %q is not UTF-8", d.ID)
	}
	return checkDraftDetails(d)
}

func checkDraftDetails(d abi.ResourceDraft) error {
	if len(d.MIMEType) > abi.MaxMIMETypeBytes {
		return badDraft("/mimeType", "the media type of resource %q has %d bytes, %d are allowed", d.ID, len(d.MIMEType), abi.MaxMIMETypeBytes)
	}
	if d.MIMEType != "" && !validMediaType(d.MIMEType) {
		return badDraft("/mimeType", "resource %q has media type %q; one such as \"image/png\" was expected", d.ID, clip(d.MIMEType))
	}
	if dim := d.Dimensions; dim != nil && !plausible(dim.Width, dim.Height) {
		return badDraft("/dimensions", "resource %q has dimensions %d×%d", d.ID, dim.Width, dim.Height)
	}
	if d.DurationMs != nil && *d.DurationMs < 0 {
		return badDraft("/durationMs", "resource %q lasts %d ms", d.ID, *d.DurationMs)
	}
	if src := d.Source; src != nil {
		if src.Type != "" && !slices.Contains(abi.SourceTypes(), src.Type) {
			return badDraft("/source/type", "resource %q has source %q; one of %q was expected", d.ID, clip(string(src.Type)), abi.SourceTypes())
		}
		if len(src.Provider) > abi.MaxFileNameBytes || !utf8.ValidString(src.Provider) {
			return badDraft("/source/provider", "the provider of resource %q is not UTF-8 of at most %d bytes", d.ID, abi.MaxFileNameBytes)
		}
	}
	return checkMetadata(d.ID, d.Metadata)
}

func checkMetadata(id string, metadata map[string]json.RawMessage) error {
	total := 0
	for key, value := range metadata {
		total += len(key) + len(value)
		if total > abi.MaxMetadataBytes {
			return badDraft("/metadata", "the metadata of resource %q has over %d bytes", id, abi.MaxMetadataBytes)
		}
		pointer := rawjson.AppendPointer("/metadata", key)
		if !utf8.ValidString(key) {
			return badDraft("/metadata", "the metadata of resource %q has a name that is not UTF-8", id)
		}
		if err := rawjson.Check(value, rawjson.Limits{MaxBytes: abi.MaxMetadataBytes}); err != nil {
			return badDraft(pointer, "the metadata of resource %q is not JSON: %v", id, err)
		}
	}
	return nil
}

// mergeDrafts fills what the handle's draft left empty with the payload's words.
// The way in which the bytes came is the host's to say, so of a source only the
// provider is taken.
func mergeDrafts(handle, payload abi.ResourceDraft) (abi.ResourceDraft, error) {
	merged := handle
	fill(&merged.Kind, payload.Kind)
	fill(&merged.Role, payload.Role)
	fill(&merged.MIMEType, payload.MIMEType)
	fill(&merged.FileName, payload.FileName)
	if merged.Dimensions == nil {
		merged.Dimensions = payload.Dimensions
	}
	if merged.DurationMs == nil {
		merged.DurationMs = payload.DurationMs
	}
	if payload.Source != nil {
		source := abi.ResourceSource{}
		if handle.Source != nil {
			source = *handle.Source
		}
		fill(&source.Provider, payload.Source.Provider)
		merged.Source = &source
	}
	if len(payload.Metadata) > 0 {
		merged.Metadata = maps.Clone(payload.Metadata)
		maps.Copy(merged.Metadata, handle.Metadata)
		if err := checkMetadata(merged.ID, merged.Metadata); err != nil {
			return abi.ResourceDraft{}, err
		}
	}
	return merged, nil
}

func fill[T comparable](to *T, from T) {
	var empty T
	if *to == empty {
		*to = from
	}
}

// describe makes a descriptor, without URL, of what a draft says and what the
// bytes are.
func describe(id string, d abi.ResourceDraft, source abi.ResourceSource, f *facts) (abi.Resource, *Mismatch) {
	if d.Source != nil {
		fill(&d.Source.Type, source.Type)
		fill(&d.Source.Provider, source.Provider)
		source = *d.Source
	}
	mimeType, mismatch := chooseMIME(f.found, claims{fileName: d.FileName, declared: d.MIMEType, trusted: source.Type == abi.SourceHTTP})
	r := abi.Resource{
		ID: id, Kind: d.Kind, Role: d.Role, MIMEType: mimeType, FileName: cleanName(d.FileName),
		SizeBytes: f.size, SHA256: f.sha256, Source: source, Metadata: maps.Clone(d.Metadata),
	}
	fill(&r.Kind, kindOf(mimeType))
	fill(&r.Role, abi.RoleOutput)
	fill(&r.FileName, id+extensionOf(mimeType))
	switch {
	case f.dimensions != nil:
		dimensions := *f.dimensions
		r.Dimensions = &dimensions
	case kindOf(mimeType) == abi.KindImage && d.Dimensions != nil && !hasDimensions(mimeType):
		dimensions := *d.Dimensions
		r.Dimensions = &dimensions
	}
	if k := kindOf(mimeType); d.DurationMs != nil && (k == abi.KindAudio || k == abi.KindVideo) {
		duration := *d.DurationMs
		r.DurationMs = &duration
	}
	return r, mismatch
}

func plausible(width, height int) bool {
	return 0 < width && width <= maxDimension && 0 < height && height <= maxDimension
}

func validMediaType(s string) bool {
	bare, _, err := mime.ParseMediaType(s)
	top, sub, _ := strings.Cut(bare, "/")
	return err == nil && top != "" && sub != ""
}

// clip keeps an untrusted word in a message short.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	for i := range s {
		if i > most-4 {
			return s[:i] + "…"
		}
	}
	return s
}
