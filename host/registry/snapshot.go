package registry

import (
	"fmt"
	"slices"
	"strings"
)

// Snapshot is the outcome of one load. It never changes.
//
// A plugin of which nothing changed is the same *Plugin in the snapshots before
// and after a Reload, so that what is kept for it can be kept by pointer.
type Snapshot struct {
	plugins []*Plugin // sorted by name, then by source and folder
	byName  map[string]*Plugin
}

// newSnapshot takes the plugins over, in the order of their sources. A plugin
// that is in the snapshot before, nil for none, and did not change keeps its
// identity.
func newSnapshot(plugins []*Plugin, before *Snapshot) *Snapshot {
	refuseDuplicates(plugins)
	if before != nil {
		for i, p := range plugins {
			plugins[i] = before.same(p)
		}
	}
	slices.SortStableFunc(plugins, func(a, b *Plugin) int { return strings.Compare(a.Name, b.Name) })
	s := &Snapshot{plugins: plugins, byName: make(map[string]*Plugin, len(plugins))}
	for _, p := range plugins {
		if known, ok := s.byName[p.Name]; !ok || p.rank() > known.rank() {
			s.byName[p.Name] = p
		}
	}
	return s
}

// same gives the plugin of this snapshot that p is unchanged from, else p.
func (s *Snapshot) same(p *Plugin) *Plugin {
	for _, old := range s.plugins {
		if p.Digest != "" && old.Digest == p.Digest && old.Source == p.Source && old.Folder == p.Folder &&
			old.Name == p.Name && old.State == p.State &&
			slices.Equal(old.Refusals, p.Refusals) && slices.Equal(old.Notices, p.Notices) {
			return old
		}
	}
	return p
}

// rank orders plugins that share a name: one that runs is before one that is
// disabled, and that before one whose manifest is broken.
func (p *Plugin) rank() int {
	switch {
	case !p.named:
		return 0
	case p.State == Refused:
		return 1
	case p.State == Blocked:
		return 2
	}
	return 3
}

// refuseDuplicates refuses plugins that could run and share a name, since
// nobody can tell which of them a caller means. A disabled or broken plugin
// takes no name away from another.
func refuseDuplicates(plugins []*Plugin) {
	same := make(map[string][]*Plugin)
	for _, p := range plugins {
		if p.rank() == 3 {
			same[p.Name] = append(same[p.Name], p)
		}
	}
	for name, list := range same {
		if len(list) < 2 {
			continue
		}
		files := make([]string, len(list))
		for i, p := range list {
			files[i] = fileName(p.Source, p.Folder, ManifestFile)
		}
		for i, p := range list {
			p.Refusals = append(p.Refusals, Refusal{
				File: files[i], Pointer: "/name",
				Reason: fmt.Sprintf("the name %q is taken more than once: %s", name, strings.Join(files, ", ")),
			})
			p.State = Refused
		}
	}
}

// Plugins lists every plugin, sorted by name, refused ones included. The slice
// is the caller's, the plugins are shared.
func (s *Snapshot) Plugins() []*Plugin { return slices.Clone(s.plugins) }

// Lookup finds a plugin by its exact name. Where a name is there more than once,
// a plugin that can run comes before a disabled and a refused one.
func (s *Snapshot) Lookup(name string) (*Plugin, bool) {
	p, ok := s.byName[name]
	return p, ok
}

// Resolve finds the plugin that "TOOL" or "TOOL.COMMAND" means; command is ""
// for the first form. Names may hold dots: the longest known name wins. Whether
// the plugin has the command is for [Plugin.Command] to say.
func (s *Snapshot) Resolve(tool string) (plugin *Plugin, command string, ok bool) {
	if p, found := s.byName[tool]; found {
		return p, "", true
	}
	for name := tool; ; {
		n := strings.LastIndexByte(name, '.')
		if n < 0 {
			return nil, "", false
		}
		name = name[:n]
		if p, found := s.byName[name]; found && n+1 < len(tool) {
			return p, tool[n+1:], true
		}
	}
}
