package engine

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEvictionTakesTheLeastRecentlyUsed(t *testing.T) {
	c := open(t, t.TempDir(), nil)
	var stored []string
	for i := range int32(4) {
		binary := answers(i, 200)
		ensure(t, c, binary)
		stored = append(stored, c.stored(sha256.Sum256(binary)))
		used := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(stored[i], used, used); err != nil {
			t.Fatal(err)
		}
	}
	// The oldest is used again, by a process that has not made it loadable yet.
	again := open(t, c.dir, nil)
	ensure(t, again, answers(0, 200))
	info, err := os.Stat(stored[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := c.evict(2*info.Size()+1000, stored[1]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false, false} {
		if _, err := os.Stat(stored[i]); (err == nil) != want {
			t.Errorf("module %d: %v, want it kept %t", i, err, want)
		}
	}
	// What is evicted can still be loaded by whoever made it loadable.
	for i := range int32(4) {
		if err := run(c, answers(i, 200)); err != nil {
			t.Error(err)
		}
		path := c.loadable(nameOf(c, answers(i, 200)))
		if _, err := c.verify(path, sha256.Sum256(answers(i, 200))); err != nil {
			t.Errorf("module %d was compiled again: %v", i, err)
		}
	}
}

func TestTheTotalIsBounded(t *testing.T) {
	c := open(t, t.TempDir(), &CacheOptions{TotalBytes: 100 << 10})
	for i := range int32(12) {
		ensure(t, c, answers(i, 200))
		c.release(answers(i, 200))
	}
	var total int64
	for _, path := range files(t, filepath.Join(c.dir, storeDir)) {
		if info, err := os.Stat(path); err == nil {
			total += info.Size()
		}
	}
	if total == 0 || total > 100<<10 {
		t.Errorf("%d bytes are kept", total)
	}
	if _, err := os.Stat(c.stored(sha256.Sum256(answers(11, 200)))); err != nil {
		t.Errorf("the newest is gone: %v", err)
	}
}

func TestWhatDeadProcessesLeftIsRemoved(t *testing.T) {
	dir := t.TempDir()
	alive := open(t, dir, nil)
	ensure(t, alive, answers(7, 10))
	var dead []string
	for _, name := range []string{processPrefix + "1-x", processPrefix + "2-y"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(path, "compile-1"), 0o700); err != nil {
			t.Fatal(err)
		}
		dead = append(dead, path)
	}
	if err := os.WriteFile(filepath.Join(dead[0], lockFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, dir, nil)
	for _, path := range dead {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := run(alive, answers(7, 10)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(alive.own); err != nil {
		t.Errorf("the directory of a process that lives is gone: %v", err)
	}
}

// A key that others could read, or that is none, is no secret any more.
func TestABadKeyIsReplaced(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"readable": func(path string) error { return os.Chmod(path, 0o644) },
		"short":    func(path string) error { return os.WriteFile(path, []byte("short"), 0o600) },
		"a link":   func(path string) error { return errors.Join(os.Rename(path, path+"x"), os.Symlink(path+"x", path)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first := open(t, dir, nil)
			if err := spoil(filepath.Join(dir, keyFile)); err != nil {
				t.Fatal(err)
			}
			second := open(t, dir, nil)
			if string(first.key) == string(second.key) || len(second.key) != keyLen {
				t.Error("the key is used")
			}
			if third := open(t, dir, nil); string(third.key) != string(second.key) {
				t.Error("the new key is not kept")
			}
		})
	}
}

func TestDirectoriesThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		name, want string
		make       func(dir string) error
	}{
		{"a file", "is no directory", func(dir string) error { return os.WriteFile(dir, nil, 0o600) }},
		{"a link", "symbolic link", func(dir string) error {
			return errors.Join(os.Mkdir(dir+"x", 0o700), os.Symlink(dir+"x", dir))
		}},
		{"written by others", "others may write", func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777))
		}},
		{"a store written by others", "others may write", func(dir string) error {
			store := filepath.Join(dir, storeDir)
			return errors.Join(os.MkdirAll(store, 0o700), os.Chmod(store, 0o720))
		}},
		{"of somebody else", "belongs to user 12345", func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			if os.Chown(dir, 12345, -1) != nil {
				return errors.ErrUnsupported
			}
			return nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			err := test.make(dir)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip("this user cannot give files away")
			}
			if err != nil {
				t.Fatal(err)
			}
			c, err := OpenCache(dir, nil)
			if err == nil {
				t.Fatal(c.Close(), "the directory is taken")
			}
			if !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("the error is %q, want %q and the directory in it", err, test.want)
			}
		})
	}
}
