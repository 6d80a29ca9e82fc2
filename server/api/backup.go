package api

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

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
	*sending
	reader *io.PipeReader
	cancel context.CancelFunc
	making sync.WaitGroup
}

// startBackup begins a backup and marks it as over when it is.
func (r *Request) startBackup(running *atomic.Bool) *backupBody {
	a, id := r.api, r.ID
	ctx, cancel := context.WithCancel(a.opts.Lifetime)
	reader, writer := io.Pipe()
	body := &backupBody{sending: r.startSending(), reader: reader, cancel: cancel}
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
	if stopped := b.extend(); stopped != nil {
		return 0, stopped
	}
	return n, err
}

// Close ends the backup.
func (b *backupBody) Close() error {
	b.cancel()
	err := b.reader.Close()
	b.making.Wait()
	b.end()
	return err
}
