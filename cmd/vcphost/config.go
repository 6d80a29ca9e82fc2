package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vcphost/internal/config"
)

// settingFlags adds the flags of the settings to a command, but for those that
// every command has, and --config. Their values are read by loadConfig.
func settingFlags(command *cobra.Command) {
	flags := command.Flags()
	flags.String("config", "", "file of settings (default $"+config.FileVariable+", else none)")
	for _, row := range config.Reference() {
		switch row.Flag {
		case "", "plugins", "trust", "data":
			continue
		}
		about := strings.ReplaceAll(row.Description, "`", "")
		if row.Type == config.TypeList {
			flags.StringArray(row.Flag, nil, about)
			continue
		}
		flags.String(row.Flag, row.Default, about)
	}
}

// loadConfig gives the settings that hold for a command: of its flags, the
// environment, the file and the defaults.
func (p *Program) loadConfig(command *cobra.Command) (*config.Loaded, error) {
	given := map[string][]string{}
	flags := command.Flags()
	for _, row := range config.Reference() {
		if row.Flag == "" || !flags.Changed(row.Flag) {
			continue
		}
		given[row.Flag] = []string{flags.Lookup(row.Flag).Value.String()}
		if row.Type == config.TypeList {
			list, err := flags.GetStringArray(row.Flag)
			if err != nil {
				return nil, fmt.Errorf("read --%s: %w", row.Flag, err)
			}
			given[row.Flag] = list
		}
	}
	file, err := flags.GetString("config")
	if err != nil {
		return nil, fmt.Errorf("read --config: %w", err)
	}
	environment := p.environment()
	return config.Load(config.Sources{File: config.FindFile(file, environment), Environment: environment, Flags: given})
}

// environment lists the variables of the host, those that are no settings
// included where the whole environment is known.
func (p *Program) environment() []string {
	if p.Environ != nil {
		return p.Environ
	}
	names := []string{config.FileVariable}
	for _, row := range config.Reference() {
		names = append(names, row.Environment)
	}
	var list []string
	for _, name := range names {
		if value, ok := p.LookupEnv(name); ok {
			list = append(list, name+"="+value)
		}
	}
	return list
}

func (p *Program) configCommand() *cobra.Command {
	top := group("config", "Look at the settings of the server")
	validate := &cobra.Command{
		Use:     "validate",
		Short:   "Say what is wrong with the settings, all of it",
		Long:    "Say what is wrong with the settings, all of it. Exit status: 0 if nothing is, 1 if\nsomething is, 2 if a file cannot be read.",
		Example: `  vcphost config validate --config /etc/vcphost/vcphost.yaml`,
		Args:    cobra.NoArgs,
		RunE: p.withConfig(func(*config.Loaded) error {
			return p.printText("the settings are valid")
		}),
	}
	show := &cobra.Command{
		Use:     "print",
		Short:   "Print the settings that hold, where each stands, and no secret",
		Example: `  vcphost config print --config vcphost.yaml --max-in-flight 8`,
		Args:    cobra.NoArgs,
		RunE: p.withConfig(func(loaded *config.Loaded) error {
			var text strings.Builder
			if err := loaded.Print(&text); err != nil {
				return fmt.Errorf("print the settings: %w", err)
			}
			return p.printText(text.String())
		}),
	}
	settingFlags(validate)
	settingFlags(show)
	top.AddCommand(validate, show)
	return top
}

// withConfig does something with the settings; what is wrong with them goes to
// standard error, a line each.
func (p *Program) withConfig(do func(*config.Loaded) error) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, _ []string) error {
		loaded, err := p.loadConfig(command)
		var invalid *config.InvalidError
		if errors.As(err, &invalid) {
			for _, problem := range invalid.Problems {
				fmt.Fprintf(p.Stderr, "vcphost: %s\n", printable(problem.String()))
			}
			p.status = exitResult
			return nil
		}
		if err != nil {
			return err
		}
		for _, warning := range loaded.Warnings {
			fmt.Fprintf(p.Stderr, "vcphost: warning: %s\n", printable(warning))
		}
		return do(loaded)
	}
}
