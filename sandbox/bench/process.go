package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// errMissing says that a program which a column needs is not installed.
var errMissing = errors.New("not installed")

// openProcess spawns an interpreter for each call, with the job as a script.
func openProcess(ctx context.Context, g *guest, c column) (*runner, error) {
	input, err := g.input()
	if err != nil {
		return nil, err
	}
	command, err := interpreter(ctx, c)
	if err != nil {
		return nil, err
	}
	return &runner{column: c, close: func() error { return nil }, call: func() ([]byte, error) {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Stdin = bytes.NewReader(input)
		payload, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", filepath.Base(command[0]), err)
		}
		return payload, nil
	}}, nil
}

// interpreter is the command line of a column. Python is asked for its true
// program, since what is called python3 may be a script that looks for one, and
// leaves out what its start-up would only search for.
func interpreter(ctx context.Context, c column) ([]string, error) {
	name, script := "node", "add.js"
	if c == pythonProcess {
		name, script = "python3", "add.py"
	}
	program, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%s is %w", name, errMissing)
	}
	path := filepath.Join("guests", "scripts", script)
	if c == nodeProcess {
		return []string{program, path}, nil
	}
	true3, err := exec.CommandContext(ctx, program, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return nil, fmt.Errorf("ask python3 where it is: %w", err)
	}
	return []string{strings.TrimSpace(string(true3)), "-I", "-S", path}, nil
}
