package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// storeFormat is the version of the directory as a whole: Badger's files and
	// the keys in them. It grows when a program that knows only the version before
	// would damage or misread the store; rows have versions of their own.
	storeFormat = 1
	// formatFile holds the version in decimal, so that it can be read however the
	// rest of the directory is made. A directory without it is of version 1.
	formatFile = "vcphost.format"
)

// checkFormat refuses a directory that a newer program made, and marks a new one.
// The caller has the directory's lock.
func checkFormat(dir string) error {
	path := filepath.Join(dir, formatFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return writeFormat(dir)
	}
	if err != nil {
		return fmt.Errorf("read the format version of the data directory: %w", err)
	}
	version, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 31)
	if err != nil || version == 0 {
		return fmt.Errorf("%s holds %.40q, which is no format version", path, raw)
	}
	if version > storeFormat {
		return fmt.Errorf("the data directory %s has format version %d: %w, which knows versions up to %d; "+
			"run the newer program, or restore a backup that this one made", dir, version, ErrNewerFormat, storeFormat)
	}
	return nil
}

// writeFormat puts the whole file there at once: half of one would lock the
// store up.
func writeFormat(dir string) error {
	path := filepath.Join(dir, formatFile)
	draft := path + ".new"
	err := os.WriteFile(draft, []byte(strconv.Itoa(storeFormat)+"\n"), 0o600)
	if err == nil {
		err = syncFile(draft)
	}
	if err == nil {
		err = os.Rename(draft, path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("write the format version of the data directory: %w", err)
	}
	return nil
}
