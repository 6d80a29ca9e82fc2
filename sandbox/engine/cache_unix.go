//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package engine

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private checks that a directory is this user's and that nobody else may write
// to it.
func private(dir string, info fs.FileInfo) error {
	if owner := info.Sys().(*syscall.Stat_t).Uid; int64(owner) != int64(os.Geteuid()) {
		return fmt.Errorf("%s belongs to user %d, and what lies in it is run: give a directory of user %d",
			dir, owner, os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("others may write to %s (mode %#o), and what lies in it is run: set mode 0700", dir, mode)
	}
	return nil
}

// secret tells whether a file is this user's and was kept from others.
func secret(_ string, info fs.FileInfo) bool {
	return int64(info.Sys().(*syscall.Stat_t).Uid) == int64(os.Geteuid()) && info.Mode().Perm()&0o077 == 0
}

// lock opens a file and locks it until it is closed or the process ends, waiting
// for others if asked to.
func lock(path string, wait bool) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err = syscall.Flock(int(file.Fd()), how)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		file.Close()
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return file, nil
}
