package resources

import (
	"bytes"
	"context"
	"io"
	"testing"

	"vcphost/abi"
	"vcphost/internal/kv"
)

func alice() abi.Owner { return abi.Owner{Tenant: "default", Actor: "alice"} }

func viewer(o abi.Owner) abi.Viewer { return abi.Viewer{Owner: o} }

func newStore(t *testing.T, db kv.DB, opts *Options) *Store {
	t.Helper()
	s, err := Open(db, opts)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

// write begins, writes and closes one output.
func write(t *testing.T, c *Session, draft abi.ResourceDraft, content []byte) {
	t.Helper()
	sink, err := c.Create(context.Background(), draft)
	if err != nil {
		t.Fatalf("Create %s: %v", draft.ID, err)
	}
	if _, err := sink.Write(content); err != nil {
		t.Fatalf("Write %s: %v", draft.ID, err)
	}
	if err := sink.Close(); err != nil {
		t.Fatalf("Close %s: %v", draft.ID, err)
	}
}

func readAll(t *testing.T, s *Store, v abi.Viewer, id string) []byte {
	t.Helper()
	r, err := s.OpenReader(context.Background(), v, id)
	if err != nil {
		t.Fatalf("OpenReader %s: %v", id, err)
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read %s: %v", id, err)
	}
	return content
}

func TestWhatIsPublishedComesBack(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, kv.NewMemory(), &Options{BaseURL: "https://vcp.example/v1/resources/"})
	c := s.Begin(alice(), "CsvChart", Limits{})
	write(t, c, abi.ResourceDraft{ID: "notes", FileName: "notes.md"}, []byte("# Title\n"))

	id := c.Finished()[0].Resource.ID
	if _, err := s.Describe(ctx, viewer(alice()), id); abi.CodeOf(err) != abi.CodeFileNotFound {
		t.Errorf("before Publish: got %v, want FILE_NOT_FOUND", err)
	}
	if err := c.Publish(ctx); err != nil {
		t.Fatalf("Publish: %v", err)
	}
	got, err := s.Describe(ctx, viewer(alice()), id)
	if err != nil {
		t.Fatalf("Describe: %v", err)
	}
	if got.MIMEType != "text/markdown" || got.Kind != abi.KindText || got.Role != abi.RoleOutput || got.SizeBytes != 8 ||
		got.Source != (abi.ResourceSource{Type: abi.SourceGenerated, Provider: "CsvChart"}) ||
		got.URL == nil || *got.URL != "https://vcp.example/v1/resources/"+id {
		t.Errorf("descriptor: got %+v", got)
	}
	if content := readAll(t, s, viewer(alice()), id); !bytes.Equal(content, []byte("# Title\n")) {
		t.Errorf("content: got %q", content)
	}
}
