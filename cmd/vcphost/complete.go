package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vcphost/host/registry"
	"vcphost/internal/config"
	"vcphost/server/identity"
)

// completeTool completes the first argument from the manifests, and for call the
// others with the names of the command's arguments.
func (p *Program) completeTool(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	calls := command.Name() == "call"
	if len(args) > 0 && !calls {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := p.openRegistry()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	if len(args) > 0 {
		return argumentNames(found.Snapshot(), args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	var names []string
	for _, plugin := range found.Snapshot().Plugins() {
		names = append(names, plugin.Name)
		if calls && plugin.Manifest != nil {
			for _, c := range plugin.Manifest.Commands {
				names = append(names, plugin.Name+"."+c.Identifier)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// argumentNames are the arguments that the command of a call has and that are not
// given yet, each as the beginning of name=value.
func argumentNames(found *registry.Snapshot, args []string) []string {
	plugin, command, ok := found.Resolve(args[0])
	if !ok {
		return nil
	}
	given := args[1:]
	for _, arg := range given {
		if value, ok := strings.CutPrefix(arg, "command="); ok && command == "" {
			command = value
		}
	}
	var names []string
	for _, name := range plugin.InputNames(command) {
		taken := slices.ContainsFunc(given, func(arg string) bool { return strings.HasPrefix(arg, name+"=") })
		if !taken && (name != "command" || command == "") {
			names = append(names, name+"=")
		}
	}
	return names
}

// completeInput completes --input with the arguments that are resources.
func (p *Program) completeInput(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	found, err := p.openRegistry()
	if err != nil || len(args) == 0 || strings.Contains(typed, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	plugin, command, ok := found.Snapshot().Resolve(args[0])
	if !ok {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	for _, name := range plugin.InputNames(command) {
		if plugin.InputType(command, name).Resource {
			names = append(names, name+"=@")
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// views lists the values of --view.
func views() []string { return []string{"canonical", "ai"} }

// completions tells by a flag's name what completes its value: one of a few
// words, a directory, or nothing that a file could be. The rest take files.
func (p *Program) completions() map[string]cobra.CompletionFunc {
	list := map[string]cobra.CompletionFunc{"input": p.completeInput}
	words := func(flag string, values ...string) {
		list[flag] = cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	for _, flag := range []string{"json", "max-characters", "timeout", "name", "tenant", "actor", "expires"} {
		words(flag)
	}
	words("view", views()...)
	var scopes []string
	for _, known := range identity.KnownScopes() {
		scopes = append(scopes, strings.Replace(string(known.Scope), "<glob>", "*", 1))
	}
	words("scope", scopes...)
	for _, row := range config.Reference() {
		if row.Flag != "" {
			words(row.Flag, row.Values...)
		}
	}
	for _, flag := range []string{"plugins", "trust", "data", "out"} {
		list[flag] = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	}
	return list
}

// completeFlags completes the values of the flags of a command and all below it.
func completeFlags(top *cobra.Command, list map[string]cobra.CompletionFunc) error {
	for name, complete := range list {
		flag := top.PersistentFlags().Lookup(name)
		if flag == nil {
			flag = top.LocalNonPersistentFlags().Lookup(name)
		}
		if flag == nil || flag.NoOptDefVal != "" {
			continue
		}
		if err := top.RegisterFlagCompletionFunc(name, complete); err != nil {
			return err
		}
	}
	for _, below := range top.Commands() {
		if err := completeFlags(below, list); err != nil {
			return err
		}
	}
	return nil
}
