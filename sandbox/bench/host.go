package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// column is one way of running a guest: a host and what it does for a call.
type column int

const (
	ours column = iota
	oursShared
	oursFresh
	wazeroFresh
	wazeroWarm
	wazeroStoppable
	wazyFresh
	wazyWarm
	extismFresh
	extismWarm
	nodeProcess
	pythonProcess
	columns // their number
)

// String is the head of the column.
func (c column) String() string {
	return [columns]string{
		"vcphost `call`", "vcphost `shared`", "vcphost `fresh`",
		"wazero fresh", "wazero warm", "wazero warm, interruptible",
		"wazy fresh", "wazy warm", "Extism fresh", "Extism warm", "`node`", "`python3`",
	}[c]
}

// isolated tells whether no call may see what another one left.
func (c column) isolated() bool {
	switch c {
	case oursShared, wazeroWarm, wazeroStoppable, wazyWarm, extismWarm:
		return false
	}
	return true
}

// runner serves calls of one guest in one way.
type runner struct {
	column column
	call   func() ([]byte, error) // one whole call; the payload is the caller's
	each   int                    // calls of the guest in one of call; 0 means 1
	// took measures one start of a host over a directory of its own that stays,
	// in nanoseconds, and stands for call.
	took  func(dir string) (float64, error)
	close func() error
	more  func() error // adds an instance that has served a call and stays until close
	// pooled tells how many of all calls took the fast path; nil where there is
	// no such thing.
	pooled func() (fast, all int64)
}

// instance is a module of binding vcp in a bare engine: what a host that is
// written by hand would keep of it.
type instance struct {
	memory
	write       func(offset uint32, b []byte) bool
	alloc, call func(ctx context.Context, stack []uint64) error
	stack       [2]uint64
}

// serve is a call of binding vcp: room for the input, the call, a copy of the
// answer.
func (i *instance) serve(ctx context.Context, input []byte) ([]byte, error) {
	i.stack[0] = uint64(len(input))
	if err := i.alloc(ctx, i.stack[:]); err != nil {
		return nil, fmt.Errorf("ask for room: %w", err)
	}
	at := uint32(i.stack[0])
	if !i.write(at, input) {
		return nil, errors.New("the room is outside of memory")
	}
	i.stack[0], i.stack[1] = uint64(at), uint64(len(input))
	if err := i.call(ctx, i.stack[:]); err != nil {
		return nil, fmt.Errorf("call: %w", err)
	}
	view, ok := i.Read(uint32(i.stack[0]>>32), uint32(i.stack[0]))
	if !ok {
		return nil, errors.New("the answer is outside of memory")
	}
	return bytes.Clone(view), nil
}
