// Command build builds the example plugins into the folder that is embedded in
// the host, one folder a plugin:
//
//	go run ./examples/build
//
// With -o DIR they go into another folder, which then is a directory of plugins.
// It needs the Go toolchain and nothing else, and may be started anywhere
// inside the repository. Whatever stood in a plugin's folder before is removed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

// example is one plugin and the files that it needs beside its module.
type example struct {
	name  string
	files []string
}

func examples() []example {
	return []example{
		{name: "csvchart", files: []string{"plugin-manifest.json", "sample.csv"}},
		{name: "schedule", files: []string{"plugin-manifest.json"}},
	}
}

func main() {
	log.SetFlags(0)
	out := flag.String("o", "", "folder to build into (default examples/bundled)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out); err != nil {
		log.Fatalf("build examples: %v", err)
	}
}

func run(ctx context.Context, out string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join(root, "examples", "bundled")
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	for _, e := range examples() {
		target := filepath.Join(out, e.name)
		size, err := e.build(ctx, filepath.Join(root, "examples", e.name), target)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if short, err := filepath.Rel(root, target); err == nil && filepath.IsLocal(short) {
			target = filepath.ToSlash(short)
		}
		fmt.Printf("%-10s %5d KiB  %s\n", e.name, size>>10, target)
	}
	return nil
}

// moduleRoot finds the folder of the host's go.mod above the current folder;
// an example with a go.mod of its own lies inside it.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "examples", "bundled"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("start it inside the repository")
		}
		dir = parent
	}
}

// build makes the plugin's folder target and returns the size of its module in bytes.
func (e example) build(ctx context.Context, source, target string) (int64, error) {
	if err := os.RemoveAll(target); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(target, 0o755); err != nil {
		return 0, err
	}
	module := filepath.Join(target, e.name+".wasm")
	cmd := exec.CommandContext(ctx, "go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", module, ".")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("go build: %w", err)
	}
	for _, name := range e.files {
		if err := copyFile(filepath.Join(source, name), filepath.Join(target, name)); err != nil {
			return 0, err
		}
	}
	info, err := os.Stat(module)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
