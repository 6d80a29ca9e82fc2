package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"vcphost/host/validate"
)

// MaxManifestBytes is the longest manifest that is read.
const MaxManifestBytes = 1 << 20

// DefaultVCPVersion is the version of the plugin ecosystem whose manifests this
// host understands; compatibility.vcpVersion is held against it.
const DefaultVCPVersion = "6.4.0"

// Options are settings of a registry. Nil, and the zero value, mean the
// defaults.
type Options struct {
	// VCPVersion is what compatibility.vcpVersion is held against; "" means
	// DefaultVCPVersion.
	VCPVersion string
	// RuntimeVersion gives the version of "node" or "python" on this machine, or
	// an error if there is none. Nil asks the programs themselves, once for each
	// load, and only where a manifest has a range for them.
	RuntimeVersion func(ctx context.Context, runtime string) (string, error)
}

// Registry finds plugins in its sources and hands out what it found. It is safe
// for concurrent use.
type Registry struct {
	sources        []Source
	compiler       *validate.Compiler
	vcpVersion     string
	runtimeVersion func(ctx context.Context, runtime string) (string, error)

	snapshot atomic.Pointer[Snapshot]
	mu       sync.Mutex // one Reload at a time
}

// New loads every plugin of the sources. It fails only if a source itself cannot
// be listed; a bad plugin is in the snapshot, refused.
func New(sources []Source, opts *Options) (*Registry, error) {
	if opts == nil {
		opts = &Options{}
	}
	compiler, err := validate.NewCompiler()
	if err != nil {
		return nil, fmt.Errorf("prepare schema compiler: %w", err)
	}
	r := &Registry{
		sources: slices.Clone(sources), compiler: compiler,
		vcpVersion: opts.VCPVersion, runtimeVersion: opts.RuntimeVersion,
	}
	if r.vcpVersion == "" {
		r.vcpVersion = DefaultVCPVersion
	}
	if r.runtimeVersion == nil {
		r.runtimeVersion = probeRuntime
	}
	if err := r.Reload(context.Background()); err != nil {
		return nil, err
	}
	return r, nil
}

// Snapshot is what the last successful load found. It is one atomic load.
func (r *Registry) Snapshot() *Snapshot { return r.snapshot.Load() }

// Reload reads all sources again and replaces the snapshot. If a source cannot
// be listed, or ctx ends, it fails and the old snapshot stays.
func (r *Registry) Reload(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &loader{
		compiler: r.compiler, vcpVersion: r.vcpVersion,
		runtimeVersion: once(r.runtimeVersion),
	}
	var plugins []*Plugin
	for i := range r.sources {
		found, err := l.source(ctx, &r.sources[i])
		if err != nil {
			return fmt.Errorf("load plugins of %s: %w", r.sources[i].Name, err)
		}
		plugins = append(plugins, found...)
	}
	r.snapshot.Store(newSnapshot(plugins, r.snapshot.Load()))
	return nil
}

// loader is one pass over the sources. It is not safe for concurrent use.
type loader struct {
	compiler       *validate.Compiler
	vcpVersion     string
	runtimeVersion func(ctx context.Context, runtime string) (string, error)
}

// source loads the plugins of one source, in the order of their folders.
func (l *loader) source(ctx context.Context, source *Source) ([]*Plugin, error) {
	if plugin := l.folder(ctx, source, "."); plugin != nil {
		return []*Plugin{plugin}, ctx.Err()
	}
	entries, err := fs.ReadDir(source.FS, ".")
	if err != nil {
		return nil, fmt.Errorf("list folders: %w", err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var plugins []*Plugin
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.HasPrefix(entry.Name(), ".") || !entry.IsDir() && entry.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if plugin := l.folder(ctx, source, entry.Name()); plugin != nil {
			plugins = append(plugins, plugin)
		}
	}
	return plugins, nil
}

// folder loads one plugin folder; it returns nil where there is no manifest.
func (l *loader) folder(ctx context.Context, source *Source, name string) *Plugin {
	plugin := &Plugin{Name: name, Folder: name, Source: source.Name, Bundled: source.Bundled}
	if name == "." {
		plugin.Name = baseName(source.Name)
	}
	folder, err := fs.Sub(source.FS, name)
	if err != nil {
		f := findings{file: fileName(source.Name, name, ManifestFile)}
		f.refuse("", "the folder cannot be opened: %v", plain(err))
		plugin.Refusals = f.refusals
		plugin.settle(source, false)
		return plugin
	}
	plugin.FS = folder
	manifest, blocked, both, reason := findManifest(folder)
	if manifest == "" {
		return nil
	}
	f := &findings{file: fileName(source.Name, name, manifest)}
	if both {
		f.notice("", "%s lies beside it and is ignored", BlockedFile)
	}
	if reason != "" {
		f.refuse("", "the manifest %s", reason)
	} else {
		l.load(ctx, plugin, manifest, f)
	}
	plugin.Refusals, plugin.Notices = f.refusals, f.notices
	plugin.settle(source, blocked)
	return plugin
}

// findManifest tells which manifest a folder has, "" for none, and why it
// cannot be read, "" for no reason.
func findManifest(folder fs.FS) (name string, blocked, both bool, reason string) {
	exists := func(name string) bool {
		_, err := fs.Stat(folder, name)
		return !errors.Is(err, fs.ErrNotExist) && !notDirectory(folder, err)
	}
	switch {
	case exists(ManifestFile):
		return ManifestFile, false, exists(BlockedFile), checkFile(folder, ManifestFile)
	case exists(BlockedFile):
		return BlockedFile, true, false, checkFile(folder, BlockedFile)
	}
	return "", false, false, ""
}

// notDirectory reports whether the look-up failed because the entry is no
// folder at all, but a link to a file.
func notDirectory(folder fs.FS, err error) bool {
	if err == nil {
		return false
	}
	sub, ok := folder.(confined)
	if !ok || len(sub.sub) == 0 {
		return false
	}
	last := len(sub.sub) - 1
	info, statErr := confined{dir: sub.dir, sub: sub.sub[:last]}.Stat(sub.sub[last])
	return statErr == nil && !info.IsDir()
}

// fileName is the name of a plugin's file in refusals.
func fileName(source, folder, file string) string {
	source = strings.TrimRight(source, `/\`)
	if folder == "." {
		return source + "/" + file
	}
	return source + "/" + folder + "/" + file
}

// baseName is the last element of a source's name.
func baseName(source string) string {
	trimmed := strings.TrimRight(source, `/\`)
	if n := strings.LastIndexAny(trimmed, `/\`); n >= 0 {
		trimmed = trimmed[n+1:]
	}
	if trimmed == "" {
		return source
	}
	return trimmed
}
