package blob

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"vcphost/internal/kv"
)

// Reader reads one blob, as an io.ReaderAt, io.ReadSeekCloser and io.WriterTo. It
// holds at most one chunk in memory. ReadAt and Size are safe for concurrent use;
// the other methods share a position and are not. Reads fail with
// io.ErrUnexpectedEOF if the blob is deleted meanwhile.
type Reader struct {
	store *Store
	id    string
	size  int64

	at     int64 // position of Read
	closed bool
	buffer *[ChunkBytes]byte // a copy of one chunk; nil: none yet
	held   int64             // index of the chunk in buffer
	length int               // length of the chunk in buffer
}

// Size returns the length of the blob in bytes.
func (r *Reader) Size() int64 { return r.size }

// ReadAt implements io.ReaderAt.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read blob %s: negative offset %d", r.id, off)
	}
	read := 0
	for read < len(p) {
		if off >= r.size {
			return read, io.EOF
		}
		n := 0
		err := r.view(off/ChunkBytes, func(chunk []byte) {
			n = copy(p[read:], chunk[off%ChunkBytes:])
		})
		if err != nil {
			return read, err
		}
		read += n
		off += int64(n)
	}
	return read, nil
}

// view calls read with a chunk, whose length is what the head promises.
func (r *Reader) view(index int64, read func(chunk []byte)) error {
	want := min(r.size-index*ChunkBytes, ChunkBytes)
	err := r.store.db.View(chunkKey(r.id, uint32(index)), func(chunk []byte) error {
		if int64(len(chunk)) != want {
			return fmt.Errorf("%w: it has %d bytes, not %d", io.ErrUnexpectedEOF, len(chunk), want)
		}
		read(chunk)
		return nil
	})
	if errors.Is(err, kv.ErrNotFound) {
		// Not that: the blob as such was found, and the caller may tell by it.
		err = fmt.Errorf("%w: it is gone", io.ErrUnexpectedEOF)
	}
	if err != nil {
		return fmt.Errorf("read chunk %d of blob %s: %w", index, r.id, err)
	}
	return nil
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 && !r.closed {
		return 0, nil
	}
	rest, err := r.ahead()
	if err != nil {
		return 0, err
	}
	n := copy(p, rest)
	r.at += int64(n)
	return n, nil
}

// WriteTo implements io.WriterTo: it writes what is left, a chunk at a time.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	written, err := r.writeNext(w, math.MaxInt64)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return written, err
}

// WriteNext writes the next n bytes, a chunk at a time. The error is
// io.ErrUnexpectedEOF if there are fewer.
func (r *Reader) WriteNext(w io.Writer, n int64) (int64, error) {
	written, err := r.writeNext(w, n)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("read blob %s: %w", r.id, io.ErrUnexpectedEOF)
	}
	return written, err
}

func (r *Reader) writeNext(w io.Writer, left int64) (total int64, err error) {
	for total < left {
		rest, err := r.ahead()
		if err != nil {
			return total, err
		}
		n, err := w.Write(rest[:min(int64(len(rest)), left-total)])
		r.at += int64(n)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// ahead returns the rest of the chunk at the position, io.EOF at the end. The
// chunk is copied once, so that neither small reads nor a slow writer keep the
// store's own memory in use.
func (r *Reader) ahead() ([]byte, error) {
	if r.closed {
		return nil, fmt.Errorf("read blob %s: %w", r.id, fs.ErrClosed)
	}
	if r.at >= r.size {
		return nil, io.EOF
	}
	index := r.at / ChunkBytes
	if r.buffer == nil || r.held != index {
		if r.buffer == nil {
			r.buffer = r.store.buffer()
		}
		r.held = -1
		if err := r.view(index, func(chunk []byte) { r.length = copy(r.buffer[:], chunk) }); err != nil {
			return nil, err
		}
		r.held = index
	}
	return r.buffer[r.at%ChunkBytes : r.length], nil
}

// Seek implements io.Seeker. A position after the end is allowed and reads io.EOF.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	default:
		return 0, fmt.Errorf("seek in blob %s: whence %d", r.id, whence)
	}
	if offset < 0 {
		return 0, fmt.Errorf("seek in blob %s: negative position", r.id)
	}
	r.at = offset
	return offset, nil
}

// Close gives the reader's memory back; ReadAt stays usable. Closing twice is
// fine.
func (r *Reader) Close() error {
	r.closed = true
	if r.buffer != nil {
		r.store.buffers.Put(r.buffer)
		r.buffer = nil
	}
	return nil
}
