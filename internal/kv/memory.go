package kv

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// memory is a DB in the memory of the process.
type memory struct {
	gate gate

	mu     sync.RWMutex
	values map[string][]byte // a value is replaced, never written into
}

// NewMemory returns an empty DB that lives in memory and is gone after Close;
// Sync does nothing. It is meant for tests: Scan sorts the keys each time.
func NewMemory() DB {
	return &memory{values: make(map[string][]byte)}
}

func (m *memory) Get(key []byte) ([]byte, error) {
	var out []byte
	err := m.View(key, func(value []byte) error {
		out = append([]byte{}, value...)
		return nil
	})
	return out, err
}

func (m *memory) Has(key []byte) (bool, error) {
	if err := m.gate.enter(); err != nil {
		return false, err
	}
	defer m.gate.leave()
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, ok := m.values[string(key)]
	return ok, nil
}

func (m *memory) View(key []byte, read func(value []byte) error) error {
	if err := m.gate.enter(); err != nil {
		return err
	}
	defer m.gate.leave()
	m.mu.RLock()
	value, ok := m.values[string(key)]
	m.mu.RUnlock()
	if !ok {
		return ErrNotFound
	}
	return read(value)
}

func (m *memory) Apply(b *Batch) error {
	if err := m.gate.enter(); err != nil {
		return err
	}
	defer m.gate.leave()
	if err := b.check(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range b.changes {
		if _, exists := m.values[string(c.key)]; c.add && exists {
			return fmt.Errorf("add %q: %w", c.key, ErrExists)
		}
	}
	for _, c := range b.changes {
		if c.remove {
			delete(m.values, string(c.key))
			continue
		}
		m.values[string(c.key)] = bytes.Clone(c.value)
	}
	return nil
}

func (m *memory) Scan(prefix []byte, visit func(key, value []byte) (more bool)) error {
	if err := m.gate.enter(); err != nil {
		return err
	}
	defer m.gate.leave()
	type pair struct {
		key   string
		value []byte
	}
	var found []pair
	m.mu.RLock()
	for key, value := range m.values {
		if strings.HasPrefix(key, string(prefix)) {
			found = append(found, pair{key, value})
		}
	}
	m.mu.RUnlock()
	slices.SortFunc(found, func(a, b pair) int { return strings.Compare(a.key, b.key) })
	for _, p := range found {
		if !visit([]byte(p.key), p.value) {
			break
		}
	}
	return nil
}

func (m *memory) Room() error { return m.Sync() }

func (m *memory) Sync() error {
	if err := m.gate.enter(); err != nil {
		return err
	}
	m.gate.leave()
	return nil
}

func (m *memory) Close() error {
	if m.gate.close() {
		m.mu.Lock()
		m.values = nil
		m.mu.Unlock()
	}
	return nil
}
