package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"vcphost/server/local"
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
		Args:              between(1, 1),
		ValidArgsFunction: p.completeTool,
		RunE: func(command *cobra.Command, args []string) error {
			return p.withPlugins(command.Context(), func(entries []pluginEntry) error { return p.inspectPlugin(entries, args[0]) })
		},
	}
	top.AddCommand(list, inspect)
	return top
}

// pluginEntry is a plugin as the verbs list and inspect tell it.
type pluginEntry = local.Plugin

func (p *Program) withPlugins(ctx context.Context, do func([]pluginEntry) error) (err error) {
	s, err := p.connect(ctx, "plugin", needHost)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop(ctx)) }()
	entries, err := s.Plugins(ctx)
	if err != nil {
		return fmt.Errorf("load the plugins: %w", err)
	}
	return do(entries)
}

func (p *Program) listPlugins(entries []pluginEntry, asJSON bool) error {
	if asJSON {
		for i := range entries {
			entries[i].Manifest = nil // it is for inspect
		}
		return p.printJSON(entries)
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVERSION\tSTATE\tCOMMANDS\tSOURCE\tREASON")
	for _, e := range entries {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", printable(e.Name), printable(e.Version), e.State,
			printable(strings.Join(e.Commands, ",")), printable(e.Source), printable(p.reason(&e)))
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
	var found []pluginEntry
	for _, e := range entries {
		if e.Name == name {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("there is no plugin %q; vcphost plugin list shows those that there are", name)
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
