package identity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"vcphost/abi"
	"vcphost/internal/ids"
)

// Limits of keys.
const (
	// MaxKeys is how many keys a store has, revoked and expired ones included.
	MaxKeys = 10_000
	// MaxScopes is how many scopes a key has.
	MaxScopes = 64
	// MaxNameRunes is the length of a name, a tenant or an actor.
	MaxNameRunes = 100
)

// DefaultTenant is the tenant of keys that name none.
const DefaultTenant = "default"

// AdministratorActor is the actor of the first key and of the static one.
const AdministratorActor = "administrator"

// idPrefix begins the id of a key; a ULID follows.
const idPrefix = "key_"

// KeySpec is what a new key is to be.
type KeySpec struct {
	// Name tells people what the key is for: 1 to MaxNameRunes printable
	// characters. Names need not differ.
	Name string `json:"name"`
	// Scopes are what the key may do: 1 to MaxScopes.
	Scopes Scopes `json:"scopes"`
	// Tenant and Actor are the owner of all that is made with the key. An empty
	// tenant is DefaultTenant; an empty actor is the id of the key, so that keys
	// share objects only where they were told to.
	Tenant string `json:"tenant"`
	Actor  string `json:"actor"`
	// ActorType is the sort of the actor; empty is abi.ActorUser.
	ActorType abi.ActorType `json:"actorType"`
	// ExpiresAt is from when on the key is refused; zero is never.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
}

// Key describes a key, without anything that could be used in its place. Times
// are in UTC and whole milliseconds; a zero time means that it is not so.
type Key struct {
	ID        string        `json:"id"` // "key_" and a ULID
	Name      string        `json:"name"`
	Scopes    Scopes        `json:"scopes"`
	Owner     abi.Owner     `json:"owner"`
	ActorType abi.ActorType `json:"actorType"`
	CreatedAt time.Time     `json:"createdAt"`
	ExpiresAt time.Time     `json:"expiresAt,omitzero"`
	RevokedAt time.Time     `json:"revokedAt,omitzero"`
	// LastUsedAt is the minute of the last successful check. What was not saved by
	// Store.Flush is lost with the process.
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`
}

// Usable tells why the key is refused at a time: it returns ErrRevoked,
// ErrExpired or nil.
func (k *Key) Usable(at time.Time) error {
	switch {
	case !k.RevokedAt.IsZero():
		return ErrRevoked
	case !k.ExpiresAt.IsZero() && !at.Before(k.ExpiresAt):
		return ErrExpired
	}
	return nil
}

// key makes the description of the key that spec asks for, or an ErrInvalid
// that names everything wrong with it.
func (spec *KeySpec) key(id string, now time.Time) (Key, error) {
	k := Key{
		ID: id, Name: spec.Name, ActorType: spec.ActorType,
		Owner:     abi.Owner{Tenant: spec.Tenant, Actor: spec.Actor},
		CreatedAt: stamp(now), ExpiresAt: stamp(spec.ExpiresAt),
	}
	if k.Owner.Tenant == "" {
		k.Owner.Tenant = DefaultTenant
	}
	if k.Owner.Actor == "" {
		k.Owner.Actor = id
	}
	if k.ActorType == "" {
		k.ActorType = abi.ActorUser
	}
	scopes, wrong := checkScopes(spec.Scopes)
	k.Scopes = scopes
	wrong = append(wrong, k.faults(now)...)
	if len(wrong) > 0 {
		return Key{}, fmt.Errorf("%w: %w", ErrInvalid, errors.Join(wrong...))
	}
	return k, nil
}

// faults lists what is wrong with a new key besides its scopes.
func (k *Key) faults(now time.Time) []error {
	var wrong []error
	for _, field := range []struct{ name, value string }{
		{"name", k.Name}, {"tenant", k.Owner.Tenant}, {"actor", k.Owner.Actor},
	} {
		if reason := textFault(field.value, MaxNameRunes); reason != "" {
			wrong = append(wrong, fmt.Errorf("the %s %s", field.name, reason))
		}
	}
	if !slices.Contains(abi.ActorTypes(), k.ActorType) {
		wrong = append(wrong, fmt.Errorf("the actor type must be one of %q", abi.ActorTypes()))
	}
	if !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt) {
		wrong = append(wrong, errors.New("the time of expiry is in the past"))
	}
	if k.ExpiresAt.Year() > 9999 { // RFC 3339 ends there
		wrong = append(wrong, errors.New("the time of expiry is after the year 9999"))
	}
	return wrong
}

// checkScopes returns the scopes in order and each once.
func checkScopes(list Scopes) (Scopes, []error) {
	if len(list) == 0 {
		return nil, []error{errors.New("a key without a scope could do nothing")}
	}
	if len(list) > MaxScopes {
		return nil, []error{fmt.Errorf("a key has at most %d scopes", MaxScopes)}
	}
	var wrong []error
	scopes := make(Scopes, 0, len(list))
	for _, s := range list {
		scope, err := ParseScope(string(s))
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		// A caller's text may lie in a buffer that is used again.
		scopes = append(scopes, Scope(strings.Clone(string(scope))))
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), wrong
}

// textFault tells why s is not fit to be shown to people as a name of at most a
// number of characters; "" means that it is.
func textFault(s string, most int) string {
	switch {
	case s == "":
		return "is empty"
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case utf8.RuneCountInString(s) > most:
		return fmt.Sprintf("is longer than %d characters", most)
	case strings.TrimSpace(s) != s:
		return "has space around it"
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has a character that cannot be printed"
	}
	return ""
}

// stamp brings a time into the form in which a key has it.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// validID reports whether id has the form of a key's.
func validID(id string) bool { return ids.Valid(idPrefix, id) }
