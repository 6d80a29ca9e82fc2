package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/internal/blob"
	"vcphost/internal/ids"
	"vcphost/internal/kv"
)

func alice() abi.Owner { return abi.Owner{Tenant: "default", Actor: "alice"} }

func viewer(o abi.Owner) abi.Viewer { return abi.Viewer{Owner: o} }

// stores runs a test on every kind of database.
func stores(t *testing.T, test func(t *testing.T, db kv.DB)) {
	t.Run("memory", func(t *testing.T) { test(t, kv.NewMemory()) })
	t.Run("badger", func(t *testing.T) {
		db, err := kv.OpenBadger(t.TempDir(), nil)
		if err != nil {
			t.Fatalf("OpenBadger: %v", err)
		}
		t.Cleanup(func() { db.Close() })
		test(t, db)
	})
}

func newStore(t *testing.T, db kv.DB, opts *Options) *Store {
	t.Helper()
	s, err := New(db, opts)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return s
}

func result(id, data string) *abi.Result {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("", 2*3600))
	return &abi.Result{
		Protocol: abi.CurrentProtocol(), ID: id, Status: abi.StatusSuccess,
		Tool:      abi.Tool{Name: "CsvChart", Command: "Plot"},
		Execution: abi.Execution{StartedAt: abi.Timestamp(at), FinishedAt: abi.Timestamp(at), Attempt: 1},
		Data:      json.RawMessage(data),
		Resources: []abi.Resource{{ID: "res_x", Metadata: map[string]json.RawMessage{"b": []byte("1.0"), "a": []byte("1e400")},
			Access: &abi.ResourceAccess{Type: abi.AccessEphemeral, ExpiresAt: &at}}},
		Warnings:   []abi.Warning{{Code: "A", Message: "<b>", Details: []byte(`{"z":1,"a":2}`)}, {Code: "B", Details: []byte("null")}},
		Error:      abi.NewError(abi.CodeUpstreamError, "an error").WithDetails(map[string]string{"k": "v"}),
		Extensions: abi.Extensions{"vendor.example": []byte(`{"n":9007199254740993}`)},
	}
}

func TestResultsComeBackAsTheyWere(t *testing.T) {
	tests := []struct{ name, data string }{
		{"no data", ""},
		{"null", "null"},
		{"numbers keep their spelling", `{"huge":1e400,"tiny":-0.0e-999,"big":123456789012345678901234567890,"one":1.00}`},
		{"escapes", `{"a":"\u0041\u00e9\ud83d\ude00\u2028<b>&amp;\/","b":"😀<"}`},
		{"order of members", `{"z":1,"a":{"y":[3,2,1],"b":null},"m":true}`},
		{"white space", " {\n \"a\" : [ 1 , 2 ]\t}\r\n"},
		{"line feeds in strings", `{"a":"1\n2","b":"\r\n"}`},
		{"deep", strings.Repeat(`[`, 60) + strings.Repeat(`]`, 60)},
		{"just inline", `"` + strings.Repeat("x", 1<<19) + `"`},
		{"a blob", `"` + strings.Repeat("0123456789abcdef", 3<<16) + `"`},
	}
	stores(t, func(t *testing.T, db kv.DB) {
		s := newStore(t, db, nil)
		source := ids.NewSource(nil)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				kept := result(source.New(ids.Result), test.data)
				want, err := abi.Encode(kept)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Keep(context.Background(), alice(), kept); err != nil {
					t.Fatalf("Keep: %v", err)
				}
				raw, err := s.GetRaw(context.Background(), viewer(alice()), kept.ID)
				if err != nil || !bytes.Equal(raw, want) {
					t.Errorf("GetRaw: got %.200s, %v, want %.200s", raw, err, want)
				}
				read, err := s.Get(context.Background(), viewer(alice()), kept.ID)
				if err != nil {
					t.Fatalf("Get: %v", err)
				}
				if again, err := abi.Encode(read); err != nil || !bytes.Equal(again, want) {
					t.Errorf("Get: got %.400s, %v, want %.400s", again, err, want)
				}
			})
		}
	})
}

func TestWhoMayRead(t *testing.T) {
	s := newStore(t, kv.NewMemory(), nil)
	kept := result(ids.NewSource(nil).New(ids.Result), `{}`)
	if err := s.Keep(context.Background(), alice(), kept); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		viewer abi.Viewer
		id     string
		want   error
	}{
		{"the owner", viewer(alice()), kept.ID, nil},
		{"an administrator", abi.Viewer{Admin: true}, kept.ID, nil},
		{"another actor", viewer(abi.Owner{Tenant: "default", Actor: "bob"}), kept.ID, ErrNotFound},
		{"another tenant", viewer(abi.Owner{Tenant: "other", Actor: "alice"}), kept.ID, ErrNotFound},
		{"nobody", abi.Viewer{}, kept.ID, ErrNotFound},
		{"an unknown id", abi.Viewer{Admin: true}, ids.NewSource(nil).New(ids.Result), ErrNotFound},
		{"an id in lower case", abi.Viewer{Admin: true}, strings.ToLower(kept.ID), ErrNotFound},
		{"a key as id", abi.Viewer{Admin: true}, "../t/", ErrNotFound},
		{"no id", abi.Viewer{Admin: true}, "", ErrNotFound},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := s.Get(context.Background(), test.viewer, test.id)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestWhatIsNotKept(t *testing.T) {
	ctx := context.Background()
	s := newStore(t, kv.NewMemory(), &Options{MaxBytes: 4096})
	id := ids.NewSource(nil).New(ids.Result)
	if err := s.Keep(ctx, alice(), result(id, `"`+strings.Repeat("x", 4096)+`"`)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: got %v", err)
	}
	if err := s.Keep(ctx, alice(), result("tr_../x", `{}`)); err == nil {
		t.Error("a bad id: got no error")
	}
	if err := s.Keep(ctx, alice(), result(id, `{"broken"`)); err == nil {
		t.Error("data that is not JSON: got no error")
	}
	if err := s.Keep(ctx, alice(), result(id, `1`)); err != nil {
		t.Fatalf("Keep: %v", err)
	}
	if err := s.Keep(ctx, abi.Owner{Tenant: "t", Actor: "mallory"}, result(id, `2`)); !errors.Is(err, ErrExists) {
		t.Errorf("the same id again: got %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Keep(cancelled, alice(), result(id, `1`)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
	if _, err := New(kv.NewMemory(), &Options{InlineBytes: 2 << 20}); err == nil {
		t.Error("too much inline: got no error")
	}
}

func TestRowsOfAnotherVersionAreRefused(t *testing.T) {
	db := kv.NewMemory()
	s := newStore(t, db, nil)
	for name, row := range map[string]string{
		"a later version": `{"v":2,"owner":{"tenant":"default","actor":"alice"}}` + "\n{}",
		"no header":       `{}`,
		"a cut result":    `{"v":1,"owner":{"tenant":"default","actor":"alice"},"sizeBytes":9}` + "\n{}",
		"garbage":         "garbage\n",
	} {
		t.Run(name, func(t *testing.T) {
			id := ids.NewSource(nil).New(ids.Result)
			var b kv.Batch
			b.Set(rowKey(id), []byte(row))
			if err := db.Apply(&b); err != nil {
				t.Fatal(err)
			}
			if _, err := s.GetRaw(context.Background(), viewer(alice()), id); err == nil || errors.Is(err, ErrNotFound) {
				t.Errorf("got %v, want an error that is not ErrNotFound", err)
			}
		})
	}
}

func TestExpire(t *testing.T) {
	stores(t, func(t *testing.T, db kv.DB) {
		ctx := context.Background()
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s := newStore(t, db, &Options{Now: func() time.Time { return now }, Retention: time.Hour, InlineBytes: 4096})
		source := ids.NewSource(nil)
		const old = 2*expireBatch + 3
		for i := range old {
			data := `{}`
			if i%100 == 0 {
				data = `"` + strings.Repeat("x", 8192) + `"`
			}
			if err := s.Keep(ctx, alice(), result(source.New(ids.Result), data)); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(time.Hour)
		kept := result(source.New(ids.Result), `{}`)
		if err := s.Keep(ctx, alice(), kept); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Expire(ctx); n != 0 || err != nil {
			t.Errorf("at the end of the period: got %d, %v, want 0", n, err)
		}
		now = now.Add(time.Millisecond)
		if n, err := s.Expire(ctx); n != old || err != nil {
			t.Errorf("after it: got %d, %v, want %d", n, err, old)
		}
		if _, err := s.Get(ctx, viewer(alice()), kept.ID); err != nil {
			t.Errorf("the younger result: %v", err)
		}
		rows := 0
		if err := db.Scan([]byte(""), func(key, _ []byte) bool { rows++; return true }); err != nil {
			t.Fatal(err)
		}
		if rows != 2 {
			t.Errorf("rows left: got %d, want the row and the index entry of one result", rows)
		}
	})
}

func TestRetentionForEver(t *testing.T) {
	now := time.Now()
	s := newStore(t, kv.NewMemory(), &Options{Now: func() time.Time { return now }, Retention: -1})
	if err := s.Keep(context.Background(), alice(), result(ids.NewSource(nil).New(ids.Result), `{}`)); err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(100, 0, 0)
	if n, err := s.Expire(context.Background()); n != 0 || err != nil {
		t.Errorf("got %d, %v, want 0", n, err)
	}
}

func TestAFailedKeepLeavesNothing(t *testing.T) {
	db := kv.NewMemory()
	failing := &failingDB{DB: db, failFrom: 1}
	s := newStore(t, failing, &Options{InlineBytes: 1})
	kept := result(ids.NewSource(nil).New(ids.Result), `"`+strings.Repeat("x", 3*blob.ChunkBytes)+`"`)
	if err := s.Keep(context.Background(), alice(), kept); !errors.Is(err, kv.ErrNoSpace) {
		t.Fatalf("got %v, want kv.ErrNoSpace", err)
	}
	if _, err := s.Get(context.Background(), viewer(alice()), kept.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	rows := 0
	if err := db.Scan(nil, func(_, _ []byte) bool { rows++; return true }); err != nil || rows != 0 {
		t.Errorf("rows left: got %d, %v", rows, err)
	}
}

// failingDB refuses batches that set something, after a number of them.
type failingDB struct {
	kv.DB
	failFrom int
}

func (f *failingDB) Apply(b *kv.Batch) error {
	if b.Bytes() > blob.ChunkBytes/2 {
		if f.failFrom == 0 {
			return kv.ErrNoSpace
		}
		f.failFrom--
	}
	return f.DB.Apply(b)
}
