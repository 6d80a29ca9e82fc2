package api

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"vcphost/server/identity"
	"vcphost/server/problem"
)

func (a *API) backupRoutes() []Route {
	if a.opts.Backup == nil {
		return nil
	}
	running := new(atomic.Bool)
	return []Route{{
		Method: "GET", Path: "/v1/backup", Scope: identity.ScopeAdmin, OperationID: "getBackup",
		Summary: "A backup of the whole store as of one moment, while it is in use; one at a time",
		Doc:     Doc{Responses: map[int]Content{200: {Type: "application/octet-stream"}}},
		Handle:  func(r *Request) error { return a.streamBackup(r, running) },
	}}
}

// streamBackup answers with a backup that is made as the client takes it. One
// that fails breaks the connection off instead of ending the body, and lacks its
// digest, so that nobody takes what there is of it for whole.
func (a *API) streamBackup(r *Request, running *atomic.Bool) error {
	if !running.CompareAndSwap(false, true) {
		return problem.Conflict("a backup is being made; one is made at a time")
	}
	r.fiber.Set(fiber.HeaderContentType, fiber.MIMEOctetStream)
	r.fiber.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	r.fiber.Set(fiber.HeaderCacheControl, "no-store")
	r.fiber.Set(fiber.HeaderContentDisposition, `attachment; filename="vcphost-`+a.opts.Now().UTC().Format(time.DateOnly)+`.backup"`)
	r.fiber.Context().SetBodyStream(r.startBackup(running), -1)
	return nil
}

// backupBody is a backup on its way to a client. Its Close ends it, and waits for
// that.
type backupBody struct {
	reader   *io.PipeReader
	conn     *fasthttp.RequestCtx
	lifetime context.Context // of the server
	stall    time.Duration
	cancel   context.CancelFunc
	release  func()

	making  sync.WaitGroup
	unhook  func() bool
	stopped chan struct{} // closed when the server's end has reached the connection
}

// startBackup begins a backup and marks it as over when it is.
func (r *Request) startBackup(running *atomic.Bool) *backupBody {
	a, id := r.api, r.ID
	ctx, cancel := context.WithCancel(a.opts.Lifetime)
	reader, writer := io.Pipe()
	body := &backupBody{
		reader: reader, conn: r.fiber.Context(), lifetime: a.opts.Lifetime, stall: a.opts.TransferStall,
		cancel: cancel, release: r.detach(), stopped: make(chan struct{}),
	}
	body.unhook = context.AfterFunc(a.opts.Lifetime, func() {
		defer close(body.stopped)
		_ = body.conn.SetWriteDeadline(time.Unix(1, 0)) // ends a write that waits for the client
	})
	body.making.Go(func() {
		defer running.Store(false)
		err := a.opts.Backup(ctx, writer)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) && ctx.Err() == nil {
			a.opts.Logger.ErrorContext(ctx, "a backup failed", "requestId", id, "error", err)
		}
		_ = writer.CloseWithError(err) // never fails
	})
	return body
}

// Read implements [io.Reader]. Each piece gives the client the stall time anew.
func (b *backupBody) Read(p []byte) (int, error) {
	n, err := b.reader.Read(p)
	_ = b.conn.SetWriteDeadline(time.Now().Add(b.stall)) // a connection that takes none fails when it is written to
	// In this order: the server's end either finds this deadline or is found here.
	if b.lifetime.Err() != nil {
		return 0, context.Cause(b.lifetime)
	}
	return n, err
}

// Close ends the backup.
func (b *backupBody) Close() error {
	if !b.unhook() {
		<-b.stopped // else it could reach the connection's next request
	}
	b.cancel()
	err := b.reader.Close()
	b.making.Wait()
	b.release()
	return err
}
