// Package api is the host's HTTP API: its routes as one table, and their
// handlers. A handler parses, asks the host, and presents; it decides nothing
// that the host decides.
//
// # Promises
//
// Every route but the few public ones has a scope, and a request gets no
// further without a key that has it (deny by default). Errors that are no tool
// results are application/problem+json. Nothing of Fiber's pooled memory
// outlives a handler: [Request] copies at the edge.
package api

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"vcphost/abi"
	"vcphost/host/record"
	"vcphost/host/registry"
	"vcphost/internal/ids"
	"vcphost/resources"
	"vcphost/server/identity"
	"vcphost/server/local"
	"vcphost/server/signedurl"
)

// Executor runs one call and always answers with a canonical result.
type Executor interface {
	Execute(ctx context.Context, call *abi.Call) *abi.Result
}

// Authenticator tells who has a secret.
type Authenticator interface {
	Authenticate(ctx context.Context, secret string) (*identity.Identity, error)
}

// Options are what an API stands on. Host, Registry, Resources, Results and
// Keys are required.
type Options struct {
	Host      Executor
	Registry  *registry.Registry
	Resources *resources.Store
	Results   *record.Store
	Keys      Authenticator
	KeyStore  *identity.Store // for the keys' own routes; nil leaves them out
	Admission Admission       // nil admits everything
	Observers []Observer      // are told of every request, in this order; none is nil
	Metrics   Metrics         // nil leaves /metrics out, and the calls out of the statistics
	Gauges    Gauges
	Logger    *slog.Logger
	IDs       *ids.Source
	Now       func() time.Time
	// MaxUploadBytes bounds one upload; zero or less means 1 GiB.
	MaxUploadBytes int64
	// TransferStall is how long the client of an upload or a download may take
	// for 128 KiB; zero or less means a minute.
	TransferStall time.Duration
	URLs          *signedurl.Signer // nil: there are no signed URLs
	// Prepare opens what a plugin runs on, so that what is wrong with it shows;
	// nil leaves plugins unopened.
	Prepare func(ctx context.Context, plugin *registry.Plugin) (notices []string, err error)
	// Backup writes a backup of the whole store; nil leaves /v1/backup out.
	Backup func(ctx context.Context, w io.Writer) error
	// Process is told on trusted connections, with MaxUploadBytes added.
	Process local.Process
	// Lifetime ends when the server stops; requests that still run end with it.
	Lifetime context.Context
}

// Admission bounds how much runs at a time. Admit waits for a place within the
// bounds of the caller's key, and release gives it back; the error is a
// *problem.Problem.
type Admission interface {
	Admit(ctx context.Context, who *identity.Identity) (release func(), err error)
}

// API is the table of routes and what their handlers need. It is safe for
// concurrent use.
type API struct {
	opts    Options
	running *running
	started time.Time
	routes  []Route
	// shortBody is a length of a body that every route with one takes.
	shortBody int64

	documents documents
}

// New makes the API.
func New(opts Options) *API {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.IDs == nil {
		opts.IDs = ids.NewSource(opts.Now)
	}
	if opts.Lifetime == nil {
		opts.Lifetime = context.Background()
	}
	opts.boundTransfers()
	a := &API{opts: opts, running: newRunning(), started: opts.Now()}
	a.routes = a.table()
	a.shortBody = a.shortestLimit()
	return a
}

// Route is one endpoint: how it is reached, who may, and what it does.
type Route struct {
	Method string
	Path   string // as OpenAPI writes it: /v1/results/{id}
	// Scope is what a key must have; it is empty only for public routes and for
	// those that check the tool that is called.
	Scope       identity.Scope
	Public      bool
	Alternative Alternative // nil: nothing but a key with the scope opens the route
	PerTool     bool        // the handler checks: tools:call for the tool, or whose call it is
	MaxBody     int64       // largest body that is taken, in bytes; 0 is none, or known to the handler alone
	MaxForm     int64       // the same of a multipart body; 0 is no difference
	Limited     bool        // counts against the bounds of concurrency and rate
	Local       bool        // answers on trusted connections only; elsewhere there is nothing here
	OperationID string
	Summary     string
	Doc         Doc
	Handle      func(r *Request) error
}

// Alternative looks for a proof other than a key, such as a signature in the
// URL, and gives the identity for which it stands. Nil means that the request
// brings none, and needs a key; an error is the answer to a proof that fails.
type Alternative func(r *Request) (*identity.Identity, error)

// Doc is what the API's own description says of a route's bodies.
type Doc struct {
	Parameters []Parameter
	// RequestTypes lists the content types that are taken, by the name of the
	// schema of each; nil means no body.
	RequestTypes map[string]string
	// Responses maps a status to a content type and the name of its schema.
	Responses map[int]Content
	Streams   bool // a status of 200 may be a stream of events instead
}

// Parameter is a query, path or header parameter of a route.
type Parameter struct {
	Name, In, Type, Description string
	Required                    bool
	Schema                      string // JSON Schema of the value; "" is any value of Type
}

// Content is a body: its type and the name of its schema, "" where the bytes
// have none.
type Content struct{ Type, Schema string }

// Routes lists the endpoints in the order of their documentation. Those of
// LocalRoutes are not among them.
func (a *API) Routes() []Route { return a.routes }

func (a *API) table() []Route {
	var list []Route
	for _, part := range [][]Route{
		a.toolRoutes(), a.resultRoutes(), a.callRoutes(), a.keyRoutes(), a.healthRoutes(), a.statsRoutes(), a.resourceRoutes(), a.breakerRoutes(),
		a.openapiRoutes(), a.docsRoutes(), a.backupRoutes(),
	} {
		list = append(list, part...)
	}
	return withHeads(list)
}

// withHeads gives each GET route its HEAD, where it has none of its own: the
// same handler, of whose answer the connection sends the head alone.
func withHeads(list []Route) []Route {
	var all []Route
	for _, route := range list {
		all = append(all, route)
		if route.Method != fiber.MethodGet || slices.ContainsFunc(list, func(other Route) bool {
			return other.Method == fiber.MethodHead && other.Path == route.Path
		}) {
			continue
		}
		route.Method, route.Summary = fiber.MethodHead, "What a GET would say before its body"
		route.OperationID = "head" + strings.ToUpper(route.OperationID[:1]) + route.OperationID[1:]
		all = append(all, route)
	}
	return all
}

// Register adds every route to a Fiber app.
func (a *API) Register(app fiber.Router) {
	for _, route := range slices.Concat(a.routes, withHeads(a.LocalRoutes())) {
		app.Add(route.Method, fiberPath(route.Path), a.handler(route))
	}
}

// fiberPath writes /v1/results/{id} as /v1/results/:id.
func fiberPath(path string) string {
	out := make([]byte, 0, len(path))
	for i := range len(path) {
		switch path[i] {
		case '{':
			out = append(out, ':')
		case '}':
		default:
			out = append(out, path[i])
		}
	}
	return string(out)
}
