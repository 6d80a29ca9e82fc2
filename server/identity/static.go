package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"vcphost/abi"
)

// StaticKeyID is the key id of a static key's identity.
const StaticKeyID = "key_static"

// MinStaticBytes is how long the secret of a static key is at least.
const MinStaticBytes = 32

// StaticKey is an administrator's key that whoever runs the program chose. It
// lives in memory only, does not expire and cannot be revoked. It is safe for
// concurrent use.
type StaticKey struct {
	digest   digest
	identity *Identity
}

// Static makes the key of a secret, which must have MinStaticBytes to 512
// printable ASCII characters and no space: what a header can carry and nobody
// guesses. Errors do not repeat the secret.
func Static(secret string) (*StaticKey, error) {
	if len(secret) < MinStaticBytes {
		return nil, fmt.Errorf("the secret of a static key must have at least %d characters", MinStaticBytes)
	}
	if len(secret) > maxSecretBytes {
		return nil, fmt.Errorf("the secret of a static key must have at most %d characters", maxSecretBytes)
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the secret of a static key must be printable ASCII without spaces")
	}
	return &StaticKey{digest: digestOf(secret), identity: &Identity{
		KeyID: StaticKeyID, Name: "static administrator", Scopes: Scopes{ScopeAdmin},
		Owner:     abi.Owner{Tenant: DefaultTenant, Actor: AdministratorActor},
		ActorType: abi.ActorUser, Admin: true,
	}}, nil
}

// Authenticate returns the administrator's identity if secret is the key's, else
// ErrUnknown.
func (k *StaticKey) Authenticate(_ context.Context, secret string) (*Identity, error) {
	given := digestOf(secret)
	if !k.digest.equal(&given) {
		return nil, ErrUnknown
	}
	return k.identity, nil
}

// Format keeps the hash out of everything that fmt prints: a secret that a person
// chose might be guessed from it.
func (k *StaticKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "static key") }
