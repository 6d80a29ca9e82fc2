// Package ids makes and checks the identifiers of the protocol: a short prefix
// that names the kind of object, then a ULID in its canonical 26 upper-case
// characters, for example res_01JDZ3V7Q8K5M2N4P6R8T0W2Y4.
//
// The 80 random bits of every identifier come from crypto/rand, so that the id
// of a task or a blob cannot be guessed from another one. The first 48 bits are
// the time in milliseconds, so identifiers of one kind sort roughly by age; two
// made in the same millisecond sort in no particular order.
package ids

import (
	"bufio"
	"crypto/rand"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Prefixes of the identifiers that the protocol knows.
const (
	Result     = "tr_"
	Invocation = "ti_"
	Request    = "req_"
	Record     = "tcr_"
	Resource   = "res_"
	Task       = "task_"
	Blob       = "blob_"
)

// entropyBufferBytes is what one read of the operating system's generator
// brings: enough for some fifty identifiers.
const entropyBufferBytes = 512

// Source makes identifiers. It is safe for concurrent use.
type Source struct {
	now func() time.Time

	mu      sync.Mutex
	entropy io.Reader
}

// NewSource returns a source that takes the time of its identifiers from now;
// nil means time.Now.
func NewSource(now func() time.Time) *Source {
	if now == nil {
		now = time.Now
	}
	return &Source{now: now, entropy: bufio.NewReaderSize(rand.Reader, entropyBufferBytes)}
}

// New returns a new identifier: prefix followed by a ULID. A time before 1970
// or after the year 10889, which a ULID cannot hold, counts as 1970.
func (s *Source) New(prefix string) string {
	at := s.now()
	var id ulid.ULID
	if at.UnixMilli() >= 0 {
		// SetTime fails only beyond ulid.MaxTime, and then leaves zero.
		_ = id.SetTime(uint64(at.UnixMilli()))
	}

	s.mu.Lock()
	_, err := io.ReadFull(s.entropy, id[6:])
	s.mu.Unlock()
	if err != nil {
		// crypto/rand ends the process itself when the system has no entropy.
		panic("ids: crypto/rand failed: " + err.Error())
	}
	return prefix + id.String()
}

// Valid reports whether id is prefix followed by a ULID in canonical form: 26
// upper-case characters of Crockford's base 32, at most 7ZZZ….
func Valid(prefix, id string) bool {
	text, ok := strings.CutPrefix(id, prefix)
	if !ok || len(text) != ulid.EncodedSize {
		return false
	}
	parsed, err := ulid.ParseStrict(text)
	// The parser also takes lower case, which would give one object two names.
	return err == nil && parsed.String() == text
}
