package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
)

// socketFile is where a server in a data directory is reached by those who may
// open it: its administrators.
const socketFile = "vcphost.sock"

// hasSocket: on Windows the permissions of a socket keep nobody out.
const hasSocket = runtime.GOOS != "windows"

// listenSocket makes the socket of a data directory, which nobody but its owner
// can open at any time. Whoever calls it has the store's lock, so a socket that
// is there is a dead process's.
func listenSocket(dir string) (*net.UnixListener, error) {
	private := filepath.Join(dir, "sock.tmp") // until the socket's own mode is set
	if err := errors.Join(os.RemoveAll(private), os.Mkdir(private, 0o700)); err != nil {
		return nil, fmt.Errorf("make the socket: %w", err)
	}
	defer os.RemoveAll(private)
	made := filepath.Join(private, "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: shortPath(made), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make the socket in %s: %w", dir, err)
	}
	listener.SetUnlinkOnClose(false) // its name changes
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, filepath.Join(dir, socketFile))); err != nil {
		return nil, errors.Join(fmt.Errorf("make the socket: %w", err), listener.Close())
	}
	return listener, nil
}

// removeSocket makes sure that nobody finds a server that is about to end.
func removeSocket(dir string) error {
	if err := os.Remove(filepath.Join(dir, socketFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the socket: %w", err)
	}
	return nil
}

// dialSocket connects to the server in a data directory.
func dialSocket(ctx context.Context, dir string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", shortPath(filepath.Join(dir, socketFile)))
}

// socketAnswers reports whether a server in the data directory takes connections.
func socketAnswers(ctx context.Context, dir string) bool {
	if !hasSocket {
		return false
	}
	conn, err := dialSocket(ctx, dir)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent
	return true
}

// shortPath is a path as seen from the working directory where that is shorter:
// the path of a socket has hardly more than a hundred bytes.
func shortPath(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(here, absolute)
	if err != nil || len(relative) >= len(path) {
		return path
	}
	return relative
}
