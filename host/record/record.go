package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"vcphost/abi"
	"vcphost/internal/blob"
	"vcphost/internal/ids"
	"vcphost/internal/kv"
)

// What a caller branches on.
var (
	// ErrNotFound: there is no such result, or the viewer may not read it.
	ErrNotFound = errors.New("no such result")
	// ErrExists: a result of that id was kept before; results never change.
	ErrExists = errors.New("the result was kept before")
	// ErrTooLarge: the result is longer than Options.MaxBytes.
	ErrTooLarge = errors.New("the result is too large to keep")
)

// Defaults of Options.
const (
	DefaultRetention   = 30 * 24 * time.Hour
	DefaultInlineBytes = 1 << 20
	DefaultMaxBytes    = 64 << 20
)

// Options are the settings of a store; nil means all defaults.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// IDs makes the ids of blobs; nil means a source over Now.
	IDs *ids.Source
	// Retention is how long a result is kept; zero means DefaultRetention, less
	// than zero for ever.
	Retention time.Duration
	// InlineBytes is the longest result that lies in its own row; longer ones
	// lie in a blob. Zero means DefaultInlineBytes, which is also the most.
	InlineBytes int
	// MaxBytes is the longest result that is kept at all; zero means
	// DefaultMaxBytes.
	MaxBytes int
}

// Store keeps results. It is safe for concurrent use.
type Store struct {
	db    kv.DB
	blobs *blob.Store
	opts  Options // no zero values
}

// New returns the store of the results in db. Large results that a process died
// writing are removed by whoever sweeps the blobs of db when it is opened.
func New(db kv.DB, opts *Options) (*Store, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.InlineBytes < 0 || o.InlineBytes > DefaultInlineBytes || o.MaxBytes < 0 {
		return nil, fmt.Errorf("open results: %d bytes inline and %d at most are no sizes; up to %d inline were expected", o.InlineBytes, o.MaxBytes, DefaultInlineBytes)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.IDs == nil {
		o.IDs = ids.NewSource(o.Now)
	}
	if o.Retention == 0 {
		o.Retention = DefaultRetention
	}
	if o.InlineBytes == 0 {
		o.InlineBytes = DefaultInlineBytes
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	return &Store{db: db, blobs: blob.New(db), opts: o}, nil
}

// Keep stores the whole canonical result for owner. Its errors include ErrExists
// and ErrTooLarge, and kv.ErrNoSpace for a full disk. When it returns, the result
// can be read; it is on the disk for good after the next Sync of the database.
func (s *Store) Keep(ctx context.Context, owner abi.Owner, r *abi.Result) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("keep result %s: %w", r.ID, err)
	}
	if !ids.Valid(ids.Result, r.ID) {
		return fmt.Errorf("keep result: %.64q is no id of a result", r.ID)
	}
	raw, err := abi.Encode(r)
	if err != nil {
		return fmt.Errorf("keep result %s: %w", r.ID, err)
	}
	if len(raw) > s.opts.MaxBytes {
		return fmt.Errorf("keep result %s: %w: it has %d bytes, %d are allowed", r.ID, ErrTooLarge, len(raw), s.opts.MaxBytes)
	}
	switch err := s.store(owner, r.ID, raw); {
	case errors.Is(err, kv.ErrExists):
		return fmt.Errorf("keep result %s: %w", r.ID, ErrExists)
	case err != nil:
		return fmt.Errorf("keep result %s: %w", r.ID, err)
	}
	return nil
}

func (s *Store) store(owner abi.Owner, id string, raw []byte) error {
	h := header{Version: formatVersion, Owner: owner, KeptAt: s.opts.Now().UTC(), SizeBytes: len(raw)}
	var b kv.Batch
	if len(raw) <= s.opts.InlineBytes {
		if err := h.addTo(&b, id, raw); err != nil {
			return err
		}
		return s.db.Apply(&b)
	}
	h.Blob = s.opts.IDs.New(ids.Blob)
	if err := h.addTo(&b, id, nil); err != nil {
		return err
	}
	w, err := s.blobs.Create(h.Blob)
	if err != nil {
		return err
	}
	if _, err = w.Write(raw); err == nil {
		_, err = w.Commit(&b)
	}
	if err != nil {
		return errors.Join(err, w.Abort())
	}
	return nil
}

// Get returns the result with the given id: a copy that is the caller's own. The
// error is ErrNotFound for one that is absent and one that viewer may not read.
func (s *Store) Get(ctx context.Context, viewer abi.Viewer, id string) (*abi.Result, error) {
	raw, err := s.GetRaw(ctx, viewer, id)
	if err != nil {
		return nil, err
	}
	var r abi.Result
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("read result %s: %w", id, err)
	}
	return &r, nil
}

// GetRaw returns the result as the bytes that were kept. It fails as Get does.
func (s *Store) GetRaw(ctx context.Context, viewer abi.Viewer, id string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	// An id from outside becomes part of a key only in its one valid form.
	if !ids.Valid(ids.Result, id) {
		return nil, fmt.Errorf("read result %.64q: %w", id, ErrNotFound)
	}
	raw, err := s.get(viewer, id)
	if err != nil {
		return nil, fmt.Errorf("read result %s: %w", id, err)
	}
	return raw, nil
}

func (s *Store) get(viewer abi.Viewer, id string) ([]byte, error) {
	row, err := s.db.Get(rowKey(id))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	h, raw, err := readRow(row)
	if err != nil {
		return nil, err
	}
	if !viewer.MayRead(h.Owner) {
		return nil, ErrNotFound
	}
	if h.Blob != "" {
		raw, err = s.readBlob(h)
		// Expiry may come between the row and its blob.
		if errors.Is(err, kv.ErrNotFound) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, ErrNotFound
		}
		if err != nil {
			return nil, err
		}
	}
	if len(raw) != h.SizeBytes {
		return nil, fmt.Errorf("the row promises %d bytes, and there are %d", h.SizeBytes, len(raw))
	}
	return raw, nil
}

func (s *Store) readBlob(h header) ([]byte, error) {
	r, err := s.blobs.Open(h.Blob)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	raw := bytes.NewBuffer(make([]byte, 0, r.Size()))
	_, err = r.WriteTo(raw)
	return raw.Bytes(), err
}
