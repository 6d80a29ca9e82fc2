package blob

import (
	"fmt"
	"io/fs"
	"math"

	"vcphost/internal/kv"
)

// Writer writes one blob. It holds at most one chunk in memory. It is not safe
// for concurrent use.
type Writer struct {
	store *Store
	id    string

	buffer *[ChunkBytes]byte // nil before the first byte and after the end
	used   int               // bytes of buffer that are not applied yet
	chunks uint32            // chunks that are applied
	ended  bool
	err    error // the first failure, which every later Write and Commit returns
}

// Size returns how many bytes were written so far.
func (w *Writer) Size() int64 { return int64(w.chunks)*ChunkBytes + int64(w.used) }

// Write adds p to the blob. After a failure the blob cannot be committed any more.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	written := 0
	for len(p) > 0 {
		if w.buffer == nil {
			w.buffer = w.store.buffer()
		}
		if w.used == ChunkBytes {
			if err := w.flush(); err != nil {
				return written, err
			}
		}
		n := copy(w.buffer[w.used:], p)
		w.used += n
		written += n
		p = p[n:]
	}
	return written, nil
}

func (w *Writer) usable() error {
	if w.ended {
		return fmt.Errorf("write blob %s: %w", w.id, fs.ErrClosed)
	}
	return w.err
}

// flush applies the buffer as the next chunk, the first one with the marker that
// lets Sweep find it.
func (w *Writer) flush() error {
	var b kv.Batch
	if w.chunks == 0 {
		b.Set(pendingKey(w.id), encode(pending{V: formatVersion}))
	}
	if w.chunks == math.MaxUint32 {
		return w.fail(fmt.Errorf("more than %d chunks", uint32(math.MaxUint32)))
	}
	b.Set(chunkKey(w.id, w.chunks), w.buffer[:w.used])
	if err := w.store.db.Apply(&b); err != nil {
		return w.fail(err)
	}
	w.chunks++
	w.used = 0
	return nil
}

func (w *Writer) fail(err error) error {
	w.err = fmt.Errorf("write blob %s: %w", w.id, err)
	return w.err
}

// Commit makes the blob visible and returns its size in bytes. The last chunk,
// the head and the changes in extra, which may be nil, are applied as one batch,
// which must be within the limits of kv: extra may have some 3 MiB. It does not
// sync. After a failure the writer is still to be aborted.
func (w *Writer) Commit(extra *kv.Batch) (size int64, err error) {
	if err := w.usable(); err != nil {
		return 0, err
	}
	size = w.Size()
	h := head{V: formatVersion, SizeBytes: size, Chunks: w.chunks}
	var b kv.Batch
	if w.used > 0 {
		b.Set(chunkKey(w.id, w.chunks), w.buffer[:w.used])
		h.Chunks++
	}
	if w.chunks > 0 {
		b.Delete(pendingKey(w.id))
	}
	b.Set(headKey(w.id), encode(h))
	b.Append(extra)
	if err := w.store.db.Apply(&b); err != nil {
		return 0, w.fail(err)
	}
	w.end()
	return size, nil
}

// Abort removes everything that was written. It does nothing after Commit or a
// second time; if it fails, it may be tried again, and Sweep does its work later.
func (w *Writer) Abort() error {
	if w.ended {
		return nil
	}
	if w.chunks > 0 || w.err != nil {
		if err := w.store.discard(w.id, w.chunks); err != nil {
			return fmt.Errorf("abort blob %s: %w", w.id, err)
		}
	}
	w.end()
	return nil
}

func (w *Writer) end() {
	w.ended = true
	if w.buffer != nil {
		w.store.buffers.Put(w.buffer)
		w.buffer = nil
	}
}
