package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"path"
	"slices"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/sandbox/hostfunc"
	"vcphost/sandbox/snapshot"
)

// startTime bounds how long a guest may take to start and to be prepared, beside
// the context of whoever opens it.
const startTime = 30 * time.Second

// newTemplate starts a guest, warms it and takes its snapshot.
func (p *Plugin) newTemplate(ctx context.Context, prepare []Prepare) (made *template, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	g, err := p.instantiate(ctx, p.sandbox.zero)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close(context.WithoutCancel(ctx))) }()
	if err := g.begin(ctx, prepare); err != nil {
		return nil, err
	}
	image, err := snapshot.NewImage(g.memory(), &snapshot.Options{Method: p.sandbox.opts.Restore})
	if err != nil {
		return nil, hostFailed("no memory for a snapshot", err)
	}
	made = &template{image: image}
	for _, global := range g.globals {
		made.globals = append(made.globals, global.Get())
	}
	return made, nil
}

// begin brings a new guest to where its snapshot is taken: started, prepared by
// itself, and warmed by the calls of its manifest.
func (g *guest) begin(ctx context.Context, prepare []Prepare) error {
	err := g.inert(ctx, Prepare{}, func([]byte) error {
		if err := g.start(); err != nil {
			return err
		}
		return g.runNamed(exportPrepare)
	})
	if err != nil {
		return placed(err, "while the plugin started")
	}
	for i, call := range prepare {
		err := g.inert(ctx, call, func(input []byte) error {
			_, err := g.serve(input)
			return err
		})
		if err != nil {
			return placed(err, fmt.Sprintf("in prepare call %d", i+1))
		}
	}
	return nil
}

// placed adds to what callers are told where a guest failed on the way to its
// snapshot: otherwise they would look for the fault in their own call.
func placed(err error, where string) error {
	var told *abi.Error
	if !errors.As(err, &told) {
		return fmt.Errorf("%s: %w", where, err)
	}
	placed := *told
	placed.Message += ", " + where
	return &placed
}

// inert runs a step of the guest with host functions that reach nothing.
func (g *guest) inert(ctx context.Context, prepare Prepare, step func(input []byte) error) error {
	inv := prepare.invocation()
	input, err := g.plugin.encode(nil, inv)
	if err != nil {
		return err
	}
	grants := g.plugin.grants
	if grants.KV != nil {
		grants.KV = hostfunc.NewKVSpace(kv.NewMemory(), g.plugin.name, 1*mebibyte)
	}
	call := hostfunc.NewCall(ctx, inv, grants, hostfunc.Limits{MaxLogBytes: g.plugin.limits.MaxLogBytes}, g.plugin.logger)
	g.enter(ctx, call, time.Now())
	defer g.leave()
	defer func() {
		if !g.run.abandoned {
			call.Close()
		}
	}()
	err = step(input)
	return g.plugin.failure(g, err)
}

// invocation is the prepare call as a guest sees it.
func (p Prepare) invocation() *abi.Invocation {
	inv := &abi.Invocation{
		Command: p.Command, Arguments: p.Arguments, InvocationID: "prepare",
		Resources: discarded{}, Reader: files(p.Files),
	}
	for name, content := range p.Files {
		inv.Inputs = append(inv.Inputs, abi.Resource{
			ID: fileReference + name, Kind: abi.KindOther, FileName: path.Base(name),
			MIMEType: mime.TypeByExtension(path.Ext(name)), SizeBytes: int64(len(content)),
		})
	}
	slices.SortFunc(inv.Inputs, func(a, b abi.Resource) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
	return inv
}

// fileReference begins the id by which a prepare call refers to a file.
const fileReference = "file:"

// files are the inputs of a prepare call.
type files map[string][]byte

func (f files) Open(_ context.Context, id string) (abi.ResourceStream, error) {
	for name, content := range f {
		if id == fileReference+name {
			return stream{bytes.NewReader(content)}, nil
		}
	}
	return nil, abi.NewError(abi.CodeFileNotFound, "a prepare call has no resource %q", id)
}

type stream struct{ *bytes.Reader }

func (stream) Close() error { return nil }

// discarded takes the resources of prepare calls.
type discarded struct{}

func (discarded) Create(context.Context, abi.ResourceDraft) (abi.ResourceSink, error) {
	return nowhere{io.Discard}, nil
}

type nowhere struct{ io.Writer }

func (nowhere) Close() error { return nil }
