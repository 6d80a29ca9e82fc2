package main

import (
	"github.com/spf13/cobra"

	"vcphost/sandbox/engine"
)

// compileVerb is the hidden verb of a process that compiles one module for the
// host that started it.
const compileVerb = "compile-module"

func (p *Program) compileCommand() *cobra.Command {
	return &cobra.Command{
		Use: compileVerb, Hidden: true, DisableFlagParsing: true,
		Short: "Compile one module for the host that started this process",
		Run: func(_ *cobra.Command, args []string) {
			p.status = engine.ChildMain(args, p.Stdin, p.Stderr)
		},
	}
}

// compileOptions bound the compilation of plugins' modules by the settings of
// the server; the other verbs have the defaults.
func (p *Program) compileOptions() *engine.CacheOptions {
	options := &engine.CacheOptions{Command: p.Compile, Logger: p.logger()}
	if p.serving != nil {
		bounds := p.serving.settings.Sandbox
		options.MemoryBytes, options.Time = bounds.CompileMemoryBytes, bounds.CompileTime
		options.FileBytes, options.TotalBytes = bounds.CompiledBytes, bounds.CacheBytes
	}
	return options
}
