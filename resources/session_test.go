package resources

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/internal/kv"
)

// rows counts the keys of a database by their first segment.
func rows(t *testing.T, db kv.DB) map[string]int {
	t.Helper()
	counts := map[string]int{}
	err := db.Scan(nil, func(key, _ []byte) bool {
		name, rest, _ := strings.Cut(string(key), "/")
		if name == "res" {
			name += "/" + rest[:1]
		}
		counts[name]++
		return true
	})
	if err != nil {
		t.Fatalf("Scan: %v", err)
	}
	return counts
}

func TestLimits(t *testing.T) {
	ctx := context.Background()
	t.Run("bytes of all resources together", func(t *testing.T) {
		db := kv.NewMemory()
		c := newStore(t, db, nil).Begin(alice(), "p", Limits{MaxResourceBytes: 10})
		write(t, c, abi.ResourceDraft{ID: "a"}, []byte("123456"))
		sink, err := c.Create(ctx, abi.ResourceDraft{ID: "b"})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := sink.Write([]byte("7890")); n != 4 || err != nil {
			t.Errorf("up to the limit: got %d, %v", n, err)
		}
		if c.LimitHit() != nil {
			t.Errorf("at the limit: got %v, want none hit", c.LimitHit())
		}
		if n, err := sink.Write([]byte("x")); n != 0 || abi.CodeOf(err) != abi.CodeResourceTooLarge {
			t.Errorf("over the limit: got %d, %v", n, err)
		}
		want := `{"limit":"maxResourceBytes","allowed":10,"needed":11,"setting":"sandbox.maxResourceBytes"}`
		if hit := c.LimitHit(); hit == nil || string(hit.Details) != want {
			t.Errorf("LimitHit: got %v, want details %s", hit, want)
		}
		for name, err := range map[string]error{
			"another Write": func() error { _, err := sink.Write(nil); return err }(),
			"Close":         sink.Close(),
			"Create":        func() error { _, err := c.Create(ctx, abi.ResourceDraft{ID: "c"}); return err }(),
			"Publish":       c.Publish(ctx),
		} {
			if abi.CodeOf(err) != abi.CodeResourceTooLarge {
				t.Errorf("%s after it: got %v, want RESOURCE_TOO_LARGE", name, err)
			}
		}
		if err := c.Discard(); err != nil {
			t.Errorf("Discard: %v", err)
		}
		if left := rows(t, db); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
	t.Run("number of resources", func(t *testing.T) {
		c := newStore(t, kv.NewMemory(), nil).Begin(alice(), "p", Limits{MaxResources: 1})
		write(t, c, abi.ResourceDraft{ID: "a"}, nil)
		_, err := c.Create(ctx, abi.ResourceDraft{ID: "b"})
		want := `{"limit":"maxResources","allowed":1,"needed":2,"setting":"sandbox.maxResources"}`
		var hit *abi.Error
		if !errors.As(err, &hit) || hit.Code != abi.CodeResourceTooLarge || string(hit.Details) != want {
			t.Errorf("got %v, want details %s", err, want)
		}
	})
	t.Run("defaults", func(t *testing.T) {
		if got := (Limits{}).orDefaults(); got.MaxResources != 16 || got.MaxResourceBytes != 64<<20 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("none", func(t *testing.T) {
		c := newStore(t, kv.NewMemory(), nil).Begin(alice(), "p", Limits{MaxResources: -1, MaxResourceBytes: -1})
		_, err := c.Create(ctx, abi.ResourceDraft{ID: "a"})
		want := `{"limit":"maxResources","allowed":0,"needed":1,"setting":"sandbox.maxResources"}`
		var hit *abi.Error
		if !errors.As(err, &hit) || string(hit.Details) != want {
			t.Errorf("got %v, want details %s", err, want)
		}
	})
}

func TestDraftsThatAreRefused(t *testing.T) {
	long := strings.Repeat("x", 20<<10)
	negative := int64(-1)
	tests := []struct {
		name, target string
		draft        abi.ResourceDraft
	}{
		{"no id", "/id", abi.ResourceDraft{}},
		{"long id", "/id", abi.ResourceDraft{ID: long}},
		{"id that is not UTF-8", "/id", abi.ResourceDraft{ID: "a\xff"}},
		{"unknown kind", "/kind", abi.ResourceDraft{ID: "a", Kind: "picture"}},
		{"directory", "/kind", abi.ResourceDraft{ID: "a", Kind: abi.KindDirectory}},
		{"unknown role", "/role", abi.ResourceDraft{ID: "a", Role: "main"}},
		{"local path", "/localPath", abi.ResourceDraft{ID: "a", LocalPath: "x.png"}},
		{"file name that is not UTF-8", "/fileName", abi.ResourceDraft{ID: "a", FileName: "\xff"}},
		{"media type without a slash", "/mimeType", abi.ResourceDraft{ID: "a", MIMEType: "png"}},
		{"media type with half a slash", "/mimeType", abi.ResourceDraft{ID: "a", MIMEType: "image/"}},
		{"media type with a line feed", "/mimeType", abi.ResourceDraft{ID: "a", MIMEType: "image/png\nx: y"}},
		{"long media type", "/mimeType", abi.ResourceDraft{ID: "a", MIMEType: "image/" + long}},
		{"no pixels", "/dimensions", abi.ResourceDraft{ID: "a", Dimensions: &abi.Dimensions{Width: 5}}},
		{"negative duration", "/durationMs", abi.ResourceDraft{ID: "a", DurationMs: &negative}},
		{"unknown source", "/source/type", abi.ResourceDraft{ID: "a", Source: &abi.ResourceSource{Type: "magic"}}},
		{"long provider", "/source/provider", abi.ResourceDraft{ID: "a", Source: &abi.ResourceSource{Provider: long}}},
		{"metadata that is not JSON", "/metadata/a~1b", abi.ResourceDraft{ID: "a", Metadata: map[string]json.RawMessage{"a/b": []byte("{")}}},
		{"much metadata", "/metadata", abi.ResourceDraft{ID: "a", Metadata: map[string]json.RawMessage{"a": []byte(`"` + long + `"`)}}},
		{"metadata name that is not UTF-8", "/metadata", abi.ResourceDraft{ID: "a", Metadata: map[string]json.RawMessage{"\xff": []byte("1")}}},
	}
	c := newStore(t, kv.NewMemory(), nil).Begin(alice(), "p", Limits{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := c.Create(context.Background(), test.draft)
			var refused *abi.Error
			if !errors.As(err, &refused) || refused.Code != abi.CodeInvalidToolResult || refused.Target != test.target {
				t.Errorf("got %v, want INVALID_TOOL_RESULT at %s", err, test.target)
			} else if len(refused.Message) > 600 {
				t.Errorf("the message has %d bytes", len(refused.Message))
			}
		})
	}
	t.Run("an id twice", func(t *testing.T) {
		write(t, c, abi.ResourceDraft{ID: "twice"}, nil)
		if _, err := c.Create(context.Background(), abi.ResourceDraft{ID: "twice"}); abi.CodeOf(err) != abi.CodeInvalidToolResult {
			t.Errorf("got %v, want INVALID_TOOL_RESULT", err)
		}
	})
}

func TestDescribeFillsWhatIsEmpty(t *testing.T) {
	duration := int64(1500)
	tests := []struct {
		name            string
		content         []byte
		handle, payload abi.ResourceDraft
		check           func(abi.Resource) bool
	}{
		{"words", []byte("hello\n"),
			abi.ResourceDraft{},
			abi.ResourceDraft{FileName: "../a.md", Role: abi.RoleAttachment, Kind: abi.KindDocument,
				Source: &abi.ResourceSource{Type: abi.SourceUpload, Provider: "DMXAPI"}, Metadata: map[string]json.RawMessage{"k": []byte("1e400")}},
			func(r abi.Resource) bool {
				return r.FileName == "a.md" && r.MIMEType == "text/markdown" && r.Role == abi.RoleAttachment && r.Kind == abi.KindDocument &&
					r.Source == (abi.ResourceSource{Type: abi.SourceGenerated, Provider: "DMXAPI"}) && string(r.Metadata["k"]) == "1e400"
			}},
		{"what was said first stands", []byte("hello\n"),
			abi.ResourceDraft{FileName: "first.txt", Role: abi.RoleLog, Kind: abi.KindText, MIMEType: "text/plain", Metadata: map[string]json.RawMessage{"k": []byte("1")}},
			abi.ResourceDraft{FileName: "second.md", Role: abi.RoleOutput, Kind: abi.KindOther, MIMEType: "text/markdown", Metadata: map[string]json.RawMessage{"k": []byte("2"), "l": []byte("3")}},
			func(r abi.Resource) bool {
				return r.FileName == "first.txt" && r.Role == abi.RoleLog && r.Kind == abi.KindText && r.MIMEType == "text/plain" &&
					string(r.Metadata["k"]) == "1" && string(r.Metadata["l"]) == "3"
			}},
		{"facts stand", pngBytes(),
			abi.ResourceDraft{},
			abi.ResourceDraft{MIMEType: "image/gif", Dimensions: &abi.Dimensions{Width: 9999, Height: 9999}, DurationMs: &duration},
			func(r abi.Resource) bool {
				return r.MIMEType == "image/png" && *r.Dimensions == abi.Dimensions{Width: 7, Height: 5} && r.DurationMs == nil
			}},
		{"duration of a sound", riff("WAVE", "fmt ", make([]byte, 16)),
			abi.ResourceDraft{}, abi.ResourceDraft{DurationMs: &duration, Dimensions: &abi.Dimensions{Width: 1, Height: 1}},
			func(r abi.Resource) bool { return *r.DurationMs == 1500 && r.Dimensions == nil }},
		{"dimensions of an image that cannot be read", []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`),
			abi.ResourceDraft{}, abi.ResourceDraft{Dimensions: &abi.Dimensions{Width: 3, Height: 4}},
			func(r abi.Resource) bool { return *r.Dimensions == abi.Dimensions{Width: 3, Height: 4} }},
		{"no words at all", pngBytes(), abi.ResourceDraft{}, abi.ResourceDraft{},
			func(r abi.Resource) bool {
				return r.FileName == r.ID+".png" && r.Kind == abi.KindImage && r.Role == abi.RoleOutput && r.Metadata == nil
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStore(t, kv.NewMemory(), nil)
			c := s.Begin(alice(), "p", Limits{})
			test.handle.ID, test.payload.ID = "x", "x"
			write(t, c, test.handle, test.content)
			if err := c.Describe(test.payload); err != nil {
				t.Fatalf("Describe: %v", err)
			}
			announced := c.Finished()[0].Resource
			if !test.check(announced) {
				t.Errorf("got %+v", announced)
			}
			if err := c.Publish(context.Background()); err != nil {
				t.Fatal(err)
			}
			stored, err := s.Describe(context.Background(), viewer(alice()), announced.ID)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(stored)
			want, _ := json.Marshal(announced)
			if !bytes.Equal(got, want) {
				t.Errorf("stored %s, announced %s", got, want)
			}
		})
	}
}

func TestDescribeRefuses(t *testing.T) {
	c := newStore(t, kv.NewMemory(), nil).Begin(alice(), "p", Limits{})
	half := map[string]json.RawMessage{"a": []byte(`"` + strings.Repeat("x", 10<<10) + `"`)}
	write(t, c, abi.ResourceDraft{ID: "closed", Metadata: half}, nil)
	if _, err := c.Create(context.Background(), abi.ResourceDraft{ID: "open"}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		draft abi.ResourceDraft
	}{
		{"an unknown id", abi.ResourceDraft{ID: "none"}},
		{"one that is not closed", abi.ResourceDraft{ID: "open"}},
		{"a local path", abi.ResourceDraft{ID: "closed", LocalPath: "/etc/passwd"}},
		{"too much metadata together", abi.ResourceDraft{ID: "closed", Metadata: map[string]json.RawMessage{"b": half["a"]}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := c.Describe(test.draft); abi.CodeOf(err) != abi.CodeInvalidToolResult {
				t.Errorf("got %v, want INVALID_TOOL_RESULT", err)
			}
		})
	}
	if got := c.Unfinished(); !slices.Equal(got, []string{"open"}) {
		t.Errorf("Unfinished: got %q", got)
	}
}

func TestMismatchIsTold(t *testing.T) {
	c := newStore(t, kv.NewMemory(), nil).Begin(alice(), "p", Limits{})
	write(t, c, abi.ResourceDraft{ID: "a", MIMEType: "image/gif"}, pngBytes())
	write(t, c, abi.ResourceDraft{ID: "b", MIMEType: "text/csv"}, []byte("a\n1\n"))
	got := c.Finished()
	if m := got[0].Mismatch; m == nil || *m != (Mismatch{Declared: "image/gif", Found: "image/png"}) {
		t.Errorf("png called gif: got %v", m)
	}
	if m := got[1].Mismatch; m != nil {
		t.Errorf("csv: got %v", m)
	}
}

func TestInputs(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, kv.NewMemory(), nil)
	bob := abi.Owner{Tenant: "default", Actor: "bob"}
	mine, err := s.Import(ctx, alice(), abi.ResourceDraft{FileName: "a.csv"}, strings.NewReader("a,b\n1,2\n"), 0)
	if err != nil {
		t.Fatal(err)
	}
	his, err := s.Import(ctx, bob, abi.ResourceDraft{}, strings.NewReader("a,b\n1,2\n"), 0)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Begin(alice(), "p", Limits{})
	for name, id := range map[string]string{"foreign": his.ID, "absent": s.ids.New("res_"), "no id": "file:/etc/passwd"} {
		_, err := c.Allow(ctx, viewer(alice()), []string{mine.ID, id})
		if abi.CodeOf(err) != abi.CodeFileNotFound || !strings.Contains(err.Error(), id) {
			t.Errorf("Allow of a %s one: got %v, want FILE_NOT_FOUND that names it", name, err)
		}
	}
	if _, err := c.Open(ctx, mine.ID); abi.CodeOf(err) != abi.CodeFileNotFound {
		t.Errorf("Open after a refused Allow: got %v, want FILE_NOT_FOUND", err)
	}
	inputs, err := c.Allow(ctx, viewer(alice()), []string{mine.ID, mine.ID})
	if err != nil || len(inputs) != 1 || inputs[0].Role != abi.RoleInput || inputs[0].MIMEType != "text/csv" {
		t.Fatalf("Allow: got %+v, %v", inputs, err)
	}
	stream, err := c.Open(ctx, mine.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	content := make([]byte, 100)
	if n, _ := stream.Read(content); string(content[:n]) != "a,b\n1,2\n" || stream.Size() != 8 {
		t.Errorf("content: got %q of %d bytes", content[:n], stream.Size())
	}
	write(t, c, abi.ResourceDraft{ID: "own"}, []byte("x"))
	for _, id := range []string{his.ID, "own", c.Finished()[0].Resource.ID} {
		if _, err := c.Open(ctx, id); abi.CodeOf(err) != abi.CodeFileNotFound {
			t.Errorf("Open %s: got %v, want FILE_NOT_FOUND", id, err)
		}
	}
	if err := c.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(ctx, mine.ID); !errors.Is(err, ErrOver) {
		t.Errorf("Open after the end: got %v, want ErrOver", err)
	}
}

func TestSinkAfterItsEnd(t *testing.T) {
	ctx := context.Background()
	db := kv.NewMemory()
	c := newStore(t, db, nil).Begin(alice(), "p", Limits{})
	closed, err := c.Create(ctx, abi.ResourceDraft{ID: "closed"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := closed.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := closed.Write([]byte("x")); err == nil {
		t.Error("Write after Close: got no error")
	}
	late, err := c.Create(ctx, abi.ResourceDraft{ID: "late"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Write(make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Discard(); err != nil {
			t.Errorf("Discard: %v", err)
		}
	}
	if _, err := late.Write([]byte("x")); !errors.Is(err, ErrOver) {
		t.Errorf("Write after Discard: got %v, want ErrOver", err)
	}
	if err := late.Close(); !errors.Is(err, ErrOver) {
		t.Errorf("Close after Discard: got %v, want ErrOver", err)
	}
	if err := c.Publish(ctx); !errors.Is(err, ErrOver) {
		t.Errorf("Publish after Discard: got %v, want ErrOver", err)
	}
	if left := rows(t, db); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestUnfinishedIsNotPublished(t *testing.T) {
	ctx := context.Background()
	db := kv.NewMemory()
	s := newStore(t, db, nil)
	c := s.Begin(alice(), "p", Limits{})
	write(t, c, abi.ResourceDraft{ID: "done"}, []byte("done"))
	open, err := c.Create(ctx, abi.ResourceDraft{ID: "open"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Write(make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if err := c.Publish(ctx); err != nil {
		t.Fatal(err)
	}
	if err := open.Close(); !errors.Is(err, ErrOver) {
		t.Errorf("Close after Publish: got %v, want ErrOver", err)
	}
	if err := c.Discard(); err != nil {
		t.Errorf("Discard after Publish: %v", err)
	}
	got := rows(t, db)
	if got["res/d"] != 1 || got["res/s"] != 1 || got["res/p"] != 0 || got["blob"] != 2 || got["blobpending"] != 0 {
		t.Errorf("rows: %v", got)
	}
}

func TestCancelledCalls(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := newStore(t, kv.NewMemory(), nil)
	c := s.Begin(alice(), "p", Limits{})
	write(t, c, abi.ResourceDraft{ID: "a"}, nil)
	cancel()
	if _, err := c.Create(ctx, abi.ResourceDraft{ID: "b"}); abi.CodeOf(err) != abi.CodeToolCancelled {
		t.Errorf("Create: got %v", err)
	}
	if err := c.Publish(ctx); abi.CodeOf(err) != abi.CodeToolCancelled {
		t.Errorf("Publish: got %v", err)
	}
	if err := c.Discard(); err != nil {
		t.Errorf("Discard: %v", err)
	}
}
