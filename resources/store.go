package resources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"vcphost/abi"
	"vcphost/internal/blob"
	"vcphost/internal/ids"
	"vcphost/internal/kv"
)

// Options are the settings of a store; nil means all defaults.
type Options struct {
	// Now gives the time of new descriptors; nil means time.Now.
	Now func() time.Time
	// IDs makes resource and blob ids; nil means a source over Now.
	IDs *ids.Source
	// BaseURL is the URL below which a server serves resources by id, such as
	// "https://vcp.example/v1/resources". Empty means that nothing serves them:
	// descriptors then have no URL.
	BaseURL string
	// Logger is told of bytes that could not be deleted; nil means silence.
	Logger *slog.Logger
}

// Store keeps resources in a database. It is safe for concurrent use.
type Store struct {
	db      kv.DB
	blobs   *blob.Store
	now     func() time.Time
	ids     *ids.Source
	baseURL string
	log     *slog.Logger
	content contentLocks
}

// Open returns the store of a database and deletes the bytes that a process
// which died left without an owner, those of other packages' unfinished blobs
// included. It must therefore run before anything else writes blobs to the
// database, and one process at a time may have the database open.
func Open(db kv.DB, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Store{
		db: db, blobs: blob.New(db), now: opts.Now, ids: opts.IDs,
		baseURL: strings.TrimRight(opts.BaseURL, "/"), log: opts.Logger,
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.ids == nil {
		s.ids = ids.NewSource(s.now)
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.sweep(); err != nil {
		return nil, fmt.Errorf("open resources: %w", err)
	}
	return s, nil
}

// sweep deletes incomplete blobs, and complete ones that were never published.
func (s *Store) sweep() error {
	if _, err := s.blobs.Sweep(); err != nil {
		return fmt.Errorf("sweep unfinished blobs: %w", err)
	}
	var abandoned []string
	err := s.db.Scan([]byte(prefixPending), func(key, _ []byte) bool {
		abandoned = append(abandoned, strings.TrimPrefix(string(key), prefixPending))
		return true
	})
	if err != nil {
		return fmt.Errorf("find unpublished blobs: %w", err)
	}
	for _, blobID := range abandoned {
		if err := s.deletePending(blobID); err != nil {
			return err
		}
	}
	return nil
}

// deletePending deletes a complete blob that no published resource owns.
func (s *Store) deletePending(blobID string) error {
	var b kv.Batch
	if err := s.blobs.Delete(blobID, &b); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return fmt.Errorf("delete blob %s: %w", blobID, err)
	}
	b.Delete(pendingKey(blobID))
	if err := s.db.Apply(&b); err != nil {
		return fmt.Errorf("delete blob %s: %w", blobID, err)
	}
	return nil
}

// Describe returns the descriptor of a resource, or an *abi.Error:
// FILE_NOT_FOUND for one that is absent or that viewer may not read.
func (s *Store) Describe(ctx context.Context, viewer abi.Viewer, id string) (abi.Resource, error) {
	r, err := s.read(ctx, viewer, id)
	if err != nil {
		return abi.Resource{}, err
	}
	return r.Resource, nil
}

// OpenReader opens the bytes of a resource; it fails as [Store.Describe] does.
// The caller closes the reader.
func (s *Store) OpenReader(ctx context.Context, viewer abi.Viewer, id string) (*Reader, error) {
	r, err := s.read(ctx, viewer, id)
	if err != nil {
		return nil, err
	}
	return s.openRecord(r)
}

func (s *Store) openRecord(r *record) (*Reader, error) {
	bytes, err := s.blobs.Open(r.Blob)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, notFound(r.Resource.ID).WithCause(err)
	}
	if err != nil {
		return nil, storeError("open resource "+r.Resource.ID, err)
	}
	return &Reader{bytes: bytes, resource: r.Resource}, nil
}

// Sync returns when everything that was published before is on the disk.
func (s *Store) Sync() error {
	if err := s.db.Sync(); err != nil {
		return storeError("store resources", err)
	}
	return nil
}

// read is the one place that reads a resource for somebody.
func (s *Store) read(ctx context.Context, viewer abi.Viewer, id string) (*record, error) {
	if err := ctx.Err(); err != nil {
		return nil, storeError("read resource", err)
	}
	// An id from outside becomes part of a key only in its one valid form.
	if !ids.Valid(ids.Resource, id) {
		return nil, notFound(id)
	}
	raw, err := s.db.Get(descriptorKey(id))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, notFound(id)
	}
	if err != nil {
		return nil, storeError("read resource "+id, err)
	}
	r, err := decodeRecord(id, raw)
	if err != nil {
		return nil, storeError("read resource "+id, err)
	}
	if !viewer.MayRead(r.Owner) {
		return nil, notFound(id)
	}
	s.addURL(&r.Resource)
	return r, nil
}

func (s *Store) addURL(r *abi.Resource) {
	if s.baseURL == "" {
		return
	}
	url := s.baseURL + "/" + r.ID
	r.URL = &url
	r.Access = &abi.ResourceAccess{Type: abi.AccessManaged, RequiresAuth: true}
}

// Reader reads the bytes of one resource. Reading at an offset (ReadAt, or an
// [io.SectionReader] over it) is safe for concurrent use, the rest is not.
type Reader struct {
	bytes    *blob.Reader
	resource abi.Resource
}

// Resource is the descriptor of what is read.
func (r *Reader) Resource() abi.Resource { return r.resource }

// Size is the length of the whole resource in bytes.
func (r *Reader) Size() int64 { return r.bytes.Size() }

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) { return r.bytes.Read(p) }

// WriteTo implements [io.WriterTo]: it writes what is left, a chunk at a time.
func (r *Reader) WriteTo(w io.Writer) (int64, error) { return r.bytes.WriteTo(w) }

// WriteNext writes the next n bytes, a chunk at a time. The error is
// [io.ErrUnexpectedEOF] if there are fewer.
func (r *Reader) WriteNext(w io.Writer, n int64) (int64, error) { return r.bytes.WriteNext(w, n) }

// ReadAt implements [io.ReaderAt].
func (r *Reader) ReadAt(p []byte, off int64) (int, error) { return r.bytes.ReadAt(p, off) }

// Seek implements [io.Seeker].
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	return r.bytes.Seek(offset, whence)
}

// Close ends the reading.
func (r *Reader) Close() error { return r.bytes.Close() }

var (
	_ io.ReadSeekCloser  = (*Reader)(nil)
	_ io.ReaderAt        = (*Reader)(nil)
	_ abi.ResourceStream = (*Reader)(nil)
)
