package kv_test

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"vcphost/internal/kv"
)

// endless is a store of count values of a MiB that exist only while they are
// scanned.
type endless struct {
	kv.DB
	count int
}

func (e endless) Scan(_ []byte, visit func(key, value []byte) bool) error {
	value := make([]byte, 1<<20)
	for i := range e.count {
		value[0] = byte(i)
		if !visit(fmt.Appendf(nil, "value/%06d", i), value) {
			break
		}
	}
	return nil
}

// heapWatch reports the most that was on the heap at any of its writes.
type heapWatch struct {
	writes int
	most   uint64
}

func (h *heapWatch) Write(p []byte) (int, error) {
	if h.writes++; h.writes%64 == 0 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		h.most = max(h.most, stats.HeapAlloc)
	}
	return len(p), nil
}

// TestBackupAndRestoreAreBoundedInMemory moves 256 MiB through a backup into a
// restored store.
func TestBackupAndRestoreAreBoundedInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 256 MiB")
	}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	in, out := io.Pipe()
	go func() { out.CloseWithError(kv.Backup(t.Context(), endless{count: 256}, out)) }()
	watch := &heapWatch{}
	done, err := kv.Restore(t.Context(), filepath.Join(t.TempDir(), "store"), io.TeeReader(in, watch), nil)
	if err != nil || done.Entries != 256 || done.Bytes < 256<<20 {
		t.Fatalf("Restore = %+v, %v", done, err)
	}
	grown := int64(watch.most) - int64(before.HeapAlloc)
	t.Logf("the heap grew by %d MiB at most", grown>>20)
	// Badger's tables in memory are 32 MiB each; the rest is copies of batches that
	// wait for the collector.
	if limit := int64(128 << 20); grown > limit {
		t.Errorf("the heap grew by %d MiB, more than %d", grown>>20, limit>>20)
	}
}
