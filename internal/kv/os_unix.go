//go:build unix

package kv

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// freeBytes returns what an unprivileged process may still write to the file
// system of dir.
func freeBytes(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return int64(uint64(stat.Bavail) * uint64(stat.Bsize)), nil
}

// lockFile takes the lock of f without waiting. The system drops it when f is
// closed, also by the death of the process. held says that another has it.
func lockFile(f *os.File) (held bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return errors.Is(err, unix.EWOULDBLOCK), err
}

// syncFile writes to the disk what the system holds of the file, mapped pages
// included.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// syncDir writes to the disk which files the directory has.
func syncDir(dir string) error { return syncFile(dir) }

// readOnlyDisk reports whether err says that the file system takes no writes.
func readOnlyDisk(err error) bool { return errors.Is(err, unix.EROFS) }
