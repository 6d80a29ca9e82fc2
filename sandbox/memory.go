package sandbox

import (
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

// maxPooledBytes bounds one buffer that waits for its next instance.
const maxPooledBytes = 4 << 20

// memoryPool keeps the memory of finished instances, zeroed, for the next ones:
// most guests are small, and a fresh buffer a call is what the garbage collector
// would mostly be busy with.
type memoryPool struct{ buffers sync.Pool }

// get gives a zeroed buffer of size bytes whose capacity is at most limit.
func (p *memoryPool) get(size, limit uint64) []byte {
	if kept, ok := p.buffers.Get().(*[]byte); ok {
		if have := uint64(cap(*kept)); have >= size && have <= limit {
			return (*kept)[:size]
		}
	}
	return make([]byte, size)
}

// put takes a buffer that no instance uses any more. Only its length was ever
// written to.
func (p *memoryPool) put(buffer []byte) {
	if cap(buffer) == 0 || cap(buffer) > maxPooledBytes {
		return
	}
	clear(buffer)
	buffer = buffer[:0]
	p.buffers.Put(&buffer)
}

// linearMemory is the memory of one instance, bounded by the plugin's limit. It
// remembers that the guest asked for more, so that the failure which usually
// follows can be told for what it is.
type linearMemory struct {
	pool    *memoryPool
	limit   uint64 // bytes
	buffer  []byte
	refused uint64 // the largest size in bytes that was asked for and not given
}

var _ experimental.MemoryAllocator = (*linearMemory)(nil)

// Allocate begins the memory; the engine asks for the first size through
// Reallocate.
func (m *linearMemory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate grows the memory to size bytes, or refuses with nil what is over
// the limit. Capacity doubles, so that a guest that grows page by page is not
// copied each time.
func (m *linearMemory) Reallocate(size uint64) []byte {
	switch {
	case size > m.limit:
		m.refused = max(m.refused, size)
		return nil
	case m.buffer == nil:
		m.buffer = m.pool.get(size, m.limit)
	case size > uint64(cap(m.buffer)):
		grown := m.pool.get(min(max(size, 2*uint64(cap(m.buffer))), m.limit), m.limit)[:size]
		copy(grown, m.buffer)
		m.pool.put(m.buffer)
		m.buffer = grown
	}
	m.buffer = m.buffer[:size]
	return m.buffer
}

// Free gives the memory back when the instance is closed.
func (m *linearMemory) Free() {
	m.pool.put(m.buffer)
	m.buffer = nil
}
