package main

import (
	"context"

	"vcphost/sandbox"
)

// openOurs opens a guest in the sandbox. What is measured is its Invoke, whole:
// the invocation is written, limits are checked, the payload is copied, and the
// instance is made good for the next call.
func openOurs(ctx context.Context, g *guest, c column, box *sandbox.Sandbox) (*runner, error) {
	plugin, err := box.Open(ctx, sandbox.Module{Name: "Bench", Binary: g.vcp})
	if err != nil {
		return nil, err
	}
	return &runner{
		column: c,
		close:  func() error { return plugin.Close(ctx) },
		call: func() ([]byte, error) {
			reply, err := plugin.Invoke(ctx, g.invocation)
			if err != nil {
				return nil, err
			}
			return reply.Payload, nil
		},
	}, nil
}
