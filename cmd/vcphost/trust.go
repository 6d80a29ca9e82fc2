package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// trust is what the flags --trust name: directories whose plugins get what
// their manifests ask for, in this process.
type trust struct {
	given map[string]string // real path → as given
	used  map[string]bool
}

func newTrust(dirs []string) (*trust, error) {
	t := &trust{given: map[string]string{}, used: map[string]bool{}}
	for _, dir := range dirs {
		path, err := realPath(dir)
		if err != nil {
			return nil, fmt.Errorf("--trust %s: %w", dir, err)
		}
		t.given[path] = dir
	}
	return t, nil
}

// of tells for a directory of plugins whether all of it is trusted, and else
// which folders below it are, as slash-separated relative paths.
func (t *trust) of(path string) (all bool, folders []string) {
	for root := range t.given {
		switch {
		case within(root, path):
			all, t.used[root] = true, true
		case within(path, root):
			relative, err := filepath.Rel(path, root)
			if err == nil {
				folders, t.used[root] = append(folders, filepath.ToSlash(relative)), true
			}
		}
	}
	return all, folders
}

// unused gives a directory that no directory of plugins has to do with.
func (t *trust) unused() (dir string, found bool) {
	for path, given := range t.given {
		if !t.used[path] {
			return given, true
		}
	}
	return "", false
}

func realPath(dir string) (string, error) {
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// within reports whether path is root or lies below it.
func within(root, path string) bool {
	relative, err := filepath.Rel(root, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}
