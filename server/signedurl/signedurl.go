// Package signedurl signs the ids of resources for a time, so that a URL with
// the signature opens one resource to whoever has it, without a key, until it
// expires.
//
// # Promises
//
// A signature says that whoever made it could open the resource; it holds for
// one id and one moment of expiry, and cannot be made without the data
// directory's key. Comparing takes the same time wherever two signatures differ.
// There is no list of signatures: one cannot be taken back before it expires.
//
// # Key schema
//
//	signedurl/key   {"v":1,"key":"<base64, 32 bytes>"}, made at the first Open
//
// # Wire form
//
// The signature is the HMAC-SHA256 of
//
//	vcphost.resource-url.1 LF <id> LF <expiry, Unix seconds, decimal>
//
// in unpadded base64url, and stands in the query beside the expiry:
// ?expires=<seconds>&signature=<signature>.
package signedurl

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"vcphost/internal/kv"
)

// Names of the parameters in the query of a signed URL.
const (
	ExpiresParameter   = "expires"
	SignatureParameter = "signature"
)

const (
	keyBytes   = 32
	rowVersion = 1
	keyRow     = "signedurl/key"
	domain     = "vcphost.resource-url.1"
	// maxExpiryDigits bounds what Verify reads; 11 digits of seconds end in the
	// year 5138.
	maxExpiryDigits = 11
)

// Signer makes and checks signatures. It is safe for concurrent use.
type Signer struct{ key []byte }

// row is the stored key.
type row struct {
	Version int    `json:"v"`
	Key     []byte `json:"key"`
}

// Open gives the signer of a database, whose key the first Open makes. The owner
// of the data directory calls it, from one goroutine.
func Open(db kv.DB) (*Signer, error) {
	raw, err := db.Get([]byte(keyRow))
	if errors.Is(err, kv.ErrNotFound) {
		return create(db)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key of signed URLs: %w", err)
	}
	var stored row
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, errors.New("the key of signed URLs is damaged") // the cause may quote it
	}
	if stored.Version != rowVersion || len(stored.Key) != keyBytes {
		return nil, fmt.Errorf("the key of signed URLs has format version %d and %d bytes; version %d with %d is known",
			stored.Version, len(stored.Key), rowVersion, keyBytes)
	}
	return &Signer{stored.Key}, nil
}

func create(db kv.DB) (*Signer, error) {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails
	raw, err := json.Marshal(row{rowVersion, key})
	if err != nil {
		return nil, fmt.Errorf("encode the key of signed URLs: %w", err)
	}
	var batch kv.Batch
	batch.Set([]byte(keyRow), raw)
	if err := db.Apply(&batch); err != nil {
		return nil, fmt.Errorf("store the key of signed URLs: %w", err)
	}
	if err := db.Sync(); err != nil {
		return nil, fmt.Errorf("store the key of signed URLs: %w", err)
	}
	return &Signer{key}, nil
}

// Query gives the query, without "?", that opens the resource until expires,
// which counts in whole seconds.
func (s *Signer) Query(id string, expires time.Time) string {
	seconds := strconv.FormatInt(expires.Unix(), 10)
	return url.Values{
		ExpiresParameter:   {seconds},
		SignatureParameter: {base64.RawURLEncoding.EncodeToString(s.sign(id, seconds))},
	}.Encode()
}

// Verify reports whether the two parameters open the resource at a moment, and
// until when.
func (s *Signer) Verify(id, expires, signature string, now time.Time) (until time.Time, ok bool) {
	given, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || len(expires) > maxExpiryDigits || !hmac.Equal(given, s.sign(id, expires)) {
		return time.Time{}, false
	}
	// Only what Query made has a signature, so only its form gets here.
	seconds, err := strconv.ParseInt(expires, 10, 64)
	until = time.Unix(seconds, 0)
	return until, err == nil && now.Before(until)
}

func (s *Signer) sign(id, expires string) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(domain + "\n" + id + "\n" + expires))
	return mac.Sum(nil)
}
