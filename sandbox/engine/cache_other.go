//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package engine

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// private has nothing to ask: who may write to a directory is not in its mode
// here, and the directory for a user's data is that user's.
func private(string, fs.FileInfo) error { return nil }

// secret has nothing to ask either.
func secret(string, fs.FileInfo) bool { return true }

// lock opens a file that is removed first, which fails while another process has
// it open. Waiting ends after a time in which nobody needs the lock.
func lock(path string, wait bool) (*os.File, error) {
	for start := time.Now(); ; {
		err := os.Remove(path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
			if err == nil || !wait || !errors.Is(err, fs.ErrExist) {
				return file, err
			}
		} else if !wait || time.Since(start) > time.Minute {
			return nil, err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
