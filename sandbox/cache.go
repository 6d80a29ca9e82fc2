package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
)

func openCache(dir string) (wazero.CompilationCache, error) {
	if dir == "" {
		return wazero.NewCompilationCache(), nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for compiled modules: %w", err)
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open the cache of compiled modules: %w", err)
	}
	return cache, nil
}

// compile compiles a module, or takes what the disk has of it. What lies on a
// disk can be damaged, and the engine then refuses the module for as long as the
// file is there; so a module that is sound by itself is compiled anew.
func (s *Sandbox) compile(ctx context.Context, binary []byte) (wazero.CompiledModule, error) {
	compiled, err := s.runtime.CompileModule(ctx, binary)
	if err == nil || s.kept == "" || ctx.Err() != nil || !sound(ctx, binary) {
		return compiled, err
	}
	s.logger.Warn("a compiled module could not be used; all are compiled anew", "directory", s.kept, "error", err)
	if dropped := dropCompiled(s.kept); dropped != nil {
		return nil, errors.Join(err, dropped)
	}
	return s.runtime.CompileModule(ctx, binary)
}

// sound reports whether a module is valid, asking an engine that keeps nothing.
func sound(ctx context.Context, binary []byte) bool {
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(ctx)
	_, err := runtime.CompileModule(ctx, binary)
	return err == nil
}

// dropCompiled deletes the compiled modules below dir, but for those that are
// being written. Only the engine knows which file is which module's.
func dropCompiled(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && filepath.Ext(path) != ".tmp" {
			err = os.Remove(path)
		}
		return err
	})
}
