package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
)

// Cache is a directory of compiled modules that processes share. What lies in it
// is run as it is, so nothing leaves it but files whose authentication code is
// the host's own (see cache_file.go), and whatever does not hold is compiled anew.
//
// The directory, which must be of this user and which nobody else may write to:
//
//	key            the secret of the authentication codes: 32 bytes, mode 0600
//	lock           held while a process opens the directory
//	store/         the compiled modules, each a file in the engine's own form, sealed
//	process-*/     one directory of each process: lock, held while it lives;
//	               the engine's own directory, with what it may load as hard
//	               links into the store; compile-*, where a module is compiled
//
// Files get their names when they are whole, by renaming, so that processes may
// compile the same module at the same time. A directory of a process that is
// gone is removed by the next one that opens the cache.
//
// A Cache is safe for concurrent use.
type Cache struct {
	dir, own string // the cache, and the directory of this process in it
	key      []byte
	opts     CacheOptions
	build    build
	lock     *os.File
	loaded   wazero.CompilationCache
	slots    chan struct{} // holds one value for each compilation that runs

	life   context.Context // ends with Close
	end    context.CancelFunc
	mu     sync.Mutex
	closed bool
	users  sync.WaitGroup // calls of Ensure; added to under mu
	held   map[digest]*held
}

// digest identifies a module: the SHA-256 of its binary.
type digest = [sha256.Size]byte

// CacheOptions of a [Cache]. The zero value is usable.
type CacheOptions struct {
	// Key is the secret of the authentication codes; nil takes the one in the
	// directory, which is made when it is missing. Processes share what was
	// compiled with the same key.
	Key []byte
	// Command is the argv of a process that ends in [ChildMain], which compiles;
	// nil compiles in this process, whose memory and time are then those of the
	// module.
	Command []string
	// Children bounds the compilations that run at a time; 0 means GOMAXPROCS.
	Children int
	// MemoryBytes bounds the memory of a process that compiles; 0 means
	// [DefaultCompileMemoryBytes].
	MemoryBytes int64
	// Time bounds the processor time of a compilation, in whole seconds, and the
	// time by the clock to four times as much; 0 means [DefaultCompileTime].
	Time time.Duration
	// FileBytes bounds a compiled module, which the host loads whole; 0 means
	// [DefaultCompiledBytes].
	FileBytes int64
	// TotalBytes bounds all compiled modules together, of which the least
	// recently used go first; 0 means [DefaultCacheBytes].
	TotalBytes int64
	// Logger hears of compiled modules that had to be dropped; nil discards.
	Logger *slog.Logger
}

// Defaults of [CacheOptions].
const (
	DefaultCompileMemoryBytes = 1 << 30
	DefaultCompileTime        = time.Minute
	DefaultCompiledBytes      = 256 << 20
	DefaultCacheBytes         = 2 << 30
)

func (o *CacheOptions) withDefaults() CacheOptions {
	var opts CacheOptions
	if o != nil {
		opts = *o
	}
	for _, field := range []struct {
		value    *int64
		standard int64
	}{
		{&opts.MemoryBytes, DefaultCompileMemoryBytes}, {(*int64)(&opts.Time), int64(DefaultCompileTime)},
		{&opts.FileBytes, DefaultCompiledBytes}, {&opts.TotalBytes, DefaultCacheBytes},
	} {
		if *field.value <= 0 {
			*field.value = field.standard
		}
	}
	if opts.Children <= 0 {
		opts.Children = runtime.GOMAXPROCS(0)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return opts
}

// OpenCache opens the directory of compiled modules, which it makes if need be.
// A directory that belongs to somebody else, that others may write to, that is
// reached through a symbolic link or that cannot be written to is refused by
// name. Close the cache when every engine over it is closed.
func OpenCache(dir string, opts *CacheOptions) (*Cache, error) {
	c := &Cache{opts: opts.withDefaults(), held: map[digest]*held{}}
	c.slots = make(chan struct{}, c.opts.Children)
	if err := c.open(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open the compiled modules in %s: %w", dir, err), c.clean())
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c, nil
}

func (c *Cache) open(dir string) (err error) {
	if c.dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err = makeOwn(c.dir); err != nil {
		return err
	}
	if err = makeOwn(filepath.Join(c.dir, storeDir)); err != nil {
		return err
	}
	if err = c.enter(); err != nil {
		return err
	}
	if c.build, err = probe(c.own); err != nil {
		return err
	}
	c.loaded, err = wazero.NewCompilationCacheWithDir(c.own)
	return err
}

// Close ends the compilations that run, waits for them, and removes what is this
// process's own. The shared modules stay.
func (c *Cache) Close() error {
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	c.end()
	c.users.Wait()
	return c.clean()
}

// clean gives back what open took, as far as it came.
func (c *Cache) clean() error {
	var errs []error
	if c.loaded != nil {
		errs = append(errs, c.loaded.Close(context.Background()))
	}
	if c.own != "" {
		errs = append(errs, os.RemoveAll(c.own))
	}
	if c.lock != nil {
		errs = append(errs, c.lock.Close())
	}
	return errors.Join(errs...)
}

// engine is what the runtime of the host loads compiled modules from: the
// directory of this process, in which nothing lies but what Ensure put there.
func (c *Cache) engine() wazero.CompilationCache { return c.loaded }

// errClosed ends what waits for a cache that is closed.
var errClosed = errors.New("the compiled modules are closed")

// Ensure makes the compiled form of a module one that the engine can load:
// verified as the host's own, or compiled anew. It stays loadable until as many
// calls of release as of Ensure have been made. A module that cannot be compiled
// within the limits gives a [*CompileError].
func (c *Cache) Ensure(ctx context.Context, binary []byte) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errClosed
	}
	c.users.Add(1)
	c.mu.Unlock()
	defer c.users.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.life, func() { cancel(errClosed) })()

	if c.build.interpreted {
		return nil
	}
	module := sha256.Sum256(binary)
	h := c.hold(module)
	err := h.lock(ctx)
	if err == nil {
		err = c.ready(ctx, h, module, binary)
		h.unlock()
	}
	if err != nil {
		c.letGo(module)
	}
	return err
}

// release lets the file go that Ensure made loadable, once it is loaded.
func (c *Cache) release(binary []byte) {
	if !c.build.interpreted {
		c.letGo(sha256.Sum256(binary))
	}
}

// load makes a module loadable while use runs, which loads it. Loads of one
// module follow one another: the engine hands a module that one goroutine is
// still reading from the disk to others as if it were whole.
func (c *Cache) load(ctx context.Context, binary []byte, use func() error) error {
	if err := c.Ensure(ctx, binary); err != nil {
		return err
	}
	if c.build.interpreted {
		return use()
	}
	module := sha256.Sum256(binary)
	defer c.letGo(module)
	h := c.hold(module)
	defer c.letGo(module)
	if err := h.lock(ctx); err != nil {
		return err
	}
	defer h.unlock()
	return use()
}

// held is a module that somebody makes loadable or loads.
type held struct {
	users int           // under Cache.mu
	turn  chan struct{} // holds a value while somebody works on the file
	name  string        // of the file that is loadable; "" where there is none
}

func (h *held) lock(ctx context.Context) error {
	select {
	case h.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a module that is being compiled: %w", context.Cause(ctx))
	}
}

func (h *held) unlock() { <-h.turn }

func (c *Cache) hold(module digest) *held {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.held[module]
	if h == nil {
		h = &held{turn: make(chan struct{}, 1)}
		c.held[module] = h
	}
	h.users++
	return h
}

func (c *Cache) letGo(module digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.held[module]
	if h == nil {
		return
	}
	if h.users--; h.users > 0 {
		return
	}
	delete(c.held, module)
	if h.name != "" {
		c.drop(c.loadable(h.name))
	}
}

// loadable is where the engine looks for a compiled module.
func (c *Cache) loadable(name string) string { return filepath.Join(c.own, c.build.dir, name) }

// stored is where a compiled module lies for every process. Its name changes
// with all that the compiled form depends on.
func (c *Cache) stored(module digest) string {
	return filepath.Join(c.dir, storeDir, c.build.entry(module))
}

// drop removes a file that nobody needs; that it may be gone is as good.
func (c *Cache) drop(path string) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.opts.Logger.Warn("a compiled module could not be removed", "file", path, "error", err)
	}
}

// ready makes the module loadable. The caller has its turn.
func (c *Cache) ready(ctx context.Context, h *held, module digest, binary []byte) error {
	if h.name != "" {
		if name, err := c.verify(c.loadable(h.name), module); err == nil && name == h.name {
			return nil
		}
		c.drop(c.loadable(h.name))
		h.name = ""
	}
	name, err := c.adopt(module)
	if errors.Is(err, errUnusable) {
		if err := c.compile(ctx, module, binary); err != nil {
			return err
		}
		if name, err = c.take(module); err != nil {
			err = fmt.Errorf("take a module that was just compiled: %w", err)
		}
	}
	h.name = name
	return err
}
