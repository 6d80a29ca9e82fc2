package resources

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/internal/blob"
	"vcphost/internal/kv"
)

func openBadger(t testing.TB, dir string) kv.DB {
	t.Helper()
	db, err := kv.OpenBadger(dir, nil)
	if err != nil {
		t.Fatalf("OpenBadger: %v", err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// stores runs a test on every kind of database.
func stores(t *testing.T, test func(t *testing.T, db kv.DB)) {
	t.Run("memory", func(t *testing.T) { test(t, kv.NewMemory()) })
	t.Run("badger", func(t *testing.T) { test(t, openBadger(t, t.TempDir())) })
}

func TestReadingAtAnOffset(t *testing.T) {
	content := garbage(2*blob.ChunkBytes + 12345)
	stores(t, func(t *testing.T, db kv.DB) {
		s := newStore(t, db, nil)
		resource, err := s.Import(context.Background(), alice(), abi.ResourceDraft{}, bytes.NewReader(content), 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.OpenReader(context.Background(), viewer(alice()), resource.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if r.Size() != int64(len(content)) || r.Resource().SHA256 != resource.SHA256 {
			t.Errorf("got size %d, descriptor %+v", r.Size(), r.Resource())
		}
		for _, part := range []struct{ offset, length int64 }{
			{0, 1}, {1, 100}, {blob.ChunkBytes - 1, 2}, {blob.ChunkBytes, blob.ChunkBytes}, {1000, 2 * blob.ChunkBytes},
			{int64(len(content)) - 5, 100}, {int64(len(content)), 1}, {int64(len(content)) + 1, 1}, {0, 0},
		} {
			got, err := io.ReadAll(io.NewSectionReader(r, part.offset, part.length))
			from := min(part.offset, int64(len(content)))
			want := content[from:min(from+part.length, int64(len(content)))]
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes at %d: got %d bytes, %v, want %d", part.length, part.offset, len(got), err, len(want))
			}
		}
		if _, err := r.Seek(-10, io.SeekEnd); err != nil {
			t.Fatal(err)
		}
		if tail, err := io.ReadAll(r); err != nil || !bytes.Equal(tail, content[len(content)-10:]) {
			t.Errorf("after Seek: got %x, %v", tail, err)
		}
	})
}

func TestImport(t *testing.T) {
	ctx := context.Background()
	db := kv.NewMemory()
	s := newStore(t, db, nil)
	broken := errors.New("the line is dead")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	tests := []struct {
		name  string
		ctx   context.Context
		r     io.Reader
		draft abi.ResourceDraft
		max   int64
		code  string
	}{
		{"too large", ctx, strings.NewReader("12345678901"), abi.ResourceDraft{}, 10, abi.CodeResourceTooLarge},
		{"broken off", ctx, io.MultiReader(strings.NewReader("123"), errorReader{broken}), abi.ResourceDraft{}, 10, abi.CodeInvalidArgument},
		{"cancelled", cancelled, strings.NewReader("123"), abi.ResourceDraft{}, 10, abi.CodeToolCancelled},
		{"bad draft", ctx, strings.NewReader("123"), abi.ResourceDraft{Kind: "x"}, 10, abi.CodeInvalidToolResult},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := s.Import(test.ctx, alice(), test.draft, test.r, test.max)
			if abi.CodeOf(err) != test.code || test.code == abi.CodeInvalidArgument && !errors.Is(err, broken) {
				t.Errorf("got %v, want %s", err, test.code)
			}
			if left := rows(t, db); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	got, err := s.Import(ctx, alice(), abi.ResourceDraft{FileName: "a.png"}, bytes.NewReader(pngBytes()), 0)
	if err != nil || got.Source.Type != abi.SourceUpload || got.FileName != "a.png" || got.Dimensions == nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

func TestDimensionsBeyondWhatIsSniffed(t *testing.T) {
	s := newStore(t, kv.NewMemory(), nil)
	got, err := s.Import(context.Background(), alice(), abi.ResourceDraft{}, bytes.NewReader(lateJPEG(200_000)), 0)
	if err != nil || got.Dimensions == nil || *got.Dimensions != (abi.Dimensions{Width: 7, Height: 5}) {
		t.Errorf("got %+v, %v", got.Dimensions, err)
	}
}

func TestContentIsStoredOnce(t *testing.T) {
	ctx := context.Background()
	stores(t, func(t *testing.T, db kv.DB) {
		s := newStore(t, db, nil)
		content := garbage(blob.ChunkBytes + 1)
		c := s.Begin(alice(), "p", Limits{})
		write(t, c, abi.ResourceDraft{ID: "a"}, content)
		write(t, c, abi.ResourceDraft{ID: "b"}, content)
		first, second := c.Finished()[0].Resource, c.Finished()[1].Resource
		if err := c.Publish(ctx); err != nil {
			t.Fatal(err)
		}
		bob := abi.Owner{Tenant: "other", Actor: "bob"}
		third, err := s.Import(ctx, bob, abi.ResourceDraft{}, bytes.NewReader(content), 0)
		if err != nil {
			t.Fatal(err)
		}
		got := rows(t, db)
		if got["res/d"] != 3 || got["res/s"] != 3 || got["res/p"] != 0 || got["blob"] != 3 || got["blobpending"] != 0 {
			t.Errorf("rows: %v, want three descriptors and one blob of two chunks", got)
		}
		for id, owner := range map[string]abi.Owner{first.ID: alice(), second.ID: alice(), third.ID: bob} {
			if !bytes.Equal(readAll(t, s, viewer(owner), id), content) {
				t.Errorf("%s: other bytes", id)
			}
		}
		if _, err := s.OpenReader(ctx, viewer(alice()), third.ID); abi.CodeOf(err) != abi.CodeFileNotFound {
			t.Errorf("another's descriptor of the same bytes: got %v, want FILE_NOT_FOUND", err)
		}
	})
}

func TestRowsOfAnotherVersionAreRefused(t *testing.T) {
	ctx := context.Background()
	db := kv.NewMemory()
	s := newStore(t, db, nil)
	for name, row := range map[string]string{
		"a later version": `{"v":2,"owner":{"tenant":"default","actor":"alice"}}`,
		"garbage":         "garbage",
	} {
		t.Run(name, func(t *testing.T) {
			id := s.ids.New("res_")
			var b kv.Batch
			b.Set(descriptorKey(id), []byte(row))
			if err := db.Apply(&b); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Describe(ctx, viewer(alice()), id); abi.CodeOf(err) != abi.CodeInternalError {
				t.Errorf("got %v, want INTERNAL_ERROR", err)
			}
		})
	}
}

func TestForeignAndAbsentAnswerAlike(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, kv.NewMemory(), nil)
	resource, err := s.Import(ctx, alice(), abi.ResourceDraft{}, strings.NewReader("x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	mallory := abi.Viewer{Owner: abi.Owner{Tenant: "default", Actor: "mallory"}}
	_, foreign := s.Describe(ctx, mallory, resource.ID)
	other := s.ids.New("res_")
	_, absent := s.Describe(ctx, mallory, other)
	if foreign == nil || absent == nil || strings.ReplaceAll(foreign.Error(), resource.ID, "ID") != strings.ReplaceAll(absent.Error(), other, "ID") {
		t.Errorf("foreign: %v; absent: %v", foreign, absent)
	}
	if _, err := s.Describe(ctx, abi.Viewer{Admin: true}, resource.ID); err != nil {
		t.Errorf("an administrator: %v", err)
	}
	long := strings.Repeat("界", 1000)
	if _, err := s.Describe(ctx, mallory, long); len(err.Error()) > 200 {
		t.Errorf("a long id is told in %d bytes", len(err.Error()))
	}
}

func TestAFailedPublishLeavesNothing(t *testing.T) {
	ctx := context.Background()
	memory := kv.NewMemory()
	db := &refusingDB{DB: memory}
	c := newStore(t, db, nil).Begin(alice(), "p", Limits{})
	write(t, c, abi.ResourceDraft{ID: "a"}, []byte("x"))
	db.refuse = true
	if err := c.Publish(ctx); abi.CodeOf(err) != abi.CodeDependencyUnavailable {
		t.Errorf("got %v, want DEPENDENCY_UNAVAILABLE", err)
	}
	db.refuse = false
	if err := c.Discard(); err != nil {
		t.Errorf("Discard: %v", err)
	}
	if left := rows(t, memory); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAFullDiskFailsTheSink(t *testing.T) {
	memory := kv.NewMemory()
	db := &refusingDB{DB: memory}
	c := newStore(t, db, nil).Begin(alice(), "p", Limits{})
	sink, err := c.Create(context.Background(), abi.ResourceDraft{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	db.refuse = true
	if _, err := sink.Write(make([]byte, 3<<20)); abi.CodeOf(err) != abi.CodeDependencyUnavailable {
		t.Errorf("Write: got %v, want DEPENDENCY_UNAVAILABLE", err)
	}
	db.refuse = false
	if err := sink.Close(); abi.CodeOf(err) != abi.CodeDependencyUnavailable {
		t.Errorf("Close: got %v, want DEPENDENCY_UNAVAILABLE", err)
	}
	if got := c.Unfinished(); len(got) != 1 {
		t.Errorf("Unfinished: got %q", got)
	}
	if err := c.Discard(); err != nil {
		t.Error(err)
	}
	if left := rows(t, memory); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// refusingDB is a database whose disk is full while refuse is set.
type refusingDB struct {
	kv.DB
	refuse bool
}

func (d *refusingDB) Apply(b *kv.Batch) error {
	if d.refuse {
		return kv.ErrNoSpace
	}
	return d.DB.Apply(b)
}

const crashDir = "VCPHOST_TEST_CRASH_DIR"

// TestCrashChild is the process that TestCrash kills; alone it does nothing.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("only as a child of TestCrash")
	}
	ctx := context.Background()
	s := newStore(t, openBadger(t, dir), nil)
	published, err := s.Import(ctx, alice(), abi.ResourceDraft{}, bytes.NewReader(garbage(2<<20)), 0)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Begin(alice(), "p", Limits{})
	write(t, c, abi.ResourceDraft{ID: "same content"}, garbage(2<<20))
	write(t, c, abi.ResourceDraft{ID: "closed"}, garbage(3<<20))
	write(t, c, abi.ResourceDraft{ID: "small"}, []byte("small"))
	open, err := c.Create(ctx, abi.ResourceDraft{ID: "open"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Write(make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	fmt.Println("READY", published.ID)
	time.Sleep(time.Minute)
}

func TestCrash(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
	child.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	id := ""
	for lines := bufio.NewScanner(out); id == "" && lines.Scan(); {
		id, _ = strings.CutPrefix(lines.Text(), "READY ")
		if !strings.HasPrefix(id, "res_") {
			id = ""
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if id == "" {
		t.Fatal("the child published nothing")
	}

	db := openBadger(t, dir)
	if before := rows(t, db); before["res/p"] != 3 || before["blobpending"] != 1 {
		t.Fatalf("rows before: %v, want three unpublished and one unfinished blob", before)
	}
	s := newStore(t, db, nil)
	got := rows(t, db)
	if got["res/d"] != 1 || got["res/s"] != 1 || got["res/p"] != 0 || got["blob"] != 3 || got["blobpending"] != 0 {
		t.Errorf("rows after: %v, want one resource of two chunks", got)
	}
	if !bytes.Equal(readAll(t, s, viewer(alice()), id), garbage(2<<20)) {
		t.Error("the published resource has other bytes")
	}
}

// TestHammer runs sessions side by side that write the same few contents, of
// which some publish, some discard, and some discard while they write.
func TestHammer(t *testing.T) {
	stores(t, func(t *testing.T, db kv.DB) {
		s := newStore(t, db, nil)
		h := &hammer{store: s, published: map[string]int{}}
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(worker), 1))
				for range 15 {
					if err := h.session(rng); err != nil {
						t.Errorf("worker %d: %v", worker, err)
					}
				}
			})
		}
		wg.Wait()
		contents := map[int]bool{}
		for id, n := range h.published {
			contents[n] = true
			if !bytes.Equal(readAll(t, s, viewer(alice()), id), h.content(n)) {
				t.Errorf("%s has other bytes", id)
			}
		}
		chunks := 0
		for n := range contents {
			chunks += 1 + (len(h.content(n))+blob.ChunkBytes-1)/blob.ChunkBytes
		}
		got := rows(t, db)
		if got["res/d"] != len(h.published) || got["res/p"] != 0 || got["blobpending"] != 0 || got["blob"] != chunks {
			t.Errorf("rows: %v, want %d resources, %d blob rows and nothing pending", got, len(h.published), chunks)
		}
	})
}

type hammer struct {
	store *Store

	mu        sync.Mutex
	published map[string]int // id → content
}

// content has five forms, the last of more than one chunk.
func (h *hammer) content(n int) []byte { return bytes.Repeat([]byte{byte('a' + n)}, 1+n*n*80_000) }

func (h *hammer) session(rng *rand.Rand) error {
	ctx := context.Background()
	c := h.store.Begin(alice(), "p", Limits{})
	contents := map[string]int{}
	for i := range 1 + rng.IntN(3) {
		n := rng.IntN(5)
		id := fmt.Sprint(i)
		contents[id] = n
		sink, err := c.Create(ctx, abi.ResourceDraft{ID: id})
		if err != nil {
			return err
		}
		if rng.IntN(4) == 0 {
			return h.discardWhileWriting(c, sink, n)
		}
		if _, err := sink.Write(h.content(n)); err != nil {
			return err
		}
		if err := sink.Close(); err != nil {
			return err
		}
	}
	if rng.IntN(3) == 0 {
		return c.Discard()
	}
	finished := c.Finished()
	var wg sync.WaitGroup
	wg.Go(func() { c.Unfinished(); c.LimitHit(); c.Finished() })
	err := c.Publish(ctx)
	wg.Wait()
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range finished {
		h.published[f.Resource.ID] = contents[f.DraftID]
	}
	return c.Discard()
}

func (h *hammer) discardWhileWriting(c *Session, sink abi.ResourceSink, n int) error {
	var wg sync.WaitGroup
	wg.Go(func() {
		for piece := h.content(n); len(piece) > 0; piece = piece[min(len(piece), 50_000):] {
			if _, err := sink.Write(piece[:min(len(piece), 50_000)]); err != nil {
				break
			}
		}
		_ = sink.Close() // either way is right: the session may be over
	})
	err := c.Discard()
	wg.Wait()
	return errors.Join(err, c.Discard())
}
