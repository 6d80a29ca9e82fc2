package api

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"vcphost/server/problem"
)

// Observer is told of every request. Its methods run on the request's own
// goroutine: they must be quick and must not wait. They are safe for concurrent
// use.
type Observer interface {
	// RequestBegins is told before anything is decided. The context that it
	// returns, ctx or one made from it, is what the handler and RequestEnds get.
	RequestBegins(ctx context.Context, request RequestBegin) context.Context
	// RequestEnds is told when the answer is complete: of a stream when it ends.
	RequestEnds(ctx context.Context, request RequestEnd)
}

// UnroutedRoute stands for the route of requests that no route takes.
const UnroutedRoute = "unrouted"

// RequestBegin is a request that begins.
type RequestBegin struct {
	// Route is the method and the path of the table of routes, as in "GET
	// /v1/results/{id}", or UnroutedRoute.
	Route string
	ID    string
	// Traceparent and Tracestate are the headers of W3C Trace Context as the
	// client sent them, "" where they are missing or too long.
	Traceparent, Tracestate string
	// SetHeader sets a header of the answer. It must not be called later than
	// RequestBegins returns.
	SetHeader func(name, value string)
}

// RequestEnd is a request that is over.
type RequestEnd struct {
	Route  string
	ID     string
	Status int // of the answer's head
	Took   time.Duration
	KeyID  string // of the caller, "" for nobody
}

// maxTraceBytes bounds a header of W3C Trace Context.
const maxTraceBytes = 1024

// watch is what is noted of a request for its observers and its line in the log.
type watch struct {
	began       time.Time
	open        atomic.Int32 // the handler, and the work that outlives it
	status      int
	err         error
	invocations []string // ids of the calls that were made
}

// maxInvocations bounds the ids in the line of one request.
const maxInvocations = 32

func (w *watch) called(invocationID string) {
	if len(w.invocations) < maxInvocations {
		w.invocations = append(w.invocations, invocationID)
	}
}

// name is the route as observers are told it.
func (r Route) name() string {
	if r.Method == "" {
		return r.Path
	}
	return r.Method + " " + r.Path
}

// observe begins to watch.
func (r *Request) observe() {
	r.watch.began = r.api.opts.Now()
	r.watch.open.Store(1)
	if len(r.api.opts.Observers) == 0 {
		return
	}
	begin := RequestBegin{
		Route: r.route.name(), ID: r.ID,
		Traceparent: r.traceHeader("Traceparent"), Tracestate: r.traceHeader("Tracestate"),
		SetHeader: func(name, value string) { r.fiber.Set(name, value) },
	}
	for _, observer := range r.api.opts.Observers {
		r.ctx = observer.RequestBegins(r.ctx, begin)
	}
}

func (r *Request) traceHeader(name string) string {
	if value := r.Header(name); len(value) <= maxTraceBytes {
		return value
	}
	return ""
}

// answered notes what the handler came to, and ends the watch unless work goes
// on after it.
func (r *Request) answered(err error) {
	r.watch.status, r.watch.err = r.fiber.Response().StatusCode(), err
	r.leaveOpen()
}

// outlive makes the watch go on until the returned function is called.
func (r *Request) outlive() (end func()) {
	r.watch.open.Add(1)
	return sync.OnceFunc(r.leaveOpen)
}

// leaveOpen ends the watch with the last of those who hold it open. It uses
// nothing of Fiber's.
func (r *Request) leaveOpen() {
	if r.watch.open.Add(-1) > 0 {
		return
	}
	end := RequestEnd{Route: r.route.name(), ID: r.ID, Status: r.watch.status, Took: r.api.opts.Now().Sub(r.watch.began)}
	if r.Identity != nil {
		end.KeyID = r.Identity.KeyID
	}
	for _, observer := range r.api.opts.Observers {
		observer.RequestEnds(r.ctx, end)
	}
	r.log(end)
}

// outliving gives a context for work that goes on when the handler has
// returned: it has the request's values, and ends with the server.
func (r *Request) outliving() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	stop := context.AfterFunc(r.api.opts.Lifetime, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// log writes the one line of a request.
func (r *Request) log(end RequestEnd) {
	attributes := make([]slog.Attr, 0, 8)
	attributes = append(attributes,
		slog.String("requestId", end.ID), slog.String("route", end.Route),
		slog.Int("status", end.Status), slog.Float64("durationMs", float64(end.Took.Microseconds())/1000))
	if end.KeyID != "" {
		attributes = append(attributes, slog.String("keyId", end.KeyID))
	}
	switch len(r.watch.invocations) {
	case 0:
	case 1:
		attributes = append(attributes, slog.String("invocationId", r.watch.invocations[0]))
	default:
		attributes = append(attributes, slog.String("invocationIds", strings.Join(r.watch.invocations, " ")))
	}
	if r.watch.err != nil {
		attributes = append(attributes, slog.String("problem", r.watch.err.Error()))
	}
	r.api.opts.Logger.LogAttrs(r.ctx, slog.LevelInfo, "request", attributes...)
}

// Unrouted answers a request that no route takes, and watches it like others.
func (a *API) Unrouted(c *fiber.Ctx, told *problem.Problem) error {
	return a.handler(Route{Path: UnroutedRoute, Public: true, Handle: func(*Request) error { return told }})(c)
}
