package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path"
	"path/filepath"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/record"
	"vcphost/host/registry"
	"vcphost/internal/config"
	"vcphost/internal/kv"
	"vcphost/resources"
	"vcphost/sandbox"
	"vcphost/server/identity"
)

// application is everything of one process, put together. It is the only place
// where the packages meet.
type application struct {
	store     *store
	registry  *registry.Registry
	sandbox   *sandbox.Sandbox
	host      *host.Host
	lookupEnv func(string) (string, bool)
}

// store is what lies in the data directory.
type store struct {
	dir       string
	db        kv.DB
	resources *resources.Store
	results   *record.Store
	keys      *identity.Store
}

func (s *store) close() error {
	err := s.db.Sync()
	release(s.dir)
	return errors.Join(err, s.db.Close())
}

// openStore opens the data directory for this process alone.
func (p *Program) openStore(verb string) (*store, error) {
	dir, err := p.dataDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	db, err := kv.OpenBadger(filepath.Join(dir, "store"), p.storeOptions())
	if errors.Is(err, kv.ErrLocked) {
		return nil, inUse(dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open the data directory %s: %w", dir, err)
	}
	if err := hold(dir, verb); err != nil {
		p.logger().Warn("others will not learn who uses the data directory", "error", err)
	}
	s := &store{dir: dir, db: db}
	if s.resources, err = resources.Open(db, &resources.Options{Logger: p.logger(), BaseURL: p.serving.resourcesURL()}); err == nil {
		s.results, err = record.New(db, p.recordOptions())
	}
	if err == nil {
		s.keys, err = identity.Open(db, &identity.Options{Logger: p.logger(), Static: p.serving.key()})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the data directory %s: %w", dir, err), s.close())
	}
	return s, nil
}

// openRegistry finds the plugins, bundled and given. It needs no data
// directory.
func (p *Program) openRegistry() (*registry.Registry, error) {
	var sources []registry.Source
	if p.Bundled != nil {
		sources = append(sources, registry.Source{Name: "bundled", FS: p.Bundled, Bundled: true})
	}
	trusted, err := newTrust(p.settings.trust)
	if err != nil {
		return nil, err
	}
	for _, dir := range p.pluginDirs() {
		path, err := realPath(dir)
		if err != nil {
			return nil, fmt.Errorf("--plugins %s: %w", dir, err)
		}
		all, folders := trusted.of(path)
		source, err := registry.DirSource(dir, all)
		if err != nil {
			return nil, fmt.Errorf("--plugins %s: %w", dir, err)
		}
		source.TrustedFolders = folders
		sources = append(sources, source)
	}
	if dir, found := trusted.unused(); found {
		return nil, usage("--trust %s covers no directory of plugins", dir)
	}
	return registry.New(sources, nil)
}

// open puts the application together, as far as the verb needs it.
func (p *Program) open(ctx context.Context, verb string, what needs) (app *application, err error) {
	app = &application{lookupEnv: p.LookupEnv}
	defer func() {
		if err != nil {
			err = errors.Join(err, app.close(context.WithoutCancel(ctx)))
		}
	}()
	if what == needStore {
		if app.registry, err = registry.New(nil, nil); err == nil {
			app.store, err = p.openStore(verb)
		}
		return app, err
	}
	if app.registry, err = p.openRegistry(); err != nil {
		return app, err
	}
	if app.store, err = p.openStore(verb); err != nil {
		return app, err
	}
	if _, err := app.store.results.Expire(ctx); err != nil && ctx.Err() == nil {
		p.logger().Warn("old results could not be removed", "error", err)
	}
	app.sandbox, err = sandbox.New(ctx, p.sandboxOptions(app.store))
	if err != nil {
		return app, err
	}
	kinds := map[string]host.Kind{"wasm": {Open: app.openModule, Trust: abi.TrustWASM}}
	maps.Copy(kinds, p.kinds)
	app.host, err = host.New(host.Options{
		Registry: app.registry, Resources: app.store.resources, Recorder: app.store.results, Logger: p.logger(),
		Observers: p.serving.observe(app), Breaker: p.serving.breaker(),
		Kinds: kinds,
	})
	return app, err
}

// sandboxOptions bound the sandbox by the settings of the server; the other verbs
// have the defaults.
func (p *Program) sandboxOptions(store *store) *sandbox.Options {
	var bounds config.Sandbox
	if p.serving != nil {
		bounds = p.serving.settings.Sandbox
	}
	return p.sandboxWithin(cacheDir(store.dir), store.db, bounds)
}

// sandboxWithin bounds a sandbox by settings, whose zeros are the defaults.
func (p *Program) sandboxWithin(cache string, db kv.DB, bounds config.Sandbox) *sandbox.Options {
	return &sandbox.Options{
		CacheDir: cache, Cache: p.compileWithin(bounds), DB: db, Logger: p.logger(),
		PoolBytes: bounds.PoolBytes, MaxInstances: bounds.MaxInstances, AllowShared: bounds.AllowShared,
	}
}

// cacheDir is where compiled modules lie: in the data directory, or where a link
// of that name leads to, which is the administrator's to set.
func cacheDir(data string) string {
	dir := filepath.Join(data, "cache")
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func (a *application) close(ctx context.Context) error {
	var errs []error
	if a.host != nil {
		errs = append(errs, a.host.Close(ctx))
	}
	if a.sandbox != nil {
		errs = append(errs, a.sandbox.Close(ctx))
	}
	if a.store != nil {
		errs = append(errs, a.store.close())
	}
	return errors.Join(errs...)
}

// maxModuleBytes bounds what is read of a module's file.
const maxModuleBytes = 64 << 20

// openModule makes a plugin of entryPoint.type "wasm" ready. A plugin gets here
// only once its folder is bundled or trusted, which grants what its manifest
// asks for.
func (a *application) openModule(ctx context.Context, plugin *registry.Plugin) (host.Transport, error) {
	manifest := plugin.Manifest
	if binding := manifest.EntryPoint.ABI; binding != "" && binding != "vcp" {
		return nil, abi.NewError(abi.CodeToolDisabled, "this host has no binding %q", binding).
			WithDetails(map[string]string{"reason": "unsupported"})
	}
	binary, err := readModule(plugin.FS, manifest.EntryPoint.Module)
	if err != nil {
		return nil, err
	}
	module := sandbox.Module{
		Name: plugin.Name, Binary: binary,
		Limits: sandbox.Limits{
			MemoryMiB:      int(manifest.Sandbox.MemoryMiB),
			TableElements:  int(manifest.Sandbox.TableElements),
			Fuel:           manifest.Sandbox.Fuel,
			MaxInputBytes:  manifest.Sandbox.MaxInputBytes,
			MaxOutputBytes: manifest.Sandbox.MaxOutputBytes,
			MaxLogBytes:    logBytes(manifest.Sandbox.MaxLogBytes),
		},
	}
	module.Isolation = sandbox.Isolation(manifest.Sandbox.Isolation)
	if module.Prepare, err = prepareCalls(plugin); err != nil {
		return nil, err
	}
	var keys []string
	for _, permission := range manifest.Sandbox.Permissions {
		switch permission.Kind {
		case registry.PermissionKV:
			module.KVBytes += permission.Bytes
		case registry.PermissionConfig:
			keys = append(keys, permission.Keys...)
		}
	}
	if len(keys) > 0 {
		if module.Config, err = a.configValues(manifest, keys); err != nil {
			return nil, err
		}
	}
	opened, err := a.sandbox.Open(ctx, module)
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// maxPreparedBytes bounds a file that a prepare call refers to.
const maxPreparedBytes = 8 << 20

// prepareCalls reads the calls that warm the plugin before its snapshot.
func prepareCalls(plugin *registry.Plugin) ([]sandbox.Prepare, error) {
	var list []sandbox.Prepare
	for _, call := range plugin.Manifest.Sandbox.Prepare {
		prepare := sandbox.Prepare{Command: call.Command, Arguments: call.Arguments, Files: map[string][]byte{}}
		for _, name := range call.Files {
			content, err := fs.ReadFile(plugin.FS, path.Clean(name))
			switch {
			case err != nil:
				return nil, refusedModule("cannot be prepared", err)
			case len(content) > maxPreparedBytes:
				return nil, refusedModule("cannot be prepared", fmt.Errorf("%s has %d bytes, %d are allowed", name, len(content), maxPreparedBytes))
			}
			prepare.Files[name] = content
		}
		list = append(list, prepare)
	}
	return list, nil
}

func readModule(folder fs.FS, name string) ([]byte, error) {
	file, err := folder.Open(name)
	if err != nil {
		return nil, refusedModule("cannot be opened", err)
	}
	defer file.Close()
	binary, err := io.ReadAll(io.LimitReader(file, maxModuleBytes+1))
	switch {
	case err != nil:
		return nil, refusedModule("cannot be read", err)
	case len(binary) > maxModuleBytes:
		return nil, refusedModule(fmt.Sprintf("has more than %d bytes", maxModuleBytes), nil)
	}
	return binary, nil
}

func refusedModule(what string, cause error) error {
	return abi.NewError(abi.CodeToolDisabled, "the module %s", what).
		WithDetails(map[string]string{"reason": "refused"}).WithCause(cause)
}

// logBytes tells a manifest's limit of zero, which allows no log, from the zero
// that means a default in code.
func logBytes(limit int64) int {
	if limit == 0 {
		return -1
	}
	return int(limit)
}

// configValues are the values that a plugin may read: of the keys that it asks
// for, from the environment or the schema's defaults.
func (a *application) configValues(manifest *registry.Manifest, keys []string) (map[string]string, error) {
	list := make([]config.Key, 0, len(keys))
	for _, name := range keys {
		field := manifest.ConfigSchema[name]
		list = append(list, config.Key{Name: name, Type: field.Type, Default: field.Default})
	}
	values, err := config.Resolve(list, a.lookupEnv)
	if err != nil {
		return nil, abi.NewError(abi.CodeToolDisabled, "the plugin's configuration cannot be used: %s", oneLine(err)).
			WithDetails(map[string]string{"reason": "configuration"}).WithCause(err)
	}
	return values, nil
}

// localOwner is whose the objects of the command line are, which has no key: the
// operating system's user in the tenant "default".
func localOwner() abi.Owner {
	name := "unknown"
	if current, err := user.Current(); err == nil && current.Username != "" {
		name = current.Username
	}
	return abi.Owner{Tenant: "default", Actor: name}
}
