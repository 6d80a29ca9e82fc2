package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"vcphost/internal/config"
	"vcphost/server"
	"vcphost/server/identity"
)

func (p *Program) serveCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "serve",
		Short: "Answer the HTTP API until a signal comes",
		Long: `Answer the HTTP API. The first start makes an administrator's key and prints it
once; $VCPHOST_KEY, if it is set, is an administrator's as well. While the
server runs, the other verbs on its data directory go through it.

Settings come from flags, the environment and a file; "vcphost config print"
shows which hold.

SIGINT and SIGTERM stop it: running requests are answered within --drain, and
what runs then is cancelled. A second signal ends it at once.`,
		Example: `  vcphost serve
  vcphost serve --addr 127.0.0.1:7000 --plugins ./plugins --trust ./plugins
  vcphost serve --config /etc/vcphost/vcphost.yaml`,
		Args: cobra.NoArgs,
	}
	settingFlags(command)
	command.RunE = func(command *cobra.Command, _ []string) error {
		loaded, err := p.loadConfig(command)
		if err != nil {
			return err
		}
		return p.serve(command.Context(), loaded)
	}
	return command
}

// serve runs the server until ctx ends.
func (p *Program) serve(ctx context.Context, loaded *config.Loaded) (err error) {
	if err := p.adopt(ctx, loaded); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.serving.close(context.WithoutCancel(ctx))) }()
	app, err := p.open(ctx, kindServe, needHost)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.close(context.WithoutCancel(ctx))) }()
	d, err := p.listen(app, loaded.Addr)
	if err != nil {
		return err
	}
	if err := p.showFirstKey(context.WithoutCancel(ctx), app.store.keys); err != nil {
		return errors.Join(err, d.close())
	}
	return d.run(ctx, loaded.Drain)
}

// showFirstKey makes an administrator's key if there is none, and prints it.
func (p *Program) showFirstKey(ctx context.Context, keys *identity.Store) error {
	secret, made, err := keys.Bootstrap(ctx)
	if err != nil || !made {
		return err
	}
	return p.printText("The first administrator's key, shown only this once:\n\n    " + secret + "\n\n" +
		"Send it as Authorization: Bearer KEY. vcphost key add makes others.\n")
}

// daemon is a server with its listeners.
type daemon struct {
	app    *application
	server *server.Server
	logger *slog.Logger
	tcp    net.Listener
	socket net.Listener // nil where the system has no such sockets
}

// listen makes the listeners, so that what is wrong with them shows at once.
func (p *Program) listen(app *application, addr string) (*daemon, error) {
	settings, err := p.serverOptions(app)
	if err != nil {
		return nil, err
	}
	if err := p.serving.complete(&settings, app); err != nil {
		return nil, err
	}
	d := &daemon{app: app, logger: p.logger()}
	if d.tcp, err = net.Listen("tcp", addr); err != nil {
		return nil, fmt.Errorf("--addr %s: %w", addr, err)
	}
	if hasSocket {
		socket, err := listenSocket(app.store.dir)
		if err != nil {
			return nil, errors.Join(err, d.tcp.Close())
		}
		d.socket = socket
	}
	d.server = server.New(settings)
	return d, nil
}

// close ends listeners that nobody serves.
func (d *daemon) close() error {
	err := d.tcp.Close()
	if d.socket != nil {
		err = errors.Join(err, d.socket.Close())
	}
	return errors.Join(err, removeSocket(d.app.store.dir), d.server.Close(context.Background()))
}

// run answers requests until ctx ends, or a listener fails, and then until the
// running requests are answered.
func (d *daemon) run(ctx context.Context, drain time.Duration) error {
	jobs := startJobs(d.app, d.logger)
	failed := make(chan error, 2)
	listeners := 1
	go func() { failed <- d.server.Serve(d.tcp) }()
	if d.socket != nil {
		listeners++
		go func() { failed <- d.server.ServeTrusted(d.socket, localIdentity()) }()
	}
	d.logger.Info("serving", "addr", d.tcp.Addr().String(), "data", d.app.store.dir)
	var err error
	select {
	case <-ctx.Done():
		d.logger.Info("stopping", "drain", drain.String())
	case err = <-failed:
		listeners--
	}
	errs := []error{err, removeSocket(d.app.store.dir)}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	errs = append(errs, d.server.Close(limit))
	for range listeners {
		errs = append(errs, <-failed)
	}
	jobs.stop()
	// No loss, and a full disk is no failure of the stop.
	jobs.tell("the use of keys could not be saved", d.app.store.keys.Flush(context.WithoutCancel(ctx)))
	d.logger.Info("stopped")
	return errors.Join(errs...)
}
