package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vcphost/internal/kv"
	"vcphost/server"
	"vcphost/server/identity"
	"vcphost/server/servertest"
)

func withBackup(make func(ctx context.Context, w io.Writer) error) *servertest.Options {
	return &servertest.Options{Change: func(o *server.Options) { o.API.Backup = make }}
}

func TestABackupIsDownloadedByAdministratorsOnly(t *testing.T) {
	db := kv.NewMemory()
	defer db.Close()
	var b kv.Batch
	b.Set([]byte("a"), bytes.Repeat([]byte("x"), 1<<20))
	if err := db.Apply(&b); err != nil {
		t.Fatal(err)
	}
	s := servertest.Start(t, withBackup(func(ctx context.Context, w io.Writer) error { return kv.Backup(ctx, db, w) }))
	status, header, raw := s.Do(t, "GET", "/v1/backup", "", "")
	if status != 200 || header.Get("Content-Type") != "application/octet-stream" || header.Get("Cache-Control") != "no-store" ||
		!strings.HasPrefix(header.Get("Content-Disposition"), `attachment; filename="vcphost-2`) {
		t.Errorf("got %d, %v", status, header)
	}
	if done, err := kv.Restore(t.Context(), filepath.Join(t.TempDir(), "store"), bytes.NewReader(raw), nil); err != nil || done.Entries != 1 {
		t.Errorf("Restore = %+v, %v", done, err)
	}
	most := s.Key(t, identity.KeySpec{Scopes: identity.Scopes{
		identity.ScopeToolsCall + "*", identity.ScopeToolsList, identity.ScopeResourcesRead, identity.ScopeResultsRead, identity.ScopePluginsAdmin, identity.ScopeKeysAdmin, identity.ScopeStatsRead,
	}})
	for secret, want := range map[string]int{most: 403, "": 401, "wrong": 401} {
		if status, _, body := s.As(secret).Do(t, "GET", "/v1/backup", "", ""); status != want || bytes.Contains(body, []byte("vcphost-backup")) {
			t.Errorf("got %d, want %d", status, want)
		}
	}
	if status, _, _ := servertest.Start(t, nil).Do(t, "GET", "/v1/backup", "", ""); status != 404 {
		t.Errorf("a server without backups answers %d", status)
	}
}

func TestABackupThatFailsBreaksOff(t *testing.T) {
	s := servertest.Start(t, withBackup(func(_ context.Context, w io.Writer) error {
		if _, err := w.Write(make([]byte, 300<<10)); err != nil {
			return err
		}
		return errors.New("the disk is broken")
	}))
	for range 2 { // and the next one begins
		response := get(t, t.Context(), s, "/v1/backup")
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != 200 || err == nil {
			t.Errorf("got %d with %d bytes and no error", response.StatusCode, len(body))
		}
	}
	if status, _, _ := s.Do(t, "GET", "/healthz", "", ""); status != 200 {
		t.Errorf("afterwards the server answers %d", status)
	}
}

// TestOneBackupAtATime: a second is refused, and a client that leaves ends its
// backup.
func TestOneBackupAtATime(t *testing.T) {
	ended := make(chan error, 1)
	s := servertest.Start(t, withBackup(func(_ context.Context, w io.Writer) error {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				ended <- err
				return err
			}
		}
	}))
	ctx, leave := context.WithCancel(t.Context())
	response := get(t, ctx, s, "/v1/backup")
	if status, _, body := s.Do(t, "GET", "/v1/backup", "", ""); status != 409 {
		t.Errorf("a second backup got %d %.200s", status, body)
	}
	leave()
	response.Body.Close()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the backup goes on without its client")
	}
}

// TestAClientThatTakesNothingIsLeft: a backup holds the store's garbage back, so
// it does not wait for ever.
func TestAClientThatTakesNothingIsLeft(t *testing.T) {
	ended := make(chan error, 1)
	opts := withBackup(func(_ context.Context, w io.Writer) error {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				ended <- err
				return err
			}
		}
	})
	makeBackup := opts.Change
	opts.Change = func(o *server.Options) {
		makeBackup(o)
		o.API.TransferStall = 200 * time.Millisecond
	}
	response := get(t, t.Context(), servertest.Start(t, opts), "/v1/backup")
	defer response.Body.Close()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the backup waits for its client")
	}
}

func get(t *testing.T, ctx context.Context, s *servertest.Server, path string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, "GET", s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.Secret)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}
