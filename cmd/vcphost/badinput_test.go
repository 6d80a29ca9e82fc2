package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vcphost/abi"
)

// badInput is one thing that somebody does wrong, and what comes of it. A zero
// field of what is wanted is not looked at, but for the exit status.
type badInput struct {
	name string

	manifest string            // of the plugin Bad; "" is a sound one
	module   []byte            // of the plugin Bad; nil is a sound one
	files    map[string]string // beside, below the directory of plugins
	args     []string          // nil calls Bad
	stdin    string
	prepare  func(t *testing.T, b *bench) // what else has to be made wrong

	exit    int
	status  abi.Status
	code    string
	target  string // of the error
	reason  string // error.details.reason
	says    string // in the error's message, or in the line on stderr
	warning string // the code of a warning
	refusal *refusal
}

// refusal is how "plugin list" shows a plugin that was refused.
type refusal struct{ file, pointer, reason string }

// bench is where one bad input is tried.
type bench struct {
	dir, data, plugins string
	args               []string
	undo               func() // makes good again what prepare made wrong
}

func TestBadInput(t *testing.T) {
	for _, group := range []struct {
		name string
		rows []badInput
	}{
		{"command line", badCommandLines()},
		{"arguments", badArguments()},
		{"manifest", badManifests()},
		{"module", badModules()},
		{"payload", badPayloads()},
		{"guest", badGuests()},
		{"machine", badMachines()},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, row := range group.rows {
				t.Run(row.name, func(t *testing.T) {
					t.Parallel()
					row.try(t)
				})
			}
		})
	}
}

func (row badInput) try(t *testing.T) {
	b := row.set(t)
	i := invocation{args: b.args, stdin: row.stdin}
	row.compare(t, i.run(t))
	if b.undo != nil {
		b.undo()
	}
	if row.refusal != nil {
		row.refusal.find(t, b)
	}
	after := invocation{args: append([]string{"call", "Good"}, b.flags()...)}.run(t)
	if result := after.mustResult(t); result.Status != abi.StatusSuccess {
		t.Errorf("the next call gives %s, %v", result.Status, result.Error)
	}
}

// set makes a directory with the plugins Good and Bad.
func (row badInput) set(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{dir: dir, data: newData(t), plugins: filepath.Join(dir, "plugins")}
	bad, module := row.manifest, row.module
	if bad == "" {
		bad = manifest("Bad")
	}
	if module == nil {
		module = echo()
	}
	files := map[string]string{
		"good/plugin-manifest.json": manifest("Good"), "good/module.wasm": string(echo()),
		"bad/plugin-manifest.json": bad, "bad/module.wasm": string(module),
	}
	for name, content := range row.files {
		files[name] = content
	}
	for name, content := range files {
		path := filepath.Join(b.plugins, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := row.args
	if args == nil {
		args = []string{"call", "Bad"}
	}
	b.args = append(b.flags(), args...)
	if row.prepare != nil {
		row.prepare(t, b)
	}
	return b
}

func (b *bench) flags() []string {
	return []string{"--plugins", b.plugins, "--trust", b.plugins, "--data", b.data}
}

func (row badInput) compare(t *testing.T, got outcome) {
	t.Helper()
	if got.status != row.exit {
		t.Errorf("exit status %d, want %d:\n%s\n%s", got.status, row.exit, got.stdout, got.stderr)
	}
	if row.exit == exitNoResult {
		if !strings.Contains(got.stderr, row.says) {
			t.Errorf("stderr does not say %q:\n%s", row.says, got.stderr)
		}
		return
	}
	if row.status == "" {
		return
	}
	result := got.mustResult(t)
	if result.Status != row.status {
		t.Errorf("status %s, want %s: %v", result.Status, row.status, result.Error)
	}
	row.compareError(t, result.Error)
	found := slices.ContainsFunc(result.Warnings, func(w abi.Warning) bool { return w.Code == row.warning })
	if row.warning != "" && !found {
		t.Errorf("warnings %v, want one of code %s", result.Warnings, row.warning)
	}
}

func (row badInput) compareError(t *testing.T, got *abi.Error) {
	t.Helper()
	if row.code == "" {
		if got != nil {
			t.Errorf("an error: %s %s", got.Code, got.Message)
		}
		return
	}
	if got == nil || got.Code != row.code {
		t.Fatalf("error %v, want %s", got, row.code)
	}
	if row.target != "" && got.Target != row.target {
		t.Errorf("target %q, want %q: %s", got.Target, row.target, got.Message)
	}
	if !strings.Contains(got.Message, row.says) {
		t.Errorf("the message is %q, and does not say %q", got.Message, row.says)
	}
	var details struct{ Reason string }
	if row.reason != "" && (json.Unmarshal(got.Details, &details) != nil || details.Reason != row.reason) {
		t.Errorf("details %s, want the reason %q", got.Details, row.reason)
	}
}

// find looks for the refusal in what "plugin list --json" prints.
func (want refusal) find(t *testing.T, b *bench) {
	t.Helper()
	got := invocation{args: append([]string{"plugin", "list", "--json"}, b.flags()...)}.run(t)
	var entries []pluginEntry
	if err := json.Unmarshal([]byte(got.stdout), &entries); err != nil {
		t.Fatalf("plugin list --json: %v\n%s", err, got.stdout)
	}
	for _, entry := range entries {
		if entry.State == "ready" && entry.Name == "Bad" {
			t.Errorf("Bad is listed as ready")
		}
		if want.file == "" && entry.Name == "Bad" && entry.State == "refused" && strings.Contains(entry.Reason, want.reason) {
			return
		}
		for _, r := range entry.Refusals {
			if strings.HasSuffix(r.File, want.file) && r.Pointer == want.pointer && strings.Contains(r.Reason, want.reason) {
				return
			}
		}
	}
	t.Errorf("no refusal of %s at %q with %q in:\n%s", want.file, want.pointer, want.reason, got.stdout)
}
