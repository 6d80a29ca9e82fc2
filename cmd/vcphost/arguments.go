package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxArgumentBytes bounds what is read from standard input as arguments. The
// plugin's own limit is lower and is the host's to tell.
const maxArgumentBytes = 64 << 20

// pair is one name=value of the command line.
type pair struct{ name, value string }

func parsePairs(args []string) ([]pair, error) {
	var pairs []pair
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, usage("%q is not of the form name=value", arg)
		}
		if slices.ContainsFunc(pairs, func(known pair) bool { return known.name == name }) {
			return nil, usage("the argument %q is given twice", name)
		}
		pairs = append(pairs, pair{name, value})
	}
	return pairs, nil
}

// parseInputs reads --input flags, name=@FILE, whose names must be new.
func parseInputs(flags []string, pairs []pair) ([]pair, error) {
	var inputs []pair
	for _, flag := range flags {
		name, path, ok := strings.Cut(flag, "=@")
		if !ok || name == "" || path == "" {
			return nil, usage("--input %q is not of the form name=@FILE", flag)
		}
		if slices.ContainsFunc(slices.Concat(pairs, inputs), func(known pair) bool { return known.name == name }) {
			return nil, usage("the argument %q is given twice", name)
		}
		inputs = append(inputs, pair{name, path})
	}
	return inputs, nil
}

// baseArguments is the object that --json gives, "-" meaning standard input. It
// is not checked here: what is wrong with it is told in the result.
func baseArguments(flag string, stdin io.Reader) (json.RawMessage, error) {
	switch flag {
	case "":
		return json.RawMessage("{}"), nil
	case "-":
		raw, err := io.ReadAll(io.LimitReader(stdin, maxArgumentBytes+1))
		if err != nil {
			return nil, fmt.Errorf("read arguments from standard input: %w", err)
		}
		if len(raw) > maxArgumentBytes {
			return nil, fmt.Errorf("the arguments on standard input have more than %d bytes", maxArgumentBytes)
		}
		if len(raw) == 0 { // the program before us in the pipe failed, which is no call without arguments
			return nil, errors.New("--json -: standard input is empty")
		}
		return raw, nil
	}
	return json.RawMessage(flag), nil
}
