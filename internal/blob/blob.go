// Package blob keeps large values in a kv.DB in chunks, so that they are written
// and read as streams and never lie in memory whole. The bytes of resources and
// the data of large results are blobs.
//
// A blob is there whole or not at all: it can be opened only after Commit, which
// writes its head together with whatever else must appear at the same moment.
// What a process that died left half written is removed by Sweep.
//
// # Keys
//
//	blob/<id>              head: {"v":1,"sizeBytes":…,"chunks":…}
//	blob/<id>/<uint32>     chunk, index big-endian; each but the last has ChunkBytes
//	blobpending/<id>       {"v":1}, there from before the first chunk that is
//	                       applied without the head, until the head is applied
//
// A chunk is bare bytes; the head's version covers it. A reader refuses a version
// that it does not know; a new form of head or chunk gets the next number, and
// the old one stays readable. Chunks are removed from the last to the first, so
// that those left are always 0…n-1 and can be found without a scan.
package blob

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"vcphost/internal/kv"
)

// ChunkBytes is the size of every chunk but the last of a blob. Smaller ones would
// lie in Badger's tables and memory, larger ones make batches too large.
const ChunkBytes = 1 << 20

const (
	formatVersion = 1
	maxIDBytes    = 128
	// maxDeletes is how many chunks one batch removes; it leaves room for what the
	// caller of Delete has in the same batch.
	maxDeletes = kv.MaxBatchEntries / 2
)

// Store keeps blobs in a DB. It is safe for concurrent use, and needs no closing.
type Store struct {
	db kv.DB
	// buffers holds *[ChunkBytes]byte.
	buffers sync.Pool
}

// New returns the store of the blobs in db.
func New(db kv.DB) *Store {
	return &Store{db: db, buffers: sync.Pool{New: func() any { return new([ChunkBytes]byte) }}}
}

// head is the record that makes a blob visible.
type head struct {
	V         int    `json:"v"`
	SizeBytes int64  `json:"sizeBytes"`
	Chunks    uint32 `json:"chunks"`
}

// pending is the record of a blob that has chunks and no head.
type pending struct {
	V int `json:"v"`
}

func headKey(id string) []byte    { return []byte("blob/" + id) }
func pendingKey(id string) []byte { return []byte(pendingPrefix + id) }

const pendingPrefix = "blobpending/"

func chunkKey(id string, index uint32) []byte {
	key := make([]byte, 0, len("blob/")+len(id)+1+4)
	key = append(append(append(key, "blob/"...), id...), '/')
	return binary.BigEndian.AppendUint32(key, index)
}

// checkID keeps an id from reaching into other keys.
func checkID(id string) error {
	if id == "" || len(id) > maxIDBytes {
		return fmt.Errorf("a blob id has 1 to %d bytes, not %d", maxIDBytes, len(id))
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c >= 0x7f || c == '/' {
			return fmt.Errorf("the blob id %q holds a character that is not allowed", id)
		}
	}
	return nil
}

func encode(record any) []byte {
	raw, err := json.Marshal(record)
	if err != nil {
		panic("blob: a record cannot be marshalled: " + err.Error())
	}
	return raw
}

// head reads the head of a blob; kv.ErrNotFound if there is none.
func (s *Store) head(id string) (head, error) {
	var h head
	raw, err := s.db.Get(headKey(id))
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(raw, &h); err != nil {
		return h, fmt.Errorf("decode the head of blob %s: %w", id, err)
	}
	if h.V != formatVersion {
		return h, fmt.Errorf("blob %s has format version %d; this program knows %d", id, h.V, formatVersion)
	}
	if h.SizeBytes < 0 || int64(h.Chunks) != (h.SizeBytes+ChunkBytes-1)/ChunkBytes {
		return h, fmt.Errorf("the head of blob %s is damaged: %d bytes in %d chunks", id, h.SizeBytes, h.Chunks)
	}
	return h, nil
}

// Has reports whether the blob was committed and not deleted.
func (s *Store) Has(id string) (bool, error) {
	if checkID(id) != nil {
		return false, nil
	}
	has, err := s.db.Has(headKey(id))
	if err != nil {
		return false, fmt.Errorf("look for blob %s: %w", id, err)
	}
	return has, nil
}

// Create begins a blob with the given id, which must be new: if there is a blob,
// or the beginning of one, the error is fs.ErrExist. The caller ends the writer
// with Commit or Abort.
func (s *Store) Create(id string) (*Writer, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	for _, key := range [][]byte{headKey(id), pendingKey(id)} {
		has, err := s.db.Has(key)
		if err == nil && has {
			err = fs.ErrExist
		}
		if err != nil {
			return nil, fmt.Errorf("create blob %s: %w", id, err)
		}
	}
	return &Writer{store: s, id: id}, nil
}

// Open returns a reader of the blob, at its beginning; the caller closes it. The
// error is kv.ErrNotFound if there is no such blob.
func (s *Store) Open(id string) (*Reader, error) {
	if checkID(id) != nil {
		return nil, fmt.Errorf("open blob %.40q: %w", id, kv.ErrNotFound)
	}
	h, err := s.head(id)
	if err != nil {
		return nil, fmt.Errorf("open blob %s: %w", id, err)
	}
	return &Reader{store: s, id: id, size: h.SizeBytes}, nil
}

// Delete removes a blob; that there is none is no error. With a batch it adds the
// removal to it, so that the blob goes in the moment in which the batch is
// applied; of a blob too large for that, the chunks stay until the next Sweep.
// Without a batch it removes everything itself. Readers of the blob fail from
// then on.
func (s *Store) Delete(id string, b *kv.Batch) error {
	if checkID(id) != nil {
		return nil
	}
	h, err := s.head(id)
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete blob %s: %w", id, err)
	}
	own := b == nil
	if own {
		b = new(kv.Batch)
	}
	b.Delete(headKey(id))
	whole := h.Chunks <= maxDeletes
	if whole {
		deleteChunks(b, id, 0, h.Chunks)
	} else {
		b.Set(pendingKey(id), encode(pending{V: formatVersion}))
	}
	if !own {
		return nil
	}
	err = s.db.Apply(b)
	if err == nil && !whole {
		err = s.discard(id, h.Chunks)
	}
	if err != nil {
		return fmt.Errorf("delete blob %s: %w", id, err)
	}
	return nil
}

// Sweep removes the blobs that have no head: those that a dead process did not
// finish writing or deleting. It returns how many there were. The owner of the
// data directory calls it once after opening, before the first Create.
func (s *Store) Sweep() (int, error) {
	var found []string
	err := s.db.Scan([]byte(pendingPrefix), func(key, _ []byte) bool {
		found = append(found, string(key[len(pendingPrefix):]))
		return true
	})
	if err != nil {
		return 0, fmt.Errorf("sweep blobs: %w", err)
	}
	for n, id := range found {
		chunks := uint32(0)
		for {
			has, err := s.db.Has(chunkKey(id, chunks))
			if err != nil {
				return n, fmt.Errorf("sweep blob %s: %w", id, err)
			}
			if !has {
				break
			}
			chunks++
		}
		if err := s.discard(id, chunks); err != nil {
			return n, fmt.Errorf("sweep blob %s: %w", id, err)
		}
	}
	return len(found), nil
}

// discard removes the given number of chunks, then the pending marker, in as many
// batches as it takes.
func (s *Store) discard(id string, chunks uint32) error {
	for {
		var b kv.Batch
		from := uint32(0)
		if chunks > maxDeletes {
			from = chunks - maxDeletes
		}
		deleteChunks(&b, id, from, chunks)
		if from == 0 {
			b.Delete(pendingKey(id))
			return s.db.Apply(&b)
		}
		if err := s.db.Apply(&b); err != nil {
			return err
		}
		chunks = from
	}
}

func deleteChunks(b *kv.Batch, id string, from, to uint32) {
	for i := from; i < to; i++ {
		b.Delete(chunkKey(id, i))
	}
}

func (s *Store) buffer() *[ChunkBytes]byte { return s.buffers.Get().(*[ChunkBytes]byte) }
