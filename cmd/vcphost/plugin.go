package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"vcphost/abi"
	"vcphost/host/registry"
)

func (p *Program) pluginCommand() *cobra.Command {
	top := group("plugin", "Look at the plugins that this host has")
	var asJSON bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List every plugin, refused ones with the reason",
		Long: `List every plugin. Each module is loaded for it, so that what is listed as
ready can be called; the first time, modules are compiled.`,
		Example: `  vcphost plugin list
  vcphost plugin list --json --plugins ./more --trust ./more`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.withPlugins(command.Context(), func(entries []pluginEntry) error { return p.listPlugins(entries, asJSON) })
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	inspect := &cobra.Command{
		Use:   "inspect NAME",
		Short: "Print all that the host knows of a plugin, as JSON",
		Long: `Print all that the host knows of a plugin: its state and why, what is wrong
with it, its digest and its manifest with the permissions that it asks for.
The answer is a JSON array, because several folders may claim one name.`,
		Example:           `  vcphost plugin inspect CsvChart`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: p.completeTool,
		RunE: func(command *cobra.Command, args []string) error {
			return p.withPlugins(command.Context(), func(entries []pluginEntry) error { return p.inspectPlugin(entries, args[0]) })
		},
	}
	top.AddCommand(list, inspect)
	return top
}

// pluginEntry is a plugin as the verbs list and inspect tell it.
type pluginEntry struct {
	Name        string             `json:"name"`
	DisplayName string             `json:"displayName,omitempty"`
	Version     string             `json:"version,omitempty"`
	Type        string             `json:"pluginType,omitempty"`
	EntryPoint  string             `json:"entryPoint,omitempty"`
	State       string             `json:"state"`
	Reason      string             `json:"reason,omitempty"`
	Source      string             `json:"source"`
	Folder      string             `json:"folder"`
	Digest      string             `json:"digest,omitempty"`
	Commands    []string           `json:"commands"`
	Refusals    []registry.Refusal `json:"refusals"`
	Notices     []registry.Notice  `json:"notices"`

	plugin *registry.Plugin
}

func (p *Program) withPlugins(ctx context.Context, do func([]pluginEntry) error) (err error) {
	app, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.close(context.WithoutCancel(ctx))) }()
	plugins := app.registry.Snapshot().Plugins()
	entries := make([]pluginEntry, len(plugins))
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0)) // compiling is bounded by processors
	for i, plugin := range plugins {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			entries[i] = app.entry(ctx, plugin)
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("load the plugins: %w", err)
	}
	return do(entries)
}

// entry tells of a plugin what can be known without calling it, which includes
// whether its module loads.
func (a *application) entry(ctx context.Context, plugin *registry.Plugin) pluginEntry {
	entry := pluginEntry{
		Name: plugin.Name, State: string(plugin.State), Source: plugin.Source, Folder: plugin.Folder, Digest: plugin.Digest,
		Commands: []string{}, Refusals: append([]registry.Refusal{}, plugin.Refusals...), Notices: append([]registry.Notice{}, plugin.Notices...),
		plugin: plugin,
	}
	if m := plugin.Manifest; m != nil {
		entry.DisplayName, entry.Version, entry.Type, entry.EntryPoint = m.DisplayName, m.Version, string(m.PluginType), m.EntryPoint.Type
		for _, command := range m.Commands {
			entry.Commands = append(entry.Commands, command.Identifier)
		}
	}
	if len(plugin.Refusals) > 0 {
		entry.Reason = strings.TrimSpace(plugin.Refusals[0].Pointer + " " + plugin.Refusals[0].Reason)
		return entry
	}
	var failure *abi.Error
	if err := a.host.Prepare(ctx, plugin); errors.As(err, &failure) {
		entry.Reason = failure.Message
		if plugin.State == registry.Ready {
			entry.State = stateOf(failure)
		}
	} else if err != nil {
		entry.State, entry.Reason = string(registry.Refused), err.Error()
	}
	return entry
}

// stateOf is the state that a plugin has whose transport could not be opened.
func stateOf(failure *abi.Error) string {
	var details struct{ Reason string }
	if json.Unmarshal(failure.Details, &details) == nil && details.Reason != "" {
		return details.Reason
	}
	return string(registry.Refused)
}

func (p *Program) listPlugins(entries []pluginEntry, asJSON bool) error {
	if asJSON {
		return p.printJSON(entries)
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVERSION\tSTATE\tCOMMANDS\tSOURCE\tREASON")
	for _, e := range entries {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", printable(e.Name), printable(e.Version), e.State,
			printable(strings.Join(e.Commands, ",")), printable(e.Source), printable(e.Reason))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the list: %w", err)
	}
	if len(entries) == 0 {
		given := "no directory of plugins was given"
		if dirs := p.pluginDirs(); len(dirs) > 0 {
			given = "there is none in " + strings.Join(dirs, ", ")
		}
		fmt.Fprintf(p.Stderr, "no plugins: this build has no bundled ones (go run ./examples/build adds them), and %s\n", given)
	}
	return nil
}

func (p *Program) inspectPlugin(entries []pluginEntry, name string) error {
	var found []any
	for _, e := range entries {
		if e.Name != name {
			continue
		}
		manifest := json.RawMessage("null")
		if e.plugin.Manifest != nil {
			manifest = e.plugin.Manifest.Raw
		}
		found = append(found, struct {
			pluginEntry
			Manifest json.RawMessage `json:"manifest"`
		}{e, manifest})
	}
	if len(found) == 0 {
		return fmt.Errorf("there is no plugin %q", name)
	}
	return p.printJSON(found)
}

func (p *Program) printJSON(v any) error {
	encoder := json.NewEncoder(p.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// completeTool completes the first argument from the manifests.
func (p *Program) completeTool(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := p.openRegistry()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, plugin := range found.Snapshot().Plugins() {
		names = append(names, plugin.Name)
		if command.Name() == "call" && plugin.Manifest != nil {
			for _, c := range plugin.Manifest.Commands {
				names = append(names, plugin.Name+"."+c.Identifier)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
