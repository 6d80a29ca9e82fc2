package hostfunc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"vcphost/internal/kv"
)

// Bounds of one entry of a plugin's store.
const (
	maxKVKeyBytes   = 512
	maxKVValueBytes = 1 << 20
)

// Key schema of the plugins' stores. Values carry no version of their own: they
// are the guest's bytes. The used bytes are kept beside them so that a quota
// needs no scan.
//
//	pluginkv/<plugin>/<key>   the value as the guest wrote it
//	pluginkvuse/<plugin>      big-endian uint64, bytes of all keys and values
const (
	kvPrefix    = "pluginkv/"
	kvUsePrefix = "pluginkvuse/"
)

// KVSpace is the small store of one plugin, with a quota over the bytes of all
// its keys and values. It outlives calls and is safe for concurrent use.
type KVSpace struct {
	db     kv.DB
	plugin string
	quota  uint64

	mu sync.Mutex // one writer at a time keeps the used bytes true
}

// NewKVSpace opens the store of a plugin with a quota in bytes.
func NewKVSpace(db kv.DB, plugin string, quota int64) *KVSpace {
	return &KVSpace{db: db, plugin: plugin, quota: uint64(max(quota, 0))}
}

// errQuota: the write would exceed the quota.
var errQuota = errors.New("the quota of the plugin's store is used up")

func (s *KVSpace) key(key []byte) []byte {
	return append([]byte(kvPrefix+s.plugin+"/"), key...)
}

func (s *KVSpace) used() (uint64, error) {
	raw, err := s.db.Get([]byte(kvUsePrefix + s.plugin))
	if errors.Is(err, kv.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read used bytes of the store of %s: %w", s.plugin, err)
	}
	if len(raw) != 8 {
		return 0, fmt.Errorf("read used bytes of the store of %s: %d bytes instead of 8", s.plugin, len(raw))
	}
	return binary.BigEndian.Uint64(raw), nil
}

func (s *KVSpace) get(key []byte) ([]byte, error) {
	return s.db.Get(s.key(key))
}

// replace sets the value of a key, or deletes it where value is nil, and
// reports whether the key was there.
func (s *KVSpace) replace(key, value []byte) (existed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used, err := s.used()
	if err != nil {
		return false, err
	}
	old, err := s.get(key)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return false, fmt.Errorf("read the store of %s: %w", s.plugin, err)
	}
	if existed = err == nil; existed {
		used -= min(used, entryBytes(key, old))
	}
	batch := &kv.Batch{}
	if value == nil {
		batch.Delete(s.key(key))
	} else {
		if used += entryBytes(key, value); used > s.quota {
			return existed, errQuota
		}
		batch.Set(s.key(key), value)
	}
	batch.Set([]byte(kvUsePrefix+s.plugin), binary.BigEndian.AppendUint64(nil, used))
	if err := s.db.Apply(batch); err != nil {
		return existed, fmt.Errorf("write the store of %s: %w", s.plugin, err)
	}
	return existed, nil
}

func entryBytes(key, value []byte) uint64 { return uint64(len(key)) + uint64(len(value)) }

// KVGet copies the value of a key into buf and returns its full length.
func (c *Call) KVGet(key, buf []byte) int32 {
	if errno := c.checkKV(key); errno != OK {
		return int32(errno)
	}
	value, err := c.grants.KV.get(key)
	if err != nil {
		return int32(c.kvErrno(err))
	}
	return copyOut(buf, value)
}

// KVSet sets the value of a key. ELIMIT where the quota, or the bound of one
// entry, would be exceeded.
func (c *Call) KVSet(key, value []byte) Errno {
	if errno := c.checkKV(key); errno != OK {
		return errno
	}
	if len(value) > maxKVValueBytes {
		return ELIMIT
	}
	_, err := c.grants.KV.replace(key, append([]byte{}, value...))
	return c.kvErrno(err)
}

// KVDelete removes a key. ENOENT where there is none.
func (c *Call) KVDelete(key []byte) Errno {
	if errno := c.checkKV(key); errno != OK {
		return errno
	}
	existed, err := c.grants.KV.replace(key, nil)
	if err == nil && !existed {
		return ENOENT
	}
	return c.kvErrno(err)
}

func (c *Call) checkKV(key []byte) Errno {
	switch {
	case c.grants.KV == nil:
		return EPERM
	case c.ctx.Err() != nil:
		return ECANCELED
	case len(key) == 0:
		return EINVAL
	case len(key) > maxKVKeyBytes:
		return ELIMIT
	}
	return OK
}

func (c *Call) kvErrno(err error) Errno {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, kv.ErrNotFound):
		return ENOENT
	case errors.Is(err, errQuota):
		return ELIMIT
	case errors.Is(err, kv.ErrNoSpace):
		return ENOSPC
	}
	return c.errnoOf(err)
}
