// The race detector has memory of its own for what a program touched.

//go:build !race

package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"

	"vcphost/abi"
	"vcphost/internal/guestbuild"
	"vcphost/sandbox/wasmbuild"
)

// holdings is what a process holds.
type holdings struct {
	anonKiB, heapKiB, mappings, descriptors, goroutines int
}

func (h holdings) String() string {
	return fmt.Sprintf("%d KiB anonymous, %d KiB of them on the heap, %d mappings, %d descriptors, %d goroutines", h.anonKiB, h.heapKiB, h.mappings, h.descriptors, h.goroutines)
}

// held tells what this process holds once everything that is over is gone.
func held(t *testing.T) (h holdings) {
	t.Helper()
	for range 3 { // what is freed by a finalizer takes more than one
		runtime.GC()
		debug.FreeOSMemory()
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	h.heapKiB = int(memory.HeapAlloc >> 10)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		if value, found := bytes.CutPrefix(lines.Bytes(), []byte("RssAnon:")); found {
			h.anonKiB, err = strconv.Atoi(string(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	h.mappings = bytes.Count(maps, []byte("\n"))
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	h.descriptors, h.goroutines = len(descriptors), runtime.NumGoroutine()
	return h
}

// holdsSteady runs rounds, of which the first are to warm it up, and compares
// what the process holds after those with what it holds in the end. The heap of
// Go moves its arenas, so that some mappings more or less are no leak.
func holdsSteady(t *testing.T, warm, rounds int, round func()) {
	t.Helper()
	for range warm {
		round()
	}
	before := held(t)
	for range rounds - warm {
		round()
	}
	after := held(t)
	t.Logf("after %d: %v", warm, before)
	t.Logf("after %d: %v", rounds, after)
	const slack = 2 << 10 // KiB, of a process of some 20 MiB
	if after.anonKiB > before.anonKiB+before.anonKiB/10+slack {
		t.Error("memory has grown by more than a tenth")
	}
	if after.heapKiB > before.heapKiB+before.heapKiB/10+64 {
		t.Error("the heap has grown by more than a tenth")
	}
	if after.descriptors > before.descriptors || after.goroutines > before.goroutines || after.mappings > before.mappings+8 {
		t.Error("there are more mappings, descriptors or goroutines")
	}
}

func TestLoadingAndUnloadingHoldsNothing(t *testing.T) {
	warm, rounds := 100, 300
	if stress() {
		warm, rounds = 200, 10_000
	}
	for _, cached := range []bool{false, true} {
		t.Run(map[bool]string{false: "compiled anew", true: "from the disk"}[cached], func(t *testing.T) {
			options := &Options{}
			if cached {
				options.CacheDir = t.TempDir()
			}
			s := box(t, options)
			ctx, binary, n := context.Background(), wasmbuild.Guest{}.Bytes(), 0
			holdsSteady(t, warm, rounds, func() {
				if n++; !cached { // no two are alike
					binary = wasmbuild.Guest{Payload: fmt.Appendf(nil, `{"status":"success","data":%d}`, n)}.Bytes()
				}
				p, err := s.Open(ctx, Module{Name: "Test", Binary: binary})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := p.Invoke(ctx, &abi.Invocation{}); err != nil {
					t.Fatal(err)
				}
				if err := p.Close(ctx); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// Calls of every kind: those that go well, those that fail, those that spoil
// their instance.
func TestCallsHoldNothing(t *testing.T) {
	warm, rounds := 500, 3000
	if stress() {
		warm, rounds = 2000, 100_000
	}
	p := opened(t, box(t, nil), Module{Binary: fails().Bytes()})
	commands, i := []string{"", "trap", "exit", "", "memory", "", "", ""}, 0
	holdsSteady(t, warm, rounds, func() {
		i++
		command := commands[i%len(commands)]
		if i%490 == 0 {
			command = "deep"
		}
		_, _ = p.Invoke(context.Background(), &abi.Invocation{Command: command})
	})
	if words, _ := ask(t, p, ""); words[0] != 1 {
		t.Errorf("after all of them a call is number %d of its instance", words[0])
	}
}

func TestCallsOfAGuestOfGoHoldNothing(t *testing.T) {
	warm, rounds := 200, 1500
	if stress() {
		warm, rounds = 2000, 100_000
	}
	binary := guestbuild.Module(t, "./testdata/guests/conformance")
	p := opened(t, box(t, nil), Module{Binary: binary, Limits: Limits{MemoryMiB: 128}})
	holdsSteady(t, warm, rounds, func() {
		if _, err := p.Invoke(context.Background(), &abi.Invocation{Command: "Echo", Arguments: []byte(`{"command":"Echo","text":"hello"}`)}); err != nil {
			t.Fatal(err)
		}
	})
}
