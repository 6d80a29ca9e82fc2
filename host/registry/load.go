package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

// maxNameBytes bounds names of plugins and commands.
const maxNameBytes = 128

// load reads and checks the manifest of a plugin's folder.
func (l *loader) load(ctx context.Context, plugin *Plugin, manifest string, f *findings) {
	raw, err := readLimited(plugin.FS, manifest, MaxManifestBytes)
	if err != nil {
		f.refuse("", "the manifest cannot be read: %v", plain(err))
		return
	}
	if len(raw) > MaxManifestBytes {
		f.refuse("", "the manifest is longer than %d bytes", MaxManifestBytes)
		return
	}
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	if err := rawjson.Check(raw, rawjson.Limits{MaxBytes: MaxManifestBytes}); err != nil {
		var bad *rawjson.Error
		if errors.As(err, &bad) {
			f.refuse(bad.Pointer, "the manifest is not valid JSON: %s at byte %d", bad.Detail, bad.Offset)
		} else {
			f.refuse("", "the manifest is not valid JSON: %v", err)
		}
		return
	}
	root := value{findings: f, raw: raw}
	if !root.is(rawjson.Object) {
		return
	}
	r := &reader{loader: l, folder: plugin.FS, manifest: &Manifest{Raw: raw}}
	r.read(ctx, root)
	plugin.Manifest = r.manifest
	if nameFault(r.manifest.Name) == "" {
		plugin.Name, plugin.named = r.manifest.Name, true
	}
	plugin.Digest = r.digest()
}

// reader reads one manifest.
type reader struct {
	*loader
	folder   fs.FS
	manifest *Manifest
	files    []string // of the folder, checked, in the digest
}

// read fills the manifest from its root object.
func (r *reader) read(ctx context.Context, root value) {
	m := r.manifest
	m.EntryPoint.Type, _ = rawjson.Unquote(root.member("entryPoint").member("type").raw)
	m.EntryPoint.Runtime, _ = rawjson.Unquote(root.member("entryPoint").member("runtime").raw)
	root.lenient = !root.member("toolResultProtocol").present() && !m.Sandboxed()
	root.unknown(false, topKeys()...)
	r.readIdentity(root)
	r.readProtocol(root.member("toolResultProtocol"))
	r.readEntryPoint(root.member("entryPoint"))
	r.readCommunication(root.member("communication"))
	r.readConfig(root.member("configSchema"))
	r.readCompatibility(ctx, root.member("compatibility"))
	r.readSandbox(root.member("sandbox").strict())
	r.readCommands(root.member("capabilities"))
	r.readPrepare(root.member("sandbox").member("prepare").strict())
	r.conform(root)
}

// conform holds a manifest in which the reader found no fault against the
// protocol's schema of manifests, which also binds members that are not read
// here.
func (r *reader) conform(root value) {
	if len(root.refusals) > 0 {
		return
	}
	known := make(map[string]bool, len(root.notices))
	for _, notice := range root.notices {
		known[notice.Pointer] = true
	}
	for _, problem := range r.compiler.Manifest(root.raw) {
		if !known[problem.Pointer] {
			at := value{findings: root.findings, pointer: problem.Pointer, lenient: root.lenient}
			at.complain("must be %s, is %s", problem.Expected, problem.Got)
		}
	}
}

func topKeys() []string {
	return []string{
		"$schema", "manifestVersion", "name", "displayName", "version", "description", "author", "pluginType", "entryPoint",
		"communication", "toolResultProtocol", "sandbox", "configSchema", "classification", "capabilities",
		"dependencies", "requiresAdmin", "hasApiRoutes", "refreshIntervalCron", "lifecycle", "compatibility",
		"changelog", "systemIntegration", "webSocketPush", "license",
		"configSchemaDescriptions", "tags",
	}
}

func (r *reader) readIdentity(root value) {
	m := r.manifest
	m.ManifestVersion = root.member("manifestVersion").text()
	name := root.member("name").strict()
	m.Name = name.requiredText()
	if fault := nameFault(m.Name); m.Name != "" && fault != "" {
		name.refuse("%s", fault)
	}
	m.DisplayName = root.member("displayName").text()
	if m.DisplayName == "" {
		m.DisplayName = m.Name
	}
	m.Version = root.member("version").text()
	m.Description = root.member("description").text()
	if author := root.member("author"); author.present() && rawjson.KindOf(author.raw) == rawjson.String {
		m.Author = author.text()
	}
	kind := root.member("pluginType").strict()
	if !kind.present() {
		kind.refuse("is required")
	}
	m.PluginType = oneOf(kind, PluginTypes()...)
	m.Classification = oneOf(root.member("classification").strict(), abi.Classifications()...)
	if m.Classification == "" {
		m.Classification = abi.ClassificationInternal
	}
	m.RequiresAdmin = root.member("requiresAdmin").flag(false)
	m.HasAPIRoutes = root.member("hasApiRoutes").flag(false)
	cron := root.member("refreshIntervalCron")
	m.RefreshIntervalCron = cron.text()
	if m.PluginType == TypeStatic && !cron.present() {
		cron.complain("is required for a static plugin")
	}
}

// nameFault tells what is wrong with a plugin's name; "" means nothing.
func nameFault(name string) string {
	if name == "" || len(name) > maxNameBytes {
		return fmt.Sprintf("must have 1 to %d characters", maxNameBytes)
	}
	for i := range len(name) {
		c := name[i]
		alphanumeric := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alphanumeric && (i == 0 || c != '_' && c != '-' && c != '.') {
			return fmt.Sprintf("must be letters, digits, '_', '-' and '.', beginning with a letter or digit; has %q", clip(name))
		}
	}
	return ""
}

// readProtocol accepts the one protocol that the host speaks.
func (r *reader) readProtocol(v value) {
	if !v.present() {
		if r.manifest.Sandboxed() && r.abi(v) != abiExtism {
			v.refuse("is required for a WebAssembly plugin; only entryPoint.abi %q may go without", abiExtism)
		}
		return
	}
	v.unknown(false, "name", "version")
	if !v.is(rawjson.Object) {
		return
	}
	name, version := v.member("name"), v.member("version")
	got := abi.Protocol{Name: name.requiredText(), Version: version.requiredText()}
	if want := abi.CurrentProtocol(); got.Name != "" && got.Name != want.Name {
		name.refuse("unknown protocol %q; this host speaks %q", clip(got.Name), want.Name)
	} else if got.Version != "" && got.Version != want.Version {
		version.refuse("unknown version %q of the protocol; this host speaks %q", clip(got.Version), want.Version)
	}
	r.manifest.ToolResultProtocol = &got
}

// digest hashes the manifest and the files that were checked, each with name
// and length, so that no two sets of files have one digest.
func (r *reader) digest() string {
	sum := sha256.New()
	frame := func(name string, size int64) {
		var head [16]byte
		binary.BigEndian.PutUint64(head[:8], uint64(len(name)))
		binary.BigEndian.PutUint64(head[8:], uint64(size))
		sum.Write(head[:])
		sum.Write([]byte(name))
	}
	frame(ManifestFile, int64(len(r.manifest.Raw)))
	sum.Write(r.manifest.Raw)
	for _, name := range r.files {
		if err := hashFile(r.folder, name, sum, frame); err != nil {
			return ""
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func hashFile(folder fs.FS, name string, sum io.Writer, frame func(string, int64)) error {
	if checkFile(folder, name) != "" {
		return fs.ErrInvalid
	}
	file, err := folder.Open(path.Clean(name))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // read only: nothing can be lost
	info, err := file.Stat()
	if err != nil {
		return err
	}
	frame(name, info.Size())
	n, err := io.Copy(sum, io.LimitReader(file, info.Size()+1))
	if err == nil && n != info.Size() {
		err = io.ErrUnexpectedEOF // the file is being written
	}
	return err
}

// readLimited reads a file up to one byte beyond most, so that the caller sees
// that it is longer.
func readLimited(folder fs.FS, name string, most int64) ([]byte, error) {
	file, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // read only: nothing can be lost
	return io.ReadAll(io.LimitReader(file, most+1))
}
