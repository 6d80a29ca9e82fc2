package host_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/host/hosttest"
	"vcphost/host/record"
	"vcphost/internal/kv"
	"vcphost/resources"
)

// TestABackupDuringCallsIsWhole backs the store up while calls write resources,
// small and large results. In each restored store every resource has its bytes,
// every result can be read, and every resource that a result names is there.
func TestABackupDuringCallsIsWhole(t *testing.T) {
	large := `{"status":"success","data":"` + strings.Repeat("x", record.DefaultInlineBytes+10) + `"}`
	n := 0
	var mu sync.Mutex
	setup := plugin{invoke: func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
		mu.Lock()
		n++
		turn := n
		mu.Unlock()
		if turn%20 == 3 {
			return answers(large)(ctx, inv)
		}
		return answers(`{"status":"success","data":{"made":{"$resource":"a"}}}`, draft("a"), draft("b"))(ctx, inv)
	}}.setup()
	b := hosttest.NewBench(t, setup)
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
				b.Host.Execute(context.Background(), b.Call("Test", `{"must":""}`))
			}
		})
	}
	results := 0
	for range 3 {
		var out bytes.Buffer
		if err := kv.Backup(ctx, b.DB, &out); err != nil {
			t.Error(err)
			break
		}
		results += checkRestored(t, b, &out)
	}
	stop()
	callers.Wait()
	t.Logf("%d results of %d calls", results, n)
	if results == 0 {
		t.Error("no backup had a result")
	}
}

// checkRestored restores a backup and reads all of it, and counts the results.
func checkRestored(t *testing.T, b *hosttest.Bench, backup *bytes.Buffer) (results int) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if _, err := kv.Restore(t.Context(), dir, backup, nil); err != nil {
		t.Fatal(err)
	}
	db, err := kv.OpenBadger(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	store, err := resources.Open(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := record.New(db, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := *b
	read.Resources = store
	for _, id := range idsUnder(t, db, "res/d/") {
		if got := string(read.Bytes(t, id)); !strings.HasPrefix(got, "the bytes of ") {
			t.Errorf("the resource %s is %q", id, got)
		}
	}
	for _, id := range idsUnder(t, db, "rec/r/") {
		result, err := kept.Get(t.Context(), b.Viewer(), id)
		if err != nil {
			t.Errorf("the result %s: %v", id, err)
			continue
		}
		results++
		for _, resource := range result.Resources {
			read.Bytes(t, resource.ID)
		}
	}
	return results
}

func idsUnder(t *testing.T, db kv.DB, prefix string) []string {
	t.Helper()
	var ids []string
	err := db.Scan([]byte(prefix), func(key, _ []byte) bool {
		ids = append(ids, strings.TrimPrefix(string(key), prefix))
		return true
	})
	if err != nil {
		t.Fatal(errors.Join(errors.New("list "+prefix), err))
	}
	return ids
}
