package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/server"
	"vcphost/server/api"
	"vcphost/server/client"
	"vcphost/server/identity"
	"vcphost/server/local"
)

// needs is what a verb needs of the application.
type needs int

const (
	needStore needs = iota // stored objects and keys
	needHost               // plugins as well
)

// session is a verb's way to a server: to the one that runs on the data
// directory, or to one that lives in this process for as long as the verb does.
type session struct {
	*client.Client
	stop           func(ctx context.Context) error
	maxUploadBytes int64 // of one resource; known where plugins are needed
}

// handover is how long a verb waits for a server that is about to begin or to
// end.
const handover = 5 * time.Second

// connect gives a session on the data directory.
func (p *Program) connect(ctx context.Context, verb string, what needs) (*session, error) {
	dir, err := p.dataDir()
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(handover); ; {
		if socketAnswers(ctx, dir) {
			return p.join(ctx, dir, what)
		}
		s, err := p.startLocal(ctx, verb, what)
		if !errors.Is(err, kv.ErrLocked) || !hasSocket {
			return s, err
		}
		// Without a note the holder is about to begin or to end.
		if h, ok := holderOf(dir); ok && h.Kind != kindServe || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// join gives a session with the server that runs, if it is the one that the
// command line means.
func (p *Program) join(ctx context.Context, dir string, what needs) (*session, error) {
	c := client.New(func(ctx context.Context) (net.Conn, error) { return dialSocket(ctx, dir) })
	s := &session{Client: c, stop: func(context.Context) error { c.Close(); return nil }}
	if what == needHost {
		process, err := c.Process(ctx)
		if err == nil {
			err = p.checkSettings(process)
		}
		if err != nil {
			c.Close()
			return nil, err
		}
		s.maxUploadBytes = process.MaxUploadBytes
	}
	return s, nil
}

// checkSettings fails if the command line names other plugins than those that
// the server has. What it does not name is the server's.
func (p *Program) checkSettings(process local.Process) error {
	for _, setting := range []struct {
		flag       string
		given, has []string
	}{
		{"--plugins", p.givenPluginDirs(), process.Plugins},
		{"--trust", p.settings.trust, process.Trust},
	} {
		if len(setting.given) == 0 {
			continue
		}
		given, err := realPaths(setting.flag, setting.given)
		if err != nil {
			return err
		}
		if !slices.Equal(given, setting.has) {
			has := "none"
			if len(setting.has) > 0 {
				has = strings.Join(setting.has, ", ")
			}
			return fmt.Errorf("the server that runs on this data directory, process %d, was started with another %s: %s; leave the flag out, or stop the server",
				process.PID, setting.flag, has)
		}
	}
	return nil
}

// realPaths gives directories in the one form in which they can be compared.
func realPaths(flag string, dirs []string) ([]string, error) {
	paths := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		path, err := realPath(dir)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, dir, err)
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// startLocal puts the application together and a server in front of it that
// only this process reaches.
func (p *Program) startLocal(ctx context.Context, verb string, what needs) (*session, error) {
	app, err := p.open(ctx, verb, what)
	if err != nil {
		return nil, err
	}
	settings, err := p.serverOptions(app)
	if err != nil {
		return nil, errors.Join(err, app.close(context.WithoutCancel(ctx)))
	}
	if !p.settings.verbose { // its errors are told by the verb
		settings.Logger = slog.New(slog.DiscardHandler)
	}
	// A file that is slow to read, or a reader that waits, is nobody else's concern.
	settings.ReadTimeout, settings.WriteTimeout, settings.API.TransferStall = patience, patience, patience
	pipe, own := client.NewPipe(), server.New(settings)
	served := make(chan error, 1)
	go func() { served <- own.ServeTrusted(pipe, localIdentity()) }()
	c := client.New(pipe.Dial)
	return &session{Client: c, maxUploadBytes: maxImportBytes, stop: func(ctx context.Context) error {
		c.Close()
		_ = pipe.Close() // never fails
		drain, cancel := context.WithTimeout(ctx, handover)
		defer cancel()
		pipe.Drain(drain) // a server looks only now and then whether it can end
		atOnce, cancel := context.WithCancel(context.WithoutCancel(ctx))
		cancel()
		return errors.Join(own.Close(atOnce), <-served, app.close(context.WithoutCancel(ctx)))
	}}, nil
}

// patience is how long a server in this process waits for its own verb.
const patience = 24 * time.Hour

// serverOptions are the settings that a server has in any process.
func (p *Program) serverOptions(app *application) (server.Options, error) {
	plugins, err := realPaths("--plugins", p.pluginDirs())
	if err != nil && app.host != nil {
		return server.Options{}, err
	}
	trust, err := realPaths("--trust", p.settings.trust)
	if err != nil && app.host != nil {
		return server.Options{}, err
	}
	options := api.Options{
		Registry: app.registry, Resources: app.store.resources, Results: app.store.results,
		Keys: app.store.keys, KeyStore: app.store.keys, MaxUploadBytes: maxImportBytes,
		Backup:  func(ctx context.Context, w io.Writer) error { return kv.Backup(ctx, app.store.db, w) },
		Process: local.Process{PID: os.Getpid(), Version: buildVersion(), Plugins: plugins, Trust: trust},
	}
	if app.host != nil {
		options.Host, options.Prepare = app.host, app.host.Prepare
	}
	return server.Options{API: options, Logger: p.logger()}, nil
}

// maxImportBytes bounds one file that is handed to a plugin.
const maxImportBytes = 4 << 30

// localIdentity is who speaks on this machine's own connections: whoever can
// open the data directory is its administrator.
func localIdentity() *identity.Identity {
	return &identity.Identity{
		KeyID: "local", Name: "local administrator", Scopes: identity.Scopes{identity.ScopeAdmin},
		Owner: localOwner(), ActorType: abi.ActorUser, Admin: true,
	}
}

// inUse tells who has the data directory.
func inUse(dir string, cause error) error {
	who := "another vcphost"
	if h, ok := holderOf(dir); ok {
		who += " (" + h.String() + ")"
	}
	return fmt.Errorf("the data directory %s is in use by %s: %w", filepath.Clean(dir), who, cause)
}
