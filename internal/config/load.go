package config

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFileBytes bounds a file of settings; a real one has a few kilobytes.
const maxFileBytes = 64 << 10

// environmentPrefix begins the variables of the host.
const environmentPrefix = "VCPHOST_"

// FileVariable is the environment variable that names the file of settings.
const FileVariable = "VCPHOST_CONFIG"

// Sources are the places that settings come from. The zero value is none: every
// setting has its default.
type Sources struct {
	// File is the path of the file of settings; empty means none. A file that is
	// named must be there.
	File string
	// Environment lists NAME=value as os.Environ does.
	Environment []string
	// Flags are those that were given, by name without dashes, with their values.
	Flags map[string][]string
}

// Loaded are settings with where they come from.
type Loaded struct {
	Settings
	// Origins tells for each name of a setting where its value stands: "default",
	// a file with line and column, an environment variable, or a flag.
	Origins map[string]string
	// Warnings are about what has no effect or is unwise, a line each.
	Warnings []string
}

// Load reads all sources. The error is an *InvalidError that has every problem,
// or says that the file could not be read.
func Load(src Sources) (*Loaded, error) {
	l := &loader{table: rows(), out: &Loaded{Origins: map[string]string{}}}
	for i := range l.table {
		l.applyDefault(&l.table[i])
	}
	if src.File != "" {
		if err := l.readFile(src.File); err != nil {
			return nil, err
		}
	}
	l.applyEnvironment(src.Environment)
	l.applyFlags(src.Flags)
	if len(l.problems) > 0 {
		return nil, &InvalidError{Problems: l.problems}
	}
	return l.out, nil
}

// Default gives the settings that hold where nothing is set.
func Default() Settings {
	loaded, err := Load(Sources{})
	if err != nil {
		panic("config: a default is not valid: " + err.Error())
	}
	return loaded.Settings
}

// loader collects values and problems, lowest precedence first.
type loader struct {
	table    []row
	out      *Loaded
	problems []Problem
}

func (l *loader) fail(source, name, format string, args ...any) {
	l.problems = append(l.problems, Problem{Source: source, Name: name, Message: fmt.Sprintf(format, args...)})
}

func (l *loader) applyDefault(r *row) {
	l.out.Origins[r.Name] = "default"
	if r.Default == "" {
		return
	}
	if err := r.set(&l.out.Settings, r.Default); err != nil {
		l.fail("default", r.Name, "%v", err)
	}
}

// apply sets a row from texts: one, or those of a list.
func (l *loader) apply(r *row, origin string, texts []string) {
	var err error
	switch {
	case r.Type == TypeList:
		err = r.setList(&l.out.Settings, texts)
	case len(texts) != 1:
		err = fmt.Errorf("one value is expected, and there are %d", len(texts))
	default:
		err = r.set(&l.out.Settings, texts[0])
	}
	if err != nil {
		l.fail(origin, r.Name, "%v", err)
		return
	}
	l.out.Origins[r.Name] = origin
}

func (l *loader) find(name string) *row {
	i := slices.IndexFunc(l.table, func(r row) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &l.table[i]
}

// readFile reads the file of settings. Its error is for what cannot be read;
// what is wrong inside are problems.
func (l *loader) readFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return fmt.Errorf("read settings: %w", err)
	}
	if len(raw) > maxFileBytes {
		return fmt.Errorf("read settings: %s has more than %d bytes", path, maxFileBytes)
	}
	l.applyYAML(path, raw)
	l.warnReadable(file, path)
	return nil
}

// warnReadable tells of a secret in a file that others may read.
func (l *loader) warnReadable(file *os.File, path string) {
	info, err := file.Stat()
	if err != nil || info.Mode().Perm()&0o004 == 0 {
		return
	}
	for _, r := range l.table {
		if r.Secret && strings.HasPrefix(l.out.Origins[r.Name], path+":") {
			l.out.Warnings = append(l.out.Warnings, fmt.Sprintf("%s holds the secret %s and everybody may read it; chmod 600 it", path, r.Name))
		}
	}
}

// absolute makes paths of the file relative to its directory.
func absolute(file string, texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		if out[i] = text; text != "" && !filepath.IsAbs(text) {
			out[i] = filepath.Join(filepath.Dir(file), text)
		}
	}
	return out
}

// applyEnvironment sets what variables say. An unknown one is not refused:
// container platforms make variables of a service's name.
func (l *loader) applyEnvironment(environment []string) {
	names := []string{FileVariable}
	for _, r := range l.table {
		names = append(names, r.Environment)
	}
	for _, entry := range environment {
		name, text, ok := strings.Cut(entry, "=")
		if !ok || text == "" || !strings.HasPrefix(name, environmentPrefix) || name == FileVariable {
			continue
		}
		i := slices.IndexFunc(l.table, func(r row) bool { return r.Environment == name })
		if i < 0 {
			l.out.Warnings = append(l.out.Warnings, fmt.Sprintf("the environment variable %s has no effect%s", clip(name), suggest(name, names)))
			continue
		}
		texts := []string{text}
		if l.table[i].Type == TypeList {
			texts = filepath.SplitList(text)
		}
		l.apply(&l.table[i], name, texts)
	}
}

func (l *loader) applyFlags(flags map[string][]string) {
	for i := range l.table {
		r := &l.table[i]
		if texts, ok := flags[r.Flag]; ok && r.Flag != "" {
			l.apply(r, "--"+r.Flag, texts)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if !slices.ContainsFunc(l.table, func(r row) bool { return r.Flag == name && name != "" }) {
			l.fail("--"+name, "", "there is no such flag")
		}
	}
}

// FindFile tells which file of settings to read: the one given, else the one
// that the environment names, else none. No directory is searched, because
// whoever can write a file where the program happens to be started would decide
// what it trusts.
func FindFile(given string, environment []string) string {
	if given != "" {
		return given
	}
	for _, entry := range environment {
		if path, ok := strings.CutPrefix(entry, FileVariable+"="); ok {
			return path
		}
	}
	return ""
}

var (
	errNotYAML = errors.New("the file is not YAML that settings can be written in")
	errTooDeep = errors.New("the file is nested deeper than settings are")
)
