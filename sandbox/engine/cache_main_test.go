package engine

import (
	"os"
	"testing"
)

// childVerb is the argument by which this test binary becomes a process that
// compiles.
const childVerb = "compile-module"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childVerb {
		os.Exit(ChildMain(os.Args[2:], os.Stdin, os.Stderr))
	}
	os.Exit(m.Run())
}

// thisBinary is the command that compiles in a process of this test binary.
func thisBinary(t testing.TB) []string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{path, childVerb}
}
