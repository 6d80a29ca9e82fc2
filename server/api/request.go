package api

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"vcphost/abi"
	"vcphost/internal/ids"
	"vcphost/server/identity"
	"vcphost/server/problem"
)

// Request is one request on its way through a route: who asks, under which id,
// and copies of what was asked. The context ends when the server stops or the
// handler returns.
type Request struct {
	api   *API
	route Route
	fiber *fiber.Ctx
	ctx   context.Context

	release  func() // gives the place within the bounds back; nil without one
	detached bool   // somebody else calls release

	ID       string // of the request, echoed in X-Request-Id
	Identity *identity.Identity
	body     *requestBody
	trusted  bool             // the connection itself, not a key, says who asks
	source   abi.OriginSource // of calls
	watch    watch
}

// handler wraps a route in what every request owes: an id, a known caller, the
// scope, a place within the bounds, and an answer whatever happens.
func (a *API) handler(route Route) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := context.WithCancel(a.opts.Lifetime)
		defer cancel()
		r := &Request{api: a, route: route, fiber: c, ctx: ctx, body: newRequestBody(c), source: abi.FromHumanTool}
		r.identify()
		r.observe()
		err := r.safely(r.serve)
		if err != nil {
			r.fail(err)
		}
		r.answered(err)
		return nil
	}
}

func (r *Request) serve() error {
	if r.route.Public {
		return r.route.Handle(r)
	}
	if err := r.authorize(); err != nil {
		return err
	}
	if r.route.Limited && r.api.opts.Admission != nil {
		if err := r.admit(); err != nil {
			return err
		}
		defer r.leave()
	}
	return r.route.Handle(r)
}

// admit waits for a place within the bounds. Nothing is begun for a client that
// left while it waited.
func (r *Request) admit() error {
	began := time.Now()
	release, err := r.api.opts.Admission.Admit(r.ctx, r.Identity)
	if err != nil {
		return err
	}
	if time.Since(began) > leaveInterval && peerLeft(plainConn(r.fiber.Context().Conn())) {
		release()
		return problem.Unavailable(time.Second, "the client left while it waited")
	}
	r.release = release
	return nil
}

func (r *Request) leave() {
	if !r.detached {
		r.release()
	}
}

// detach hands the place within the bounds to work that outlives the handler,
// and gives the function that ends it, and the request with it.
func (r *Request) detach() (release func()) {
	r.detached = true
	end := r.outlive()
	if r.release == nil {
		return end
	}
	return func() {
		r.release()
		end()
	}
}

// maxRequestIDBytes bounds an id that the caller gives.
const maxRequestIDBytes = 128

// identify takes the caller's request id if it is harmless, else makes one.
func (r *Request) identify() {
	r.ID = r.Header(fiber.HeaderXRequestID)
	if r.ID == "" || len(r.ID) > maxRequestIDBytes || strings.ContainsFunc(r.ID, func(c rune) bool { return c <= ' ' || c > '~' }) {
		r.ID = r.api.opts.IDs.New(ids.Request)
	}
	r.fiber.Set(fiber.HeaderXRequestID, r.ID)
}

// authorize lets through what the route's own proof or a key allows.
func (r *Request) authorize() error {
	if r.route.Alternative != nil {
		who, err := r.route.Alternative(r)
		if err != nil || who != nil {
			r.Identity = who
			return err
		}
	}
	if err := r.authenticate(); err != nil {
		return err
	}
	if r.route.Local && !r.trusted {
		return problem.NotFound("")
	}
	if r.route.Scope != "" && !r.Identity.Scopes.Allow(r.route.Scope) {
		return problem.Forbidden("the key lacks the scope %s", r.route.Scope)
	}
	return nil
}

// authenticate tells who asks: by a key, or without one by the connection where
// that is trusted.
func (r *Request) authenticate() error {
	if who := trustedBy(r.fiber.Context().Conn()); who != nil && r.Header(fiber.HeaderAuthorization) == "" {
		r.Identity, r.trusted = who, true
		return nil
	}
	scheme, secret, ok := strings.Cut(r.Header(fiber.HeaderAuthorization), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || secret == "" {
		r.fiber.Set(fiber.HeaderWWWAuthenticate, "Bearer")
		return problem.Unauthorized()
	}
	who, err := r.api.opts.Keys.Authenticate(r.ctx, secret)
	if err != nil {
		r.fiber.Set(fiber.HeaderWWWAuthenticate, `Bearer error="invalid_token"`)
		return problem.Unauthorized()
	}
	r.Identity = who
	return nil
}

func (r *Request) safely(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r.api.opts.Logger.ErrorContext(r.ctx, "a handler panicked", "requestId", r.ID, "panic", cause, "stack", string(debug.Stack()))
			err = problem.Internal()
		}
	}()
	return do()
}

// fail answers with a problem.
func (r *Request) fail(err error) {
	var told *problem.Problem
	if !errors.As(err, &told) {
		r.api.opts.Logger.ErrorContext(r.ctx, "a request failed", "requestId", r.ID, "route", r.route.Path, "error", err)
		told = problem.Internal()
		if r.trusted { // whoever reads this may read the log as well
			told.Detail = err.Error()
		}
	}
	answer := *told
	answer.RequestID, answer.Instance = r.ID, strings.Clone(r.fiber.Path())
	WriteProblem(r.fiber, &answer)
}

// WriteProblem makes a problem the whole answer.
func WriteProblem(c *fiber.Ctx, told *problem.Problem) {
	c.Response().ResetBody()
	c.Status(told.HTTPStatus())
	if told.HTTPStatus() == fiber.StatusRequestEntityTooLarge {
		c.Response().SetConnectionClose() // the rest of the body is not read
	}
	if seconds := told.RetryAfterSeconds(); seconds > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.FormatInt(seconds, 10))
	}
	c.Set(fiber.HeaderContentType, problem.MediaType)
	c.Response().SetBodyRaw(told.Bytes())
}

// Context ends when the request does.
func (r *Request) Context() context.Context { return r.ctx }

// Header gives a copy of a request header.
func (r *Request) Header(name string) string { return strings.Clone(r.fiber.Get(name)) }

// Query gives a copy of a query parameter.
func (r *Request) Query(name string) string { return strings.Clone(r.fiber.Query(name)) }

// Param gives a copy of a path parameter, percent-decoded once.
func (r *Request) Param(name string) string { return strings.Clone(r.fiber.Params(name)) }

// ContentType is the media type of the body without parameters.
func (r *Request) ContentType() string {
	return bareType(r.Header(fiber.HeaderContentType))
}

// BodyReader streams the body as it comes. A body that breaks off ends with
// io.ErrUnexpectedEOF.
func (r *Request) BodyReader() io.Reader { return r.body }

// Body reads the whole body, at most what the route takes, as it is: an encoded
// one is refused.
func (r *Request) Body() ([]byte, error) { return r.bodyWithin(r.route.MaxBody) }

func (r *Request) bodyWithin(limit int64) ([]byte, error) {
	if coding := r.Header(fiber.HeaderContentEncoding); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, problem.UnsupportedMediaType("the content encoding %.40q is not taken here", coding)
	}
	if r.body.left > limit {
		return nil, problem.PayloadTooLarge("the body has %d bytes, and at most %d are taken", r.body.left, limit)
	}
	body, err := io.ReadAll(io.LimitReader(r.BodyReader(), limit+1))
	var told *problem.Problem
	switch {
	case errors.As(err, &told):
		return nil, told
	case err != nil:
		return nil, problem.BadRequest("the body breaks off")
	case int64(len(body)) > limit:
		return nil, problem.PayloadTooLarge("at most %d bytes are taken", limit)
	}
	return body, nil
}

// JSON answers with a body that is JSON already.
func (r *Request) JSON(status int, body []byte) error {
	r.fiber.Status(status)
	r.fiber.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	r.fiber.Response().SetBodyRaw(body)
	return nil
}
