package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// ways are the two ways in which a cache compiles.
func ways(t *testing.T) map[string][]string {
	return map[string][]string{"in this process": nil, "in a child": thisBinary(t)}
}

func TestAModuleIsCompiledOnceForAllProcesses(t *testing.T) {
	for name, command := range ways(t) {
		t.Run(name, func(t *testing.T) {
			dir, binary := t.TempDir(), answers(7, 10)
			first := open(t, dir, &CacheOptions{Command: command})
			ensure(t, first, binary)
			stored := first.stored(sha256.Sum256(binary))
			before, err := os.Stat(stored)
			if err != nil {
				t.Fatal(err)
			}
			second := open(t, dir, &CacheOptions{Command: []string{filepath.Join(dir, "no such command")}})
			ensure(t, second, binary)
			for _, c := range []*Cache{first, second} {
				if err := run(c, binary); err != nil {
					t.Error(err)
				}
				// An engine that had not found the module would have written its own form.
				if kept := files(t, filepath.Join(c.own, c.build.dir)); len(kept) != 1 {
					t.Errorf("%v are loadable, want one module", kept)
				} else if _, err := c.verify(kept[0], sha256.Sum256(binary)); err != nil {
					t.Error(err)
				}
			}
			if after, err := os.Stat(stored); err != nil || !os.SameFile(before, after) {
				t.Errorf("the module was compiled again: %v", err)
			}
		})
	}
}

// What is verified is only what a module's compilation in this build left, byte
// for byte.
func TestEveryByteOfACompiledModuleCounts(t *testing.T) {
	c := open(t, t.TempDir(), nil)
	binary := answers(7, 300)
	ensure(t, c, binary)
	module := sha256.Sum256(binary)
	content, err := os.ReadFile(c.stored(module))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "damaged")
	unusable := func(what string, at int, damaged []byte) {
		t.Helper()
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.verify(path, module); !errors.Is(err, errUnusable) {
			t.Errorf("%s at %d gives %v", what, at, err)
		}
	}
	step := len(content)/200 | 1
	for at := 0; at < len(content); at += step {
		damaged := bytes.Clone(content)
		damaged[at] ^= 1 << (at % 8)
		unusable("a bit", at, damaged)
		unusable("an end", at, content[:at])
	}
	for at := len(content) - sealBytes; at < len(content); at++ {
		damaged := bytes.Clone(content)
		damaged[at]++
		unusable("a byte of the seal", at, damaged)
	}
	unusable("one byte more", len(content), append(bytes.Clone(content), 0))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.verify(path, module); err != nil {
		t.Error(err)
	}
	if _, err := c.verify(path, sha256.Sum256([]byte("another module"))); !errors.Is(err, errUnusable) {
		t.Errorf("as another module it gives %v", err)
	}
}

func TestDamagedModulesAreCompiledAnew(t *testing.T) {
	binary, other := answers(7, 10), answers(8, 10)
	for _, test := range []struct {
		name   string
		damage func(t *testing.T, c *Cache, path string) error
	}{
		{"altered", func(_ *testing.T, _ *Cache, path string) error {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content[len(content)/2] ^= 1
			return os.WriteFile(path, content, 0o600)
		}},
		{"cut", func(_ *testing.T, _ *Cache, path string) error { return os.Truncate(path, 50) }},
		{"empty", func(_ *testing.T, _ *Cache, path string) error { return os.Truncate(path, 0) }},
		{"swapped", func(t *testing.T, c *Cache, path string) error {
			ensure(t, c, other)
			content, err := os.ReadFile(c.stored(sha256.Sum256(other)))
			return errors.Join(err, os.Remove(path), os.WriteFile(path, content, 0o600))
		}},
		{"of another key", func(t *testing.T, c *Cache, path string) error {
			return os.WriteFile(filepath.Join(c.dir, keyFile), bytes.Repeat([]byte("k"), keyLen), 0o600)
		}},
		{"gone", func(_ *testing.T, _ *Cache, path string) error { return os.Remove(path) }},
		{"a link", func(t *testing.T, c *Cache, path string) error {
			return errors.Join(os.Rename(path, path+"x"), os.Symlink(path+"x", path))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a[b") // no pattern
			c := open(t, dir, nil)
			ensure(t, c, binary)
			stored := c.stored(sha256.Sum256(binary))
			c.release(binary)
			if err := test.damage(t, c, stored); err != nil {
				t.Fatal(err)
			}
			c = open(t, dir, nil)
			if _, err := c.adopt(sha256.Sum256(binary)); !errors.Is(err, errUnusable) {
				t.Fatalf("the module is taken: %v", err)
			}
			ensure(t, c, binary)
			if err := run(c, binary); err != nil {
				t.Error(err)
			}
			if _, err := c.verify(stored, sha256.Sum256(binary)); err != nil {
				t.Errorf("the module is not in the store again: %v", err)
			}
		})
	}
}

// What the host loads is gone from its directory by the last release, and damage
// to what lies there is found by the next Ensure.
func TestRelease(t *testing.T) {
	c := open(t, t.TempDir(), nil)
	binary := answers(7, 10)
	loadable := func() []string { return files(t, filepath.Join(c.own, c.build.dir)) }
	ensure(t, c, binary)
	if err := os.Truncate(loadable()[0], 100); err != nil {
		t.Fatal(err)
	}
	ensure(t, c, binary)
	if err := run(c, binary); err != nil {
		t.Error(err)
	}
	c.release(binary)
	if len(loadable()) != 1 {
		t.Error("the module is gone while somebody may load it")
	}
	c.release(binary)
	c.release(binary)
	if left := loadable(); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

func TestAKeyOfTheCaller(t *testing.T) {
	dir, binary := t.TempDir(), answers(7, 10)
	ensure(t, open(t, dir, &CacheOptions{Key: []byte("one key")}), binary)
	if _, err := open(t, dir, &CacheOptions{Key: []byte("one key")}).adopt(sha256.Sum256(binary)); err != nil {
		t.Error(err)
	}
	if _, err := open(t, dir, &CacheOptions{Key: []byte("another")}).adopt(sha256.Sum256(binary)); !errors.Is(err, errUnusable) {
		t.Errorf("with another key the module gives %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, keyFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key was made: %v", err)
	}
}

func TestProcessesCompileTheSameModuleAtOnce(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "module")
	if err := os.WriteFile(file, answers(7, 2000), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if out, err := exec.Command(thisBinary(t)[0], ensureVerb, dir, file).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	all.Wait()
	var left []string
	for _, path := range files(t, dir) {
		if name := filepath.Base(path); name != keyFile && name != lockFile {
			left = append(left, path)
		}
	}
	if len(left) != 1 || filepath.Base(filepath.Dir(left[0])) != storeDir {
		t.Errorf("%v are left, want one module in the store", left)
	}
}

// Everything at once: the race detector watches.
func TestHammer(t *testing.T) {
	c := open(t, t.TempDir(), &CacheOptions{TotalBytes: 1, Children: 3})
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			for round := range 10 {
				binary := answers(int32((i+round)%4), 20)
				err := c.load(t.Context(), binary, func() error {
					_, verified := c.verify(c.loadable(nameOf(c, binary)), sha256.Sum256(binary))
					return errors.Join(verified, run(c, binary))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if left := files(t, filepath.Join(c.own, c.build.dir)); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}

// nameOf is the file under which a module is loadable.
func nameOf(c *Cache, binary []byte) string {
	module := sha256.Sum256(binary)
	defer c.letGo(module)
	return c.hold(module).name
}

func TestCloseEndsWhatWaits(t *testing.T) {
	c, err := OpenCache(t.TempDir(), &CacheOptions{Command: thisBinary(t), Children: 1})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	for _, binary := range [][]byte{phis(1000, 3000), phis(1000, 3001)} {
		go func() { done <- c.Ensure(context.Background(), binary) }()
	}
	await(t, "a compilation", func() bool { return len(c.slots) == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Ensure(ctx, answers(1, 1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a place gives %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-done; !errors.Is(err, errClosed) {
			t.Errorf("closing gives %v", err)
		}
	}
	if err := c.Ensure(t.Context(), answers(1, 1)); !errors.Is(err, errClosed) {
		t.Errorf("a closed cache gives %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), processPrefix) {
			t.Errorf("%s is left", entry.Name())
		}
	}
}
