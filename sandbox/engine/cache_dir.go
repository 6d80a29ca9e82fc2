package engine

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Names in the directory of a cache.
const (
	storeDir      = "store"
	keyFile       = "key"
	lockFile      = "lock"
	processPrefix = "process-"
)

// keyLen is the length of a secret, in bytes.
const keyLen = 32

// makeOwn makes a directory that only this user may write to, or checks that the
// one there is such a one.
func makeOwn(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, and what lies in it is run: give the directory itself", dir)
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", dir)
	}
	return private(dir, info)
}

// enter makes the directory of this process, clears away those of processes that
// are gone, and finds the key: one process at a time.
func (c *Cache) enter() error {
	whole, err := lock(filepath.Join(c.dir, lockFile), true)
	if err != nil {
		return err
	}
	defer whole.Close()
	if err := c.sweep(); err != nil {
		return err
	}
	if c.own, err = os.MkdirTemp(c.dir, fmt.Sprintf("%s%d-", processPrefix, os.Getpid())); err != nil {
		return err
	}
	if c.lock, err = lock(filepath.Join(c.own, lockFile), false); err != nil {
		return err
	}
	if c.key = c.opts.Key; len(c.key) > 0 {
		return nil
	}
	c.key, err = c.findKey()
	return err
}

// sweep removes the directories of processes that are gone.
func (c *Cache) sweep() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), processPrefix) || !entry.IsDir() {
			continue
		}
		left := filepath.Join(c.dir, entry.Name())
		if alive(filepath.Join(left, lockFile)) {
			continue
		}
		if err := os.RemoveAll(left); err != nil {
			c.opts.Logger.Warn("what a process left could not be removed", "directory", left, "error", err)
		}
	}
	return nil
}

// alive tells whether the process that holds a lock lives. A file that cannot be
// asked counts as held.
func alive(path string) bool {
	file, err := lock(path, false)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	file.Close()
	return false
}

// findKey reads the secret, or makes one where there is none that is as long as
// it must be and was kept from others: what was sealed with another is compiled
// anew.
func (c *Cache) findKey() ([]byte, error) {
	path := filepath.Join(c.dir, keyFile)
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && secret(path, info) {
		if key, err := os.ReadFile(path); err == nil && len(key) == keyLen {
			return key, nil
		}
	}
	if err == nil {
		c.opts.Logger.Warn("the key of the compiled modules cannot be used and is made anew", "file", path)
	}
	key := make([]byte, keyLen)
	rand.Read(key)
	fresh := filepath.Join(c.own, keyFile)
	if err := os.WriteFile(fresh, key, 0o600); err != nil {
		return nil, err
	}
	return key, os.Rename(fresh, path)
}

// evict removes stored modules, the least recently used first, until no more
// than allowed bytes are left; keep stays. What a process has made loadable it
// keeps by a link of its own.
func (c *Cache) evict(allowed int64, keep string) error {
	entries, err := os.ReadDir(filepath.Join(c.dir, storeDir))
	if err != nil {
		return fmt.Errorf("look for compiled modules to remove: %w", err)
	}
	type stored struct {
		path string
		used time.Time
		size int64
	}
	var list []stored
	var total int64
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			continue // another process removed it
		}
		total += info.Size()
		path := filepath.Join(c.dir, storeDir, entry.Name())
		if path != keep {
			list = append(list, stored{path, info.ModTime(), info.Size()})
		}
	}
	slices.SortFunc(list, func(a, b stored) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path))
	})
	for _, oldest := range list {
		if total <= allowed {
			break
		}
		c.drop(oldest.path)
		total -= oldest.size
	}
	return nil
}
