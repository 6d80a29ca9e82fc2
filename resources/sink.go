package resources

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync"

	"vcphost/abi"
	"vcphost/internal/blob"
	"vcphost/internal/kv"
)

// facts are what the bytes themselves tell.
type facts struct {
	size       int64
	sha256     string
	found      sniffed
	dimensions *abi.Dimensions
}

// sink takes the bytes of one output. A plugin uses it from one goroutine; the
// lock is for the end of the session, which may come in the middle of a write.
// Lock order: sink.mu before Session.mu.
type sink struct {
	session *Session
	out     *output

	mu     sync.Mutex
	blob   *blob.Writer
	hash   hash.Hash
	prefix []byte // the first sniffBytes
	size   int64
	closed bool
	err    error // why the sink takes nothing more
}

func newSink(c *Session, out *output, w *blob.Writer) *sink {
	return &sink{session: c, out: out, blob: w, hash: sha256.New()}
}

// Write appends all of p or, on an error, nothing that will ever be read: a
// sink that failed once stays failed and cannot be closed with success.
func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	if s.closed {
		return 0, badDraft("", "resource %q is written after it was closed", s.out.draft.ID)
	}
	if err := s.session.count(len(p)); err != nil {
		return 0, err
	}
	if _, err := s.blob.Write(p); err != nil {
		return 0, s.fail(storeError("write resource", err))
	}
	s.hash.Write(p)
	s.size += int64(len(p))
	if room := sniffBytes - len(s.prefix); room > 0 {
		s.prefix = append(s.prefix, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// Close finishes the resource. Closing once more gives the first answer again.
func (s *sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.err != nil {
		return s.err
	}
	// A call over its limits must not leave a cut-off resource that looks whole.
	if err := s.session.count(0); err != nil {
		return s.fail(err)
	}
	s.closed = true
	var pending kv.Batch
	pending.Set(pendingKey(s.out.blobID), nil)
	if _, err := s.blob.Commit(&pending); err != nil {
		return s.fail(storeError("close resource", err))
	}
	if err := s.session.finish(s.out, s.gather()); err != nil {
		s.err = err
		s.session.store.deleteLogged(s.out.blobID)
	}
	s.prefix = nil
	return s.err
}

func (s *sink) gather() *facts {
	found := &facts{size: s.size, sha256: hex.EncodeToString(s.hash.Sum(nil)), found: sniff(s.prefix)}
	if !hasDimensions(found.found.mime) {
		return found
	}
	found.dimensions = dimensionsOf(found.found.mime, bytes.NewReader(s.prefix))
	if found.dimensions == nil && s.size > int64(len(s.prefix)) {
		found.dimensions = s.session.store.storedDimensions(s.out.blobID, found.found.mime)
	}
	return found
}

// storedDimensions reads the header of a stored image that is longer than what
// was kept for sniffing.
func (s *Store) storedDimensions(blobID, mime string) *abi.Dimensions {
	r, err := s.blobs.Open(blobID)
	if err != nil {
		s.log.Warn("read image header", "blob", blobID, "error", err)
		return nil
	}
	defer r.Close()
	return dimensionsOf(mime, io.NewSectionReader(r, 0, maxHeaderBytes))
}

// abort ends the sink if it is still open, deleting its bytes.
func (s *sink) abort(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.err == nil {
		_ = s.fail(reason)
	}
}

// fail makes err the answer to everything from now on; s.mu is held.
func (s *sink) fail(err error) error {
	s.err = err
	if abortErr := s.blob.Abort(); abortErr != nil {
		s.session.store.log.Warn("abort blob", "blob", s.out.blobID, "error", abortErr)
	}
	s.prefix = nil
	return s.err
}
