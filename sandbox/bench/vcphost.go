package main

import (
	"bytes"
	"context"

	"vcphost/abi"
	"vcphost/sandbox"
)

// newBox starts the sandbox as the server has it, but that plugins may keep
// state if they ask.
func newBox(ctx context.Context, dir string) (*sandbox.Sandbox, error) {
	return sandbox.New(ctx, &sandbox.Options{CacheDir: dir, AllowShared: true})
}

func isolation(c column) sandbox.Isolation {
	switch c {
	case oursShared:
		return sandbox.IsolationShared
	case oursFresh:
		return sandbox.IsolationFresh
	}
	return sandbox.IsolationCall
}

// openOurs opens a guest in the sandbox. What is measured is its Invoke, whole:
// the invocation is written, limits are checked, the payload is copied, and the
// instance is made good for the next call.
func openOurs(ctx context.Context, g *guest, c column, box *sandbox.Sandbox) (*runner, error) {
	plugin, err := box.Open(ctx, sandbox.Module{Name: "Bench", Binary: g.vcp, Isolation: isolation(c), Prepare: g.prepare})
	if err != nil {
		return nil, err
	}
	var seen paths
	return &runner{
		column: c, pooled: seen.share,
		close: func() error { return plugin.Close(ctx) },
		call: func() ([]byte, error) {
			reply, err := plugin.Invoke(ctx, g.invocation)
			if err != nil {
				return nil, err
			}
			seen.look(reply)
			return reply.Payload, nil
		},
	}, nil
}

// paths counts how calls came to their instances, but for the first, which is
// part of opening a plugin.
type paths struct{ calls, pooled int64 }

func (p *paths) look(reply *abi.Reply) {
	if p.calls++; bytes.HasSuffix(reply.Extensions[abi.ExtensionSandbox], []byte(`"path":"pooled"}`)) {
		p.pooled++
	}
}

func (p *paths) share() (fast, all int64) { return p.pooled, max(p.calls-1, 0) }
