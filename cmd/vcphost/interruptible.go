package main

import (
	"context"
	"io"
	"os"
)

// interruptible reads from a pipe or a terminal, where a read waits for somebody
// else, possibly for ever. When ctx ends it gives up the read that waits, which
// goes on by itself until the process ends.
type interruptible struct {
	ctx    context.Context
	from   io.Reader
	buffer []byte // belongs to the read that waits
}

func (r *interruptible) Read(p []byte) (int, error) {
	if len(r.buffer) < len(p) {
		r.buffer = make([]byte, len(p))
	}
	n, err := waitFor(r.ctx, func() (int, error) { return r.from.Read(r.buffer[:len(p)]) })
	if r.ctx.Err() != nil {
		return 0, r.ctx.Err() // the buffer may still be written to
	}
	return copy(p, r.buffer[:n]), err
}

// openInput opens a file to read it once. Opening a named pipe waits for its
// writer.
func openInput(ctx context.Context, path string, regular bool) (io.ReadCloser, error) {
	if regular {
		return os.Open(path)
	}
	file, err := waitFor(ctx, func() (*os.File, error) { return os.Open(path) })
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{&interruptible{ctx: ctx, from: file}, file}, nil
}

// waitFor gives what do returns, or ctx's error if that comes first.
func waitFor[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := do()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
