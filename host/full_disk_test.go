package host_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/host/hosttest"
	"vcphost/internal/kv"
)

// disk is a disk that a test fills and empties.
type disk struct {
	dir   string // of the store; "" is one of the bench's own
	store *kv.Options
	fill  func(t *testing.T)
	empty func(t *testing.T)
}

// pretendedDisk says what the test wants of its free space.
func pretendedDisk(*testing.T) disk {
	free := new(atomic.Int64)
	free.Store(1 << 40)
	set := func(bytes int64) func(*testing.T) {
		return func(*testing.T) { free.Store(bytes); time.Sleep(readingAge) }
	}
	return disk{
		store: &kv.Options{FreeBytes: func(string) (int64, error) { return free.Load(), nil }},
		fill:  set(0), empty: set(1 << 40),
	}
}

// readingAge is longer than the store believes what it was told of the disk.
const readingAge = 150 * time.Millisecond

// smallDisk is a file system of the test's own, which somebody else fills.
func smallDisk(t *testing.T) disk {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("mounting a file system takes root on Linux")
	}
	mount := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=160m", "tmpfs", mount).CombinedOutput(); err != nil {
		t.Skipf("a file system cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", mount).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	ballast := filepath.Join(mount, "ballast")
	return disk{
		dir: filepath.Join(mount, "store"), store: &kv.Options{MinFreeBytes: 96 << 20},
		fill: func(t *testing.T) {
			file, err := os.Create(ballast)
			if err != nil {
				t.Fatal(err)
			}
			for block := make([]byte, 1<<20); err == nil; {
				_, err = file.Write(block)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(readingAge)
		},
		empty: func(t *testing.T) {
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			time.Sleep(readingAge)
		},
	}
}

// TestAFullDiskRefusesCallsAndLosesNothing: while the disk is full no plugin
// runs, what there was is read, and the first call with room again succeeds.
func TestAFullDiskRefusesCallsAndLosesNothing(t *testing.T) {
	for _, test := range []struct {
		name string
		disk func(*testing.T) disk
	}{{"pretended", pretendedDisk}, {"a small file system", smallDisk}} {
		t.Run(test.name, func(t *testing.T) {
			disk := test.disk(t)
			ran := 0
			write := answers(plain, draft("a"))
			setup := plugin{invoke: func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
				ran++
				return write(ctx, inv)
			}}.setup()
			setup.Dir, setup.Store = disk.dir, disk.store
			b := hosttest.NewBench(t, setup)
			call := b.Call("Test", `{"must":""}`)
			before := b.Execute(t.Context(), t, call)
			wantSuccess(t, before)

			disk.fill(t)
			for range 3 {
				result := b.Host.Execute(t.Context(), call)
				if failure := wantError(t, result, abi.StatusError, abi.CodeDependencyUnavailable); !failure.Retryable {
					t.Error("the error is not retryable")
				}
			}
			if ran != 1 {
				t.Errorf("the plugin ran %d times, want 1", ran)
			}
			if got := string(b.Bytes(t, before.Resources[0].ID)); got != "the bytes of a" {
				t.Errorf("the resource of before is %q", got)
			}
			if _, err := b.Results.Get(t.Context(), b.Viewer(), before.ID); err != nil {
				t.Errorf("the result of before: %v", err)
			}

			disk.empty(t)
			after := b.Execute(t.Context(), t, call)
			wantSuccess(t, after)
			if got := string(b.Bytes(t, after.Resources[0].ID)); got != "the bytes of a" || ran != 2 {
				t.Errorf("the resource of after is %q, and the plugin ran %d times", got, ran)
			}
		})
	}
}

// TestTheDiskFillsUpDuringACall: bytes that cannot be stored fail the call, and
// a result that cannot be kept says so.
func TestTheDiskFillsUpDuringACall(t *testing.T) {
	disk := pretendedDisk(t)
	var then invoke
	setup := plugin{invoke: func(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
		disk.fill(t)
		return then(ctx, inv)
	}}.setup()
	setup.Store = disk.store
	b := hosttest.NewBench(t, setup)
	call := b.Call("Test", `{"must":""}`)

	then = answers(plain, draft("a"))
	result := b.Host.Execute(t.Context(), call)
	wantError(t, result, abi.StatusError, abi.CodeDependencyUnavailable)
	if len(result.Resources) > 0 {
		t.Errorf("there are resources: %+v", result.Resources)
	}
	disk.empty(t)

	then = answers(plain)
	result = b.Host.Execute(t.Context(), call)
	wantSuccess(t, result)
	if len(warned(result, abi.WarningResultNotKept)) != 1 {
		t.Errorf("got warnings %+v, want %s", result.Warnings, abi.WarningResultNotKept)
	}
	disk.empty(t)

	then = func(context.Context, *abi.Invocation) (*abi.Reply, error) { return nil, kv.ErrNoSpace }
	wantError(t, b.Host.Execute(t.Context(), call), abi.StatusError, abi.CodeDependencyUnavailable)
	disk.empty(t)
	if err := b.DB.Room(); errors.Is(err, kv.ErrNoSpace) {
		t.Error(err)
	}
}
