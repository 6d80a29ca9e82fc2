package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// holderFile tells who has the data directory. It says something only while the
// store is locked: a process that was killed leaves it behind.
const holderFile = "vcphost.pid"

// kindServe is the verb whose process others can ask; any other has the data
// directory to itself.
const kindServe = "serve"

// holder is the process that has a data directory.
type holder struct {
	PID  int    `json:"pid"`
	Kind string `json:"kind"` // the verb
}

// String names the process.
func (h holder) String() string { return fmt.Sprintf("vcphost %s, process %d", h.Kind, h.PID) }

// hold notes that this process has the data directory. Whoever calls it has the
// store's lock.
func hold(dir, kind string) error {
	raw, err := json.Marshal(holder{os.Getpid(), kind})
	if err != nil {
		return fmt.Errorf("note who uses the data directory: %w", err)
	}
	partial := filepath.Join(dir, holderFile+".partial")
	if err := os.WriteFile(partial, append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("note who uses the data directory: %w", err)
	}
	if err := os.Rename(partial, filepath.Join(dir, holderFile)); err != nil {
		return fmt.Errorf("note who uses the data directory: %w", err)
	}
	return nil
}

// release takes the note back, before the store's lock.
func release(dir string) { _ = os.Remove(filepath.Join(dir, holderFile)) }

// holderOf tells who has the data directory, whose store is locked.
func holderOf(dir string) (holder, bool) {
	raw, err := os.ReadFile(filepath.Join(dir, holderFile))
	var h holder
	if err != nil || json.Unmarshal(raw, &h) != nil || h.PID == 0 {
		return holder{}, false
	}
	return h, true
}
