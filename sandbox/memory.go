package sandbox

import "github.com/tetratelabs/wazero/experimental"

// linearMemory is the memory of one instance, bounded by the plugin's limit. It
// remembers that the guest asked for more, so that the failure which usually
// follows can be told for what it is.
type linearMemory struct {
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
	if size > m.limit {
		m.refused = max(m.refused, size)
		return nil
	}
	if size > uint64(cap(m.buffer)) {
		grown := make([]byte, size, min(max(size, 2*uint64(cap(m.buffer))), m.limit))
		copy(grown, m.buffer)
		m.buffer = grown
	}
	m.buffer = m.buffer[:size]
	return m.buffer
}

// Free lets the memory go with the instance.
func (m *linearMemory) Free() { m.buffer = nil }
