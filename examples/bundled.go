// Package examples carries the example plugins, built, inside the host's
// binary.
//
// They are what stood in the folder bundled when the host was built, one folder
// a plugin, as go generate ./examples leaves them. In a clean clone none is
// built and the package is empty, so that the host builds without them.
package examples

//go:generate go run ./build

import (
	"embed"
	"io/fs"
)

//go:embed all:bundled
var bundled embed.FS

// Bundled is a file system of plugin folders, each with plugin-manifest.json,
// its module and the files it needs, beside a README.md. It is read-only and
// safe for concurrent use.
func Bundled() fs.FS {
	sub, err := fs.Sub(bundled, "bundled")
	if err != nil {
		panic(err) // the name is a constant, and valid
	}
	return sub
}
