package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Source is a place where plugins lie.
type Source struct {
	// Name goes into refusals and lists: "bundled", or the directory as given.
	Name string
	// FS holds plugin folders, or is one. Links that lead out of it must not open;
	// see DirSource.
	FS fs.FS
	// Trusted: the administrator trusts every plugin in it for this process.
	Trusted bool
	// TrustedFolders: the same for the plugins in these folders of FS, and below
	// them, where not everything is trusted.
	TrustedFolders []string
	// Bundled: the plugins came with the host; they need no approval.
	Bundled bool
}

// trusts reports whether the administrator trusts the plugin in a folder.
func (s *Source) trusts(folder string) bool {
	return s.Trusted || slices.ContainsFunc(s.TrustedFolders, func(trusted string) bool {
		return folder == trusted || strings.HasPrefix(folder, trusted+"/")
	})
}

// DirSource makes a source of a directory on disk, confined so that neither
// ".." nor a link leads out of it, nor out of a plugin's folder in it. It fails
// if dir is not a directory that can be opened.
func DirSource(dir string, trusted bool) (Source, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return Source{}, fmt.Errorf("plugin directory %q: %w", dir, err)
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return Source{}, fmt.Errorf("plugin directory: %w", err)
	}
	if !info.IsDir() {
		return Source{}, fmt.Errorf("plugin directory %q: not a directory", dir)
	}
	return Source{Name: dir, FS: confined{dir: absolute}, Trusted: trusted}, nil
}

// confined is a directory seen through [os.Root]. Every use opens the chain of
// roots anew, so that it holds no file descriptor between uses and sees a
// directory that was replaced; sub lists the folders on the way down, each of
// which confines what is below it.
type confined struct {
	dir string
	sub []string
}

func (c confined) open() (*os.Root, error) {
	root, err := os.OpenRoot(c.dir)
	for _, name := range c.sub {
		if err != nil {
			return nil, err
		}
		above := root
		root, err = above.OpenRoot(name)
		err = errors.Join(err, above.Close())
	}
	return root, err
}

// use runs do on the innermost root.
func (c confined) use(op, name string, do func(root *os.Root, name string) error) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	root, err := c.open()
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: plain(err)}
	}
	err = do(root, filepath.FromSlash(name))
	closeErr := root.Close()
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: plain(err)}
	}
	return closeErr
}

// Open opens a file for reading.
func (c confined) Open(name string) (fs.File, error) {
	var file fs.File
	err := c.use("open", name, func(root *os.Root, name string) (err error) {
		file, err = root.Open(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Stat describes a file without opening it, links within the folder followed.
func (c confined) Stat(name string) (info fs.FileInfo, err error) {
	err = c.use("stat", name, func(root *os.Root, name string) (err error) {
		info, err = root.Stat(name)
		return err
	})
	return info, err
}

// Sub gives a folder, confined to itself.
func (c confined) Sub(name string) (fs.FS, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "sub", Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return c, nil
	}
	return confined{dir: c.dir, sub: append(c.sub[:len(c.sub):len(c.sub)], filepath.FromSlash(name))}, nil
}

// plain drops the path from err, which would tell where the host keeps things.
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// checkPath tells what is wrong with a manifest's path to a file of the folder;
// "" means nothing.
func checkPath(name string) string {
	switch {
	case name == "":
		return "names no file"
	case hasControl(name):
		return "holds a control character"
	case strings.Contains(name, `\`):
		return `holds a backslash; write "/" between folders`
	case path.IsAbs(name) || len(name) > 1 && name[1] == ':':
		return "is an absolute path; it must be relative to the plugin's folder"
	case strings.Contains("/"+name+"/", "/../"):
		return `holds ".."; it must stay in the plugin's folder`
	case !fs.ValidPath(path.Clean(name)) || path.Clean(name) == ".":
		return "is no path to a file"
	}
	return ""
}

// checkFile tells why the named file of a plugin's folder cannot be used; ""
// means it is a regular file in the folder.
func checkFile(folder fs.FS, name string) string {
	name = path.Clean(name)
	if _, safe := folder.(confined); !safe {
		if linked(folder, name) {
			return "is a link, which this source cannot follow safely"
		}
	}
	info, err := fs.Stat(folder, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "names a file that does not exist"
	case err != nil:
		return fmt.Sprintf("cannot be read: %v", plain(err))
	case !info.Mode().IsRegular():
		return "is not a regular file"
	}
	return ""
}

// linked reports whether a step of the path is a symbolic link.
func linked(folder fs.FS, name string) bool {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := fs.Lstat(folder, name[:i])
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}
