package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"vcphost/abi"
)

func (p *Program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of the program, the protocol and the guest ABI",
		Example: "  vcphost version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(p.Stdout, "vcphost %s\n%s %s, guest ABI 1\n%s %s/%s\n",
				buildVersion(), abi.ProtocolName, abi.ProtocolVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// buildVersion is what the build knows of itself: the module's version, else
// the commit.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && version == "(devel)" {
			version += " " + setting.Value
		}
	}
	return version
}
