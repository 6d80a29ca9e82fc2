package main

import (
	"github.com/spf13/cobra"

	"vcphost/internal/config"
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

// compileWithin bounds the compilation of modules by settings, whose zeros are
// the defaults.
func (p *Program) compileWithin(bounds config.Sandbox) *engine.CacheOptions {
	return &engine.CacheOptions{
		Command: p.Compile, Logger: p.logger(),
		MemoryBytes: bounds.CompileMemoryBytes, Time: bounds.CompileTime,
		FileBytes: bounds.CompiledBytes, TotalBytes: bounds.CacheBytes,
	}
}
