package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"vcphost/server/api"
	"vcphost/server/identity"
	"vcphost/server/problem"
)

// Options are settings of a server. API is required.
type Options struct {
	// API makes the routes; its Lifetime is set by the server.
	API    api.Options
	Logger *slog.Logger
	// Limits of a connection; a zero field means its default.
	ReadTimeout    time.Duration // for a whole request head and body; default 30 s
	WriteTimeout   time.Duration // for 64 KiB of an answer; default 30 s
	IdleTimeout    time.Duration // of a kept connection; default 60 s
	MaxHeaderBytes int           // of a request's head, held by every connection but parked ones; default 6 KiB
	MaxConnections int           // at a time, of each listener; default 16,384
}

const (
	defaultReadTimeout    = 30 * time.Second
	defaultWriteTimeout   = 30 * time.Second
	defaultIdleTimeout    = time.Minute
	defaultMaxHeaderBytes = 6 << 10
	defaultMaxConnections = 16 << 10
	// bodyPrefetch is how much of a body is read before its handler runs; the
	// handler's own limit decides how much of it is taken.
	bodyPrefetch = 64 << 10
)

// Server answers HTTP on any number of listeners. It is safe for concurrent
// use.
type Server struct {
	app  *fiber.App
	api  *api.API
	stop context.CancelFunc

	maxConnections int
	writeTimeout   time.Duration
	partings       *partings

	mu        sync.Mutex
	serving   sync.WaitGroup
	listeners []net.Listener
	closed    bool
}

// New makes a server. Close it whether or not it ever served.
func New(opts Options) *Server {
	lifetime, stop := context.WithCancel(context.Background())
	opts.API.Lifetime = lifetime
	if opts.API.Logger == nil {
		opts.API.Logger = opts.Logger
	}
	s := &Server{
		api: api.New(opts.API), stop: stop, partings: newPartings(),
		maxConnections: orDefault(opts.MaxConnections, defaultMaxConnections),
		writeTimeout:   orDefault(opts.WriteTimeout, defaultWriteTimeout),
	}
	s.app = fiber.New(opts.fiber(s.unrouted))
	s.app.Server().NoDefaultServerHeader = true
	s.app.Server().CloseOnShutdown = true       // clients learn that the connection ends with the answer
	s.app.Server().SecureErrorLogMessage = true // a header holds a key
	s.app.Server().HeaderReceived = func(header *fasthttp.RequestHeader) (unchanged fasthttp.RequestConfig) {
		s.api.Announced(header)
		return unchanged
	}
	s.app.Server().ConnState = connectionState
	s.app.Server().MaxIdleWorkerDuration = workerIdle
	s.app.Server().Logger = connectionLog{opts.API.Logger}
	s.app.Use(s.strict)
	s.app.Server().Handler = knownMethods(s.app.Server().Handler)
	s.api.Register(s.app)
	return s
}

// knownMethods gives a method that Fiber does not know the name of one that no
// route has: Fiber would answer it by itself, and not with a problem.
func knownMethods(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if !slices.Contains(fiber.DefaultMethods, string(ctx.Method())) {
			ctx.Request.Header.SetMethod(fiber.MethodTrace)
		}
		next(ctx)
	}
}

func (o Options) fiber(unrouted fiber.ErrorHandler) fiber.Config {
	return fiber.Config{
		AppName: "vcphost", DisableStartupMessage: true, StrictRouting: true, CaseSensitive: true, UnescapePath: true,
		StreamRequestBody: true, ReduceMemoryUsage: true, DisablePreParseMultipartForm: true, BodyLimit: bodyPrefetch,
		ReadTimeout:    orDefault(o.ReadTimeout, defaultReadTimeout),
		IdleTimeout:    orDefault(o.IdleTimeout, defaultIdleTimeout),
		ReadBufferSize: orDefault(o.MaxHeaderBytes, defaultMaxHeaderBytes),
		// The listener has the bound; a worker may outlive its connection a little.
		Concurrency:  2 * orDefault(o.MaxConnections, defaultMaxConnections),
		ErrorHandler: unrouted,
	}
}

// strict lets through what every program reads alike.
func (s *Server) strict(c *fiber.Ctx) error {
	if told := strict(c.Request()); told != nil {
		c.Response().SetConnectionClose()
		return s.api.Unrouted(c, told)
	}
	return c.Next()
}

// connectionLog takes what fasthttp says of connections that broke.
type connectionLog struct{ logger *slog.Logger }

// Printf implements fasthttp's logger.
func (l connectionLog) Printf(format string, args ...any) {
	if l.logger != nil {
		l.logger.Debug("a connection failed", "reason", fmt.Sprintf(format, args...))
	}
}

func orDefault[T time.Duration | int](value, missing T) T {
	if value <= 0 {
		return missing
	}
	return value
}

// unrouted answers what reached no route: a path or a method that there is not,
// or a request that could not be read.
func (s *Server) unrouted(c *fiber.Ctx, err error) error {
	status := fiber.StatusInternalServerError
	var told *fiber.Error
	if errors.As(err, &told) {
		status = told.Code
	}
	return s.api.Unrouted(c, problem.ForStatus(status))
}

// API gives the table of routes.
func (s *Server) API() *api.API { return s.api }

// Serve answers on a listener until the server is closed. It returns nil then,
// also where the server was closed before.
func (s *Server) Serve(listener net.Listener) error { return s.serve(s.limited(listener)) }

func (s *Server) limited(l net.Listener) net.Listener {
	return newListener(l, s.maxConnections, s.writeTimeout, s.partings)
}

func (s *Server) serve(listener net.Listener) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return listener.Close()
	}
	s.listeners = append(s.listeners, listener)
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()
	if err := s.app.Listener(listener); err != nil {
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	}
	return nil
}

// ServeTrusted answers on a listener whose connections speak for who without a
// key, until the server is closed. See [api.Trusted] for which listeners can.
func (s *Server) ServeTrusted(listener net.Listener, who *identity.Identity) error {
	trusted, err := api.Trusted(s.limited(listener), who)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return s.serve(trusted)
}

// Close stops taking requests and waits for those that run. When ctx ends
// before they do, their calls are cancelled, and their answers say so.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	defer s.stop()
	cancelLate := context.AfterFunc(ctx, s.stop)
	defer cancelLate()
	err := s.app.ShutdownWithTimeout(closeLimit(ctx))
	for _, listener := range s.listeners { // nobody adds one any more
		// Closed already, unless fasthttp had not begun with it.
		_ = listener.Close()
	}
	s.serving.Wait()
	s.partings.close()
	if err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	return nil
}

// lateAnswers is how long cancelled calls have to answer once the time for
// closing is over.
const lateAnswers = 5 * time.Second

func closeLimit(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Hour
	}
	return max(time.Until(deadline), 0) + lateAnswers
}
