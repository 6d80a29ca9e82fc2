package wasmbin

import (
	"errors"
	"fmt"
)

// DataSegment is an active data segment that was lifted out of a module.
type DataSegment struct {
	Offset uint32
	Global string // the exported constant that holds the offset instead, unless it is ""
	Bytes  []byte // of the input
}

// ErrDataBounds tells that a data segment lies outside the memory, for which an
// instance cannot begin.
var ErrDataBounds = errors.New("a data segment is outside the memory")

// WriteData writes the lifted segments into a memory, in order, up to the first
// that is outside: it fails with [ErrDataBounds] there, as an instance traps.
// The memory is the instance's; global gives the value of an
// exported constant, and may be nil if no segment has one.
func (r *Rewritten) WriteData(memory []byte, global func(name string) uint32) error {
	if r.Memory.Virtual {
		memory = memory[:uint64(r.Memory.Initial)<<16]
	}
	for i, d := range r.Data {
		offset := uint64(d.Offset)
		if d.Global != "" {
			offset = uint64(global(d.Global))
		}
		if offset+uint64(len(d.Bytes)) > uint64(len(memory)) {
			return fmt.Errorf("%w: segment %d of %d bytes at %d, and the memory has %d", ErrDataBounds, i, len(d.Bytes), offset, len(memory))
		}
		copy(memory[offset:], d.Bytes)
	}
	return nil
}
