package identity

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
)

const (
	rowPrefix     = "key/"
	formatVersion = 1
)

// row is a key as the store has it.
type row struct {
	Version    int           `json:"v"`
	Name       string        `json:"name"`
	Scopes     Scopes        `json:"scopes"`
	Owner      abi.Owner     `json:"owner"`
	ActorType  abi.ActorType `json:"actorType"`
	CreatedAt  time.Time     `json:"createdAt"`
	ExpiresAt  time.Time     `json:"expiresAt,omitzero"`
	RevokedAt  time.Time     `json:"revokedAt,omitzero"`
	LastUsedAt time.Time     `json:"lastUsedAt,omitzero"`
	SHA256     []byte        `json:"sha256"`
}

func rowKey(id string) []byte { return []byte(rowPrefix + id) }

// addTo adds the row of an entry to a batch.
func (e *entry) addTo(b *kv.Batch) error {
	k := &e.key
	raw, err := json.Marshal(row{
		Version: formatVersion, Name: k.Name, Scopes: k.Scopes, Owner: k.Owner, ActorType: k.ActorType,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt,
		SHA256: e.digest[:],
	})
	if err != nil {
		return fmt.Errorf("encode the key %s: %w", k.ID, err)
	}
	b.Set(rowKey(k.ID), raw)
	return nil
}

// readRow makes an entry of a row. A fault is told by the id of the key alone,
// as the row has the hash.
func readRow(key, value []byte) (*entry, error) {
	id := strings.TrimPrefix(string(key), rowPrefix)
	if !validID(id) {
		return nil, fmt.Errorf("%q is no key's row", key)
	}
	var r row
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, fmt.Errorf("the row of %s is damaged", id)
	}
	if r.Version != formatVersion {
		return nil, fmt.Errorf("the row of %s has format version %d, this program knows %d", id, r.Version, formatVersion)
	}
	if len(r.SHA256) != len(digest{}) {
		return nil, fmt.Errorf("the row of %s is damaged: its hash has %d bytes", id, len(r.SHA256))
	}
	return newEntry(Key{
		ID: id, Name: r.Name, Scopes: r.Scopes, Owner: r.Owner, ActorType: r.ActorType,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, RevokedAt: r.RevokedAt, LastUsedAt: r.LastUsedAt,
	}, digest(r.SHA256)), nil
}
