// Package server is the home of the HTTP server: one door through which people
// and programs call tools. It parses, asks the host, and presents; it holds no
// business logic, so the narrow [Executor] is all that it needs of the host's
// pipeline, and handlers are tested against it.
package server

import (
	"context"

	"vcphost/abi"
)

// Executor runs one call and always answers with a canonical result; *host.Host
// is the one that a server has in production.
type Executor interface {
	Execute(ctx context.Context, call *abi.Call) *abi.Result
}
