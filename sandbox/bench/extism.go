package main

import (
	"context"
	"errors"
	"fmt"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
)

// openExtism compiles the guest's Extism twin. Without a time-out the SDK leaves
// wazero's interrupt off, which is what it is fastest with.
func openExtism(ctx context.Context, g *guest, cache wazero.CompilationCache) (*extism.CompiledPlugin, error) {
	plugin, err := extism.NewCompiledPlugin(ctx,
		extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: g.extism}}},
		extism.PluginConfig{
			EnableWasi:    true,
			RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(cache),
		}, nil)
	if err != nil {
		return nil, fmt.Errorf("compile for Extism: %w", err)
	}
	return plugin, nil
}

// openExtismRunner opens the guest's Extism twin, with an instance a call or one
// for all of them.
func openExtismRunner(ctx context.Context, g *guest, c column, cache wazero.CompilationCache) (*runner, error) {
	input, err := g.input()
	if err != nil {
		return nil, err
	}
	compiled, err := openExtism(ctx, g, cache)
	if err != nil {
		return nil, err
	}
	r := &runner{column: c, close: func() error { return compiled.Close(ctx) }}
	if c == extismFresh {
		r.call = func() (payload []byte, err error) {
			plugin, err := compiled.Instance(ctx, extism.PluginInstanceConfig{})
			if err != nil {
				return nil, fmt.Errorf("instantiate: %w", err)
			}
			defer func() { err = errors.Join(err, plugin.CloseWithContext(ctx)) }()
			return callExtism(ctx, plugin, input)
		}
		return r, nil
	}
	keep := func() (*extism.Plugin, error) {
		plugin, err := compiled.Instance(ctx, extism.PluginInstanceConfig{})
		if err != nil {
			return nil, fmt.Errorf("instantiate: %w", err)
		}
		return plugin, nil
	}
	plugin, err := keep()
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.call = func() ([]byte, error) { return callExtism(ctx, plugin, input) }
	r.more = func() error {
		another, err := keep()
		if err != nil {
			return err
		}
		_, err = callExtism(ctx, another, input)
		return err
	}
	return r, nil
}

func callExtism(ctx context.Context, plugin *extism.Plugin, input []byte) ([]byte, error) {
	code, payload, err := plugin.CallWithContext(ctx, "add", input)
	if err != nil || code != 0 {
		return nil, fmt.Errorf("call, exit code %d: %w", code, err)
	}
	return payload, nil
}
