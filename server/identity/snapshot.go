package identity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// entry is a key in memory. It is immutable but for usedAt, which all versions
// of the same key share.
type entry struct {
	key      Key
	digest   digest
	identity *Identity
	usedAt   *atomic.Int64 // the minute of the last use, in seconds since 1970; zero is never
}

func newEntry(k Key, d digest) *entry {
	e := &entry{key: k, digest: d, identity: identify(&k), usedAt: new(atomic.Int64)}
	if !k.LastUsedAt.IsZero() {
		e.usedAt.Store(k.LastUsedAt.Unix())
	}
	return e
}

func (e *entry) clone() *entry {
	c := *e
	return &c
}

// ulid is what a secret names the key by.
func (e *entry) ulid() string { return strings.TrimPrefix(e.key.ID, idPrefix) }

// touch notes a use. Most calls find the minute noted already, and write nothing
// that processors would have to pass around.
func (e *entry) touch(at time.Time) {
	minute := at.Truncate(time.Minute).Unix()
	if e.usedAt.Load() != minute {
		e.usedAt.Store(minute)
	}
}

// lastUsed is what touch noted.
func (e *entry) lastUsed() time.Time {
	seconds := e.usedAt.Load()
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

// snapshot is all keys by their ULID. It is immutable.
type snapshot struct {
	entries map[string]*entry
}

// byID finds a key; nil if there is none.
func (s *snapshot) byID(id string) *entry {
	ulid, ok := strings.CutPrefix(id, idPrefix)
	if !ok {
		return nil
	}
	return s.entries[ulid]
}

// with is a snapshot in which the entries given replace those of the same key.
func (s *snapshot) with(list ...*entry) *snapshot {
	entries := maps.Clone(s.entries)
	for _, e := range list {
		entries[e.ulid()] = e
	}
	return &snapshot{entries}
}

// without is a snapshot without e, which may be nil.
func (s *snapshot) without(e *entry) *snapshot {
	if e == nil {
		return s
	}
	entries := maps.Clone(s.entries)
	delete(entries, e.ulid())
	return &snapshot{entries}
}

// makeRoom names the key that has to go before another one is added: nil below
// MaxKeys, else the oldest one that is refused anyway.
func (s *snapshot) makeRoom(now time.Time) (*entry, error) {
	if len(s.entries) < MaxKeys {
		return nil, nil
	}
	var oldest *entry
	for _, e := range s.entries {
		if e.key.Usable(now) != nil && (oldest == nil || byAge(&e.key, &oldest.key) < 0) {
			oldest = e
		}
	}
	if oldest == nil {
		return nil, fmt.Errorf("%w: %d, revoke one first", ErrTooMany, len(s.entries))
	}
	return oldest, nil
}

// list copies the descriptions, the oldest first.
func (s *snapshot) list() []Key {
	keys := make([]Key, 0, len(s.entries))
	for _, e := range s.entries {
		k := cloneKey(&e.key)
		k.LastUsedAt = e.lastUsed()
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int { return byAge(&a, &b) })
	return keys
}

func byAge(a, b *Key) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
}

// cloneKey copies a description, down to the texts: those that a caller gave may
// lie in a buffer that is used again.
func cloneKey(k *Key) Key {
	c := *k
	c.Name = strings.Clone(k.Name)
	c.Owner.Tenant = strings.Clone(k.Owner.Tenant)
	c.Owner.Actor = strings.Clone(k.Owner.Actor)
	c.Scopes = slices.Clone(k.Scopes)
	return c
}
