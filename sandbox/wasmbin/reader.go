package wasmbin

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// reader reads with a sticky error, so that a truncated binary needs one check
// at the end of each entry.
//
// A reader that copies gives what it passes over to out, except for the indices
// of functions, which it writes as they are in the rewritten module.
type reader struct {
	data []byte
	pos  int
	err  error

	m    *module // what is known of the module so far
	copy bool
	mark int // up to here, data has been copied
	out  []byte
}

// fail keeps the first error.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// malformed fails with what is wrong.
func (r *reader) malformed(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}

func (r *reader) short() { r.malformed("it ends within an entry") }

func (r *reader) rest() int { return len(r.data) - r.pos }

func (r *reader) byte() byte {
	if r.pos >= len(r.data) {
		r.short()
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

func (r *reader) skip(n int) {
	if n > r.rest() {
		r.short()
		return
	}
	r.pos += n
}

func (r *reader) skipRest() { r.pos = len(r.data) }

func (r *reader) u32() uint32 {
	if r.pos < len(r.data) && r.data[r.pos] < 0x80 {
		r.pos++
		return uint32(r.data[r.pos-1])
	}
	return uint32(r.leb(5, 1<<32-1))
}

func (r *reader) u64() uint64 { return r.leb(10, 1<<64-1) }

// leb reads an unsigned number, which may be padded up to the longest form.
func (r *reader) leb(maxBytes int, limit uint64) uint64 {
	var value uint64
	for i := range maxBytes {
		b := r.byte()
		value |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if value > limit || i == 9 && b > 1 {
				r.malformed("a number of too many bits")
			}
			return value
		}
	}
	r.malformed("a number without end")
	return 0
}

// signed reads a number of up to 64 bits with a sign.
func (r *reader) signed(maxBytes int) int64 {
	var value int64
	for i := range maxBytes {
		b := r.byte()
		value |= int64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if shift := 7 * (i + 1); shift < 64 && b&0x40 != 0 {
				value |= -1 << shift
			}
			return value
		}
	}
	r.malformed("a number without end")
	return 0
}

// maxNameBytes is the limit of the JavaScript interface, which toolchains keep to.
const maxNameBytes = 100_000

func (r *reader) name() string {
	size := r.count("bytes in a name", maxNameBytes)
	if r.err != nil {
		return ""
	}
	raw := r.data[r.pos : r.pos+size]
	r.pos += size
	if !utf8.Valid(raw) {
		r.malformed("a name that is not UTF-8")
	}
	return string(raw)
}

// count reads the length of a vector whose entries take a byte or more each.
func (r *reader) count(limit string, maximum int64) int {
	n := int64(r.u32())
	switch {
	case r.err != nil:
	case n > maximum:
		r.fail(&LimitError{Limit: limit, Need: n, Max: maximum})
	case n > int64(r.rest()):
		r.malformed("%d entries in %d bytes", n, r.rest())
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// each reads a vector entry by entry and returns the number of entries.
func (r *reader) each(limit string, maximum int64, entry func()) uint32 {
	n := r.count(limit, maximum)
	for range n {
		if r.err != nil {
			break
		}
		entry()
	}
	return uint32(n)
}

// sub reads a length and gives a reader of so many bytes, which it passes over.
func (r *reader) sub() *reader {
	size := r.u32()
	if int64(size) > int64(r.rest()) {
		r.short()
	}
	if r.err != nil {
		return &reader{err: r.err, m: r.m}
	}
	inner := &reader{data: r.data[: r.pos+int(size) : r.pos+int(size)], pos: r.pos, m: r.m}
	r.pos += int(size)
	return inner
}

// bytes reads a length and so many bytes, which stay those of the input.
func (r *reader) bytes() []byte {
	inner := r.sub()
	r.take(inner.err)
	return inner.data[inner.pos:]
}

// take keeps an error, if it is one.
func (r *reader) take(err error) {
	if err != nil {
		r.fail(err)
	}
}

// join takes over what an inner reader found, which must have read everything.
func (r *reader) join(inner *reader) {
	if inner.err == nil && inner.pos < len(inner.data) {
		inner.malformed("an entry is longer than what it holds")
	}
	r.take(inner.err)
}

// flush copies what was read since the last copy.
func (r *reader) flush() {
	if r.copy {
		r.out = append(r.out, r.data[r.mark:r.pos]...)
	}
	r.mark = r.pos
}

// function reads the index of a function and copies it as it is in the
// rewritten module, where the added import comes before all functions that are
// not imported.
func (r *reader) function() uint32 {
	if !r.copy {
		return r.u32()
	}
	r.flush()
	index := r.index("function", r.m.functions())
	r.m.declare(index)
	r.out = appendU32(r.out, r.m.shifted(index))
	r.mark = r.pos
	return index
}

// index reads an index that must be below n: one at or above it could mean
// something that the rewriter adds.
func (r *reader) index(what string, n uint32) uint32 {
	i := r.u32()
	r.within(what, i, n)
	return i
}

func (r *reader) within(what string, i, n uint32) {
	if i >= n && r.err == nil {
		r.malformed("%s %d of %d", what, i, n)
	}
}

func appendU32(b []byte, v uint32) []byte { return binary.AppendUvarint(b, uint64(v)) }

// appendS64 appends a signed number in its shortest form.
func appendS64(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

func appendName(b []byte, name string) []byte {
	return append(appendU32(b, uint32(len(name))), name...)
}
