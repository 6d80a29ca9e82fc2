package engine

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tetratelabs/wazero"
)

// A sealed file is what the engine wrote, then a seal that the engine does not
// read: the name of the file in the engine's own directory, 64 bytes, and an
// HMAC-SHA256 over a version of this form, the digest of the module, the build
// (engine, operating system, processor and its features), that name, and the
// engine's bytes. One file rather than two, so that nothing can pair the file of
// one compilation with the seal of another.
const (
	sealVersion = "vcphost compiled module 1\x00"
	nameBytes   = 2 * sha256.Size
	sealBytes   = nameBytes + sha256.Size
)

// build is what a compiled module depends on beside the module.
type build struct {
	dir         string // name of the directory that the engine keeps compiled modules in
	features    string // the name under which it keeps a module that is always the same
	interpreted bool   // the engine has no compiler here, and so nothing to keep
}

// entry names the file of a module in the store.
func (b build) entry(module digest) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s%s/%s/", sealVersion, b.dir, b.features)
	h.Write(module[:])
	return hex.EncodeToString(h.Sum(nil))
}

// probe learns the build from the engine, by what it keeps of a known module: the
// engine puts its version and the system into the name of a directory, and the
// features of the processor into that of the file.
func probe(within string) (build, error) {
	dir, err := os.MkdirTemp(within, "probe-")
	if err != nil {
		return build{}, err
	}
	defer os.RemoveAll(dir)
	// One function that does nothing.
	known := []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a\x04\x01\x02\x00\x0b")
	if err := compileInto(context.Background(), dir, known); err != nil {
		return build{}, fmt.Errorf("ask the engine what it compiles for: %w", err)
	}
	path, err := produced(dir)
	if errors.Is(err, errNothing) {
		return build{interpreted: true}, nil
	}
	return build{dir: filepath.Base(filepath.Dir(path)), features: filepath.Base(path)}, err
}

// compileInto compiles a module in this process into a directory.
func compileInto(ctx context.Context, dir string, binary []byte) (err error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	engine := wazero.NewRuntimeWithConfig(ctx, runtimeConfig().WithCompilationCache(cache))
	defer func() { err = errors.Join(err, engine.Close(ctx), cache.Close(ctx)) }()
	_, err = engine.CompileModule(ctx, binary)
	return err
}

// errNothing is what the interpreter leaves.
var errNothing = errors.New("the engine kept nothing")

// produced finds the one file that a compilation left in its directory, and
// refuses anything else.
func produced(dir string) (string, error) {
	engines, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(engines) != 1 || !engines[0].IsDir() {
		return "", fmt.Errorf("a compilation left %d things where one directory belongs", len(engines))
	}
	within := filepath.Join(dir, engines[0].Name())
	files, err := os.ReadDir(within)
	switch {
	case err != nil:
		return "", err
	case len(files) == 0:
		return "", errNothing
	case len(files) > 1 || !files[0].Type().IsRegular() || !isName(files[0].Name()):
		return "", fmt.Errorf("a compilation left %d things where one file belongs", len(files))
	}
	return filepath.Join(within, files[0].Name()), nil
}

// isName tells the name of a file that the engine keeps: a hash in hexadecimal.
func isName(name string) bool {
	_, err := hex.DecodeString(name)
	return err == nil && len(name) == nameBytes
}

// code authenticates size bytes of content as the compiled form of module.
func (c *Cache) code(module digest, name string, content io.Reader, size int64) ([]byte, error) {
	mac := hmac.New(sha256.New, c.key)
	fmt.Fprintf(mac, "%s%s/%s/%s/", sealVersion, c.build.dir, c.build.features, name)
	mac.Write(module[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(size)))
	if n, err := io.Copy(mac, io.LimitReader(content, size)); err != nil || n != size {
		return nil, fmt.Errorf("read a compiled module: %d of %d bytes: %w", n, size, err)
	}
	return mac.Sum(nil), nil
}

// seal appends the seal to what a compilation left.
func (c *Cache) seal(path string, module digest) (err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Size() > c.opts.FileBytes {
		return &CompileError{Reason: ReasonSize, Limit: c.opts.FileBytes, Setting: SettingFile}
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	name := filepath.Base(path)
	code, err := c.code(module, name, file, info.Size())
	if err != nil {
		return err
	}
	_, err = file.WriteAt(append([]byte(name), code...), info.Size())
	return err
}

// errUnusable is a compiled module that is not there or not the host's own.
var errUnusable = errors.New("not a compiled module of this host's")

// verify reads a sealed file as that of module, and gives its name in the
// engine's own directory. What does not hold is errUnusable.
func (c *Cache) verify(path string, module digest) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnusable, err)
	}
	size := info.Size() - sealBytes
	if !info.Mode().IsRegular() || size < 0 || size > c.opts.FileBytes {
		return "", fmt.Errorf("%w: %s is no file of a possible size", errUnusable, path)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnusable, err)
	}
	defer file.Close()
	seal := make([]byte, sealBytes)
	if _, err := file.ReadAt(seal, size); err != nil {
		return "", fmt.Errorf("%w: %w", errUnusable, err)
	}
	name := string(seal[:nameBytes])
	want, err := c.code(module, name, file, size)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnusable, err)
	}
	if !hmac.Equal(want, seal[nameBytes:]) || !isName(name) {
		return "", fmt.Errorf("%w: %s", errUnusable, path)
	}
	return name, nil
}

// taken is where a compiled module lies between its link and its verification.
func (c *Cache) taken(module digest) string {
	return filepath.Join(c.own, "take-"+hex.EncodeToString(module[:]))
}

// adopt makes the stored form of a module loadable. The file is linked before it
// is verified: what was verified is then what is loaded, whatever becomes of the
// store meanwhile.
func (c *Cache) adopt(module digest) (string, error) {
	stored := c.stored(module)
	if err := link(stored, c.taken(module)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: %w", errUnusable, err)
		}
		return "", err
	}
	name, err := c.take(module)
	if errors.Is(err, errUnusable) {
		c.opts.Logger.Warn("a compiled module cannot be used and is compiled anew", "file", stored, "error", err)
		c.drop(stored)
	}
	if err != nil {
		return "", err
	}
	now := time.Now()
	if err := os.Chtimes(stored, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return name, nil
}

// take verifies what was linked and makes it loadable, or drops it.
func (c *Cache) take(module digest) (string, error) {
	path := c.taken(module)
	name, err := c.verify(path, module)
	if err != nil {
		c.drop(path)
		return "", err
	}
	// A rename between two links of one file would do nothing.
	c.drop(c.loadable(name))
	return name, os.Rename(path, c.loadable(name))
}

// link gives a file a second name, in place of what had it, or makes a copy where
// the file system has no links.
func link(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is no file", errUnusable, from)
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
