// Package lockbuf has a buffer that is read while others write to it: the output
// of a process, or the log of a server, as tests look at it.
package lockbuf

import (
	"bytes"
	"sync"
)

// Buffer keeps what is written to it. It is safe for concurrent use; the zero
// value is empty. Do not copy one.
type Buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements [io.Writer]. It does not fail.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

// String gives what was written until now.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}
