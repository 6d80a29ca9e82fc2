package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

const (
	secretPrefix = "vcp_"
	secretBits   = 256
	ulidBytes    = 26

	// maxSecretBytes bounds what is hashed for a caller.
	maxSecretBytes = 512
)

// digest is the SHA-256 of a secret.
type digest [sha256.Size]byte

// digestOf hashes a secret. One that is too long to be any counts as empty, whose
// hash no key has.
func digestOf(secret string) digest {
	if len(secret) > maxSecretBytes {
		secret = ""
	}
	var stack [maxSecretBytes]byte // a conversion would allocate, for every request
	return sha256.Sum256(stack[:copy(stack[:], secret)])
}

// equal compares in constant time.
func (d *digest) equal(other *digest) bool {
	return subtle.ConstantTimeCompare(d[:], other[:]) == 1
}

// newSecret makes the secret of the key id.
func newSecret(id string) string {
	random := make([]byte, secretBits/8)
	// It ends the process itself when the system has no entropy.
	_, _ = rand.Read(random)
	return secretPrefix + strings.TrimPrefix(id, idPrefix) + "_" + base64.RawURLEncoding.EncodeToString(random)
}

// ulidOf is the ULID that a secret names its key by, unchecked; "" where the
// secret has not the form of one. It is a part of secret, not a copy.
func ulidOf(secret string) string {
	rest, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok || len(rest) <= ulidBytes || rest[ulidBytes] != '_' {
		return ""
	}
	return rest[:ulidBytes]
}
