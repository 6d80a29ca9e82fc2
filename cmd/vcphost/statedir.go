package main

import (
	"errors"
	"path/filepath"
	"runtime"
)

// stateDir is the platform's directory for what a program keeps between runs:
// $XDG_STATE_HOME or ~/.local/state on Unix, ~/Library/Application Support on
// macOS, %LocalAppData% on Windows.
func stateDir(lookup func(string) (string, bool)) (string, error) {
	under := func(variable string, elements ...string) (string, bool) {
		base, ok := lookup(variable)
		if !ok || !filepath.IsAbs(base) {
			return "", false
		}
		return filepath.Join(append([]string{base}, elements...)...), true
	}
	var dir string
	var ok bool
	switch runtime.GOOS {
	case "windows":
		dir, ok = under("LocalAppData", "vcphost")
	case "darwin":
		dir, ok = under("HOME", "Library", "Application Support", "vcphost")
	default:
		if dir, ok = under("XDG_STATE_HOME", "vcphost"); !ok {
			dir, ok = under("HOME", ".local", "state", "vcphost")
		}
	}
	if !ok {
		return "", errors.New("the environment names no home directory")
	}
	return dir, nil
}
