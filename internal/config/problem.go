package config

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong with the settings.
type Problem struct {
	// Source is where the value stands: a file with line and column, an
	// environment variable, or a flag.
	Source  string
	Name    string // of the setting; empty where it concerns none
	Message string
}

// String is the problem in one line.
func (p Problem) String() string {
	if p.Name == "" {
		return p.Source + ": " + p.Message
	}
	return p.Source + ": " + p.Name + ": " + p.Message
}

// InvalidError says everything that is wrong with the settings.
type InvalidError struct {
	Problems []Problem // at least one
}

// Error has a line for each problem.
func (e *InvalidError) Error() string {
	if len(e.Problems) == 1 {
		return e.Problems[0].String()
	}
	lines := make([]string, 0, len(e.Problems)+1)
	lines = append(lines, fmt.Sprintf("%d settings are wrong:", len(e.Problems)))
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}
