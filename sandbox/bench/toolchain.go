package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// workshop builds guests with the toolchains that are installed, in a folder of
// its own.
type workshop struct{ dir string }

// build runs a command, whose last argument is the file that it writes, and
// reads that file.
func (w workshop) build(ctx context.Context, dir string, env []string, command ...string) ([]byte, error) {
	out := filepath.Join(w.dir, "guest.wasm")
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], out)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, text)
	}
	return os.ReadFile(out)
}

// golang builds the main package in dir as its author would.
func (w workshop) golang(ctx context.Context, dir, tags string) ([]byte, error) {
	return w.build(ctx, dir, []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0"},
		"go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-tags="+tags, "-o")
}

// c builds guests/c with clang and its linker: a stack of 64 KiB, four pages.
func (w workshop) c(ctx context.Context, defines ...string) ([]byte, error) {
	for _, program := range []string{"clang", "wasm-ld"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%s is %w", program, errMissing)
		}
	}
	command := append([]string{"clang", "--target=wasm32", "-O2", "-nostdlib", "-Wl,--no-entry",
		"-Wl,-z,stack-size=65536", "-Wl,--initial-memory=262144", "-Wl,--max-memory=262144", "-Wl,--strip-all"}, defines...)
	return w.build(ctx, "", nil, append(command, filepath.Join("guests", "c", "add.c"), "-o")...)
}

// rust builds guests/rust with rustc, for the target that has no system.
func (w workshop) rust(ctx context.Context, flags ...string) ([]byte, error) {
	const target = "--target=wasm32-unknown-unknown"
	if _, err := exec.LookPath("rustc"); err != nil {
		return nil, fmt.Errorf("rustc is %w", errMissing)
	}
	libraries, err := exec.CommandContext(ctx, "rustc", "--print=target-libdir", target).Output()
	if err != nil {
		return nil, fmt.Errorf("ask rustc for its libraries: %w", err)
	}
	if _, err := os.Stat(strings.TrimSpace(string(libraries))); err != nil {
		return nil, fmt.Errorf("wasm32-unknown-unknown, a target of rustc, is %w", errMissing)
	}
	command := append([]string{"rustc", target, "--edition=2021", "--crate-type=cdylib",
		"-Copt-level=s", "-Clto=fat", "-Cpanic=abort", "-Cstrip=symbols"}, flags...)
	return w.build(ctx, "", nil, append(command, filepath.Join("guests", "rust", "add.rs"), "-o")...)
}
