package kv_test

import (
	"testing"

	"vcphost/internal/kv"
	"vcphost/internal/kv/kvtest"
)

func TestMemory(t *testing.T) {
	kvtest.Run(t, func(*testing.T) kv.DB { return kv.NewMemory() })
}

func TestBadger(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.DB { return openBadger(t, t.TempDir()) })
}

func openBadger(t testing.TB, dir string) kv.DB {
	t.Helper()
	db, err := kv.OpenBadger(dir, nil)
	if err != nil {
		t.Fatalf("OpenBadger: %v", err)
	}
	return db
}

// BenchmarkOpenClose is what one verb of the command line pays for the store.
func BenchmarkOpenClose(b *testing.B) {
	dir := b.TempDir()
	db := openBadger(b, dir)
	kvtest.Set(b, db, "a", "1")
	_ = db.Close()
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			_ = openBadger(b, dir).Close()
		}
	})
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			db := openBadger(b, dir)
			kvtest.Set(b, db, "a", "2")
			if err := db.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
