package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"vcphost/abi"
	"vcphost/host/registry"
	"vcphost/server/local"
)

// hint is a line for people about a call that its plugin's state prevented: what
// to do about it. It is "" where there is nothing to tell.
func (p *Program) hint(result *abi.Result) string {
	var details struct{ Reason registry.State }
	if result.Error == nil || result.Error.Code != abi.CodeToolDisabled || json.Unmarshal(result.Error.Details, &details) != nil {
		return ""
	}
	switch name := result.Tool.Name; details.Reason {
	case registry.ApprovalRequired:
		return fmt.Sprintf("%s is not trusted and does not run; if you trust it: --trust %s (a server is started with it)", name, p.folderOf(name))
	case registry.Refused:
		return fmt.Sprintf("all that is wrong with %s is told by: vcphost plugin inspect %s%s", name, name, p.flagsOfPlugins())
	}
	return ""
}

// folderOf is the folder of a plugin as it can be typed, "DIR" if it is not known:
// a server may have been started elsewhere.
func (p *Program) folderOf(name string) string {
	found, err := p.openRegistry()
	if err != nil {
		return "DIR"
	}
	for _, plugin := range found.Snapshot().Plugins() {
		if plugin.Name == name && plugin.State == registry.ApprovalRequired {
			return folder(plugin.Source, plugin.Folder)
		}
	}
	return "DIR"
}

// flagsOfPlugins are the flags that this process was given and that another verb
// needs to find the same plugins, as they can be typed.
func (p *Program) flagsOfPlugins() string {
	var flags strings.Builder
	for _, dir := range p.settings.plugins {
		flags.WriteString(" --plugins " + folder(dir, ""))
	}
	for _, dir := range p.settings.trust {
		flags.WriteString(" --trust " + folder(dir, ""))
	}
	return flags.String()
}

func folder(source, below string) string {
	path := filepath.Join(source, filepath.FromSlash(below))
	if strings.ContainsAny(path, " \t'\"$&;()*?[]<>|\\`") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// reason is why a plugin does not run, as a table can show it: the first of the
// reasons, how to see the rest, and how to change it.
func (p *Program) reason(entry *local.Plugin) string {
	switch {
	case entry.State == string(registry.ApprovalRequired):
		return entry.Reason + "; if you trust it: --trust " + folder(entry.Source, entry.Folder)
	case len(entry.Refusals) > 1:
		return fmt.Sprintf("%s (and %d more: vcphost plugin inspect %s%s)", entry.Reason, len(entry.Refusals)-1, entry.Name, p.flagsOfPlugins())
	}
	return entry.Reason
}

// between wants that many arguments; the error shows the verb's form and its
// first example.
func between(least, most int) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		what := "missing argument"
		switch {
		case len(args) > most:
			what = "too many arguments"
		case len(args) >= least:
			return nil
		}
		example, _, _ := strings.Cut(strings.TrimSpace(command.Example), "\n")
		form := strings.TrimSuffix(command.UseLine(), " [flags]")
		return usage("%s; the form is: %s; for example: %s", what, form, strings.TrimSpace(example))
	}
}
