package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bits of an entry of the kernel's page map.
const (
	presentBit, swappedBit, ofFileBit = 1 << 63, 1 << 62, 1 << 61
)

// countPages counts the pages of a memory whose entry in the page map, as it was
// before there was a scan, is of a kind.
func countPages(t *testing.T, memory []byte, is func(entry uint64) bool) (pages int) {
	t.Helper()
	file, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()
	page := os.Getpagesize()
	entries := make([]byte, len(memory)/page*8)
	at := int64(uintptr(unsafe.Pointer(&memory[0]))) / int64(page) * 8
	if _, err := file.ReadAt(entries, at); err != nil {
		t.Fatal(err)
	}
	for ; len(entries) > 0; entries = entries[8:] {
		if is(binary.NativeEndian.Uint64(entries)) {
			pages++
		}
	}
	return pages
}

// ownPages counts the pages of memory that are its process's own.
func ownPages(t *testing.T, memory []byte) int {
	t.Helper()
	return countPages(t, memory, func(e uint64) bool { return e&(presentBit|swappedBit) != 0 && e&ofFileBit == 0 })
}

func TestResidentBytesAreTrue(t *testing.T) {
	for _, method := range methods(t) {
		if method == Copy {
			continue
		}
		t.Run(method.String(), func(t *testing.T) {
			r := rand.New(rand.NewPCG(4, 4))
			content := bytes.Repeat([]byte{7}, 1<<20)
			mapping := newMapping(t, newImage(t, content, &Options{Method: method}), 4<<20)
			memory := mapping.Bytes()
			check := func(when string) {
				t.Helper()
				have := ownPages(t, memory) * os.Getpagesize()
				if told := mapping.ResidentBytes(); told != uint64(have) {
					t.Fatalf("%s: %d bytes are resident, told %d", when, have, told)
				}
			}
			check("new")
			for range 100 {
				for range r.IntN(200) {
					memory[r.IntN(len(content))]++
				}
				restore(t, mapping)
				check("after a restore")
			}
			for range 50 { // pages that were only read are nobody's
				memory[r.IntN(len(content))] = memory[len(content)+r.IntN(3<<20)] + 7
			}
			restore(t, mapping)
			_ = sameAs(memory, content)
			if err := mapping.GiveBack(); err != nil {
				t.Fatal(err)
			}
			if check("given back"); mapping.ResidentBytes() != 0 {
				t.Errorf("%d bytes are left", mapping.ResidentBytes())
			}
		})
	}
}

func scanImage(t *testing.T, content []byte, keep uint64) *Image {
	t.Helper()
	image := newImage(t, content, &Options{KeepBytes: keep})
	if image.Method() != Scan {
		t.Skipf("this system has only %s", image.Method())
	}
	return image
}

func TestScanPutsBackJustWhatWasWritten(t *testing.T) {
	size := os.Getpagesize()
	content := bytes.Repeat([]byte{1}, 64*size)
	mapping := newMapping(t, scanImage(t, content, 0), 256*size)
	memory := mapping.Bytes()
	for _, page := range []int{0, 1, 5, 63, 64, 255} {
		memory[page*size+9] = 9
	}
	_ = memory[100*size] + memory[20*size]
	want := Restored{Method: Scan, Runs: 4, Copied: 4, Cleared: 2}
	if did := restore(t, mapping); did != want {
		t.Errorf("%+v, want %+v", did, want)
	}
}

// More runs than one answer of the kernel holds.
func TestScanGoesOnToTheEnd(t *testing.T) {
	size := os.Getpagesize()
	content := bytes.Repeat([]byte{1}, 512*size)
	mapping := newMapping(t, scanImage(t, content, 64<<20), 1024*size)
	memory := mapping.Bytes()
	for round := range 3 {
		for at := 0; at < len(memory); at += 2 * size {
			memory[at] = 0xEE
		}
		if did := restore(t, mapping); did.Runs != 512 || did.Copied != 256 || did.Cleared != 256 {
			t.Errorf("%+v", did)
		}
		if err := sameAs(memory, content); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

func TestACallThatWroteMoreThanIsKeptLeavesNothing(t *testing.T) {
	content := bytes.Repeat([]byte{1}, 1<<20)
	mapping := newMapping(t, scanImage(t, content, 64<<10), 64<<20)
	memory := mapping.Bytes()
	for i := range memory {
		memory[i] = 5
	}
	did := restore(t, mapping)
	if did.Method != Discard || did.Discarded*os.Getpagesize() <= 64<<10 || mapping.ResidentBytes() != 0 || ownPages(t, memory) != 0 {
		t.Errorf("%+v, %d pages", did, ownPages(t, memory))
	}
	if err := sameAs(memory, content); err != nil {
		t.Error(err)
	}
}

func TestOneLargeCallDoesNotBurdenTheNext(t *testing.T) {
	mapping := newMapping(t, scanImage(t, bytes.Repeat([]byte{1}, 1<<20), 0), 16<<20)
	memory := mapping.Bytes()
	for at := 0; at < 8<<20; at += 4096 {
		memory[at] = 2
	}
	restore(t, mapping)
	for range 4 {
		memory[100], memory[70_000], memory[140_000] = 3, 3, 3
		restore(t, mapping)
	}
	if resident := mapping.ResidentBytes(); resident != uint64(3*os.Getpagesize()) {
		t.Errorf("%d bytes are resident", resident)
	}
}

func TestTheImageIsSealed(t *testing.T) {
	image := newImage(t, bytes.Repeat([]byte{1}, 2*os.Getpagesize()), &Options{Method: Discard})
	source := image.material.source
	if _, err := unix.Pwrite(source, []byte{2}, 0); err == nil {
		t.Error("the image was written to")
	}
	for _, size := range []int64{4096, 1 << 20} {
		if err := unix.Ftruncate(source, size); err == nil {
			t.Errorf("the image was made %d bytes large", size)
		}
	}
	if _, err := unix.Mmap(source, 0, 4096, unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		t.Error("the image was mapped for writing")
	}
	if _, err := unix.FcntlInt(uintptr(source), unix.F_ADD_SEALS, unix.F_SEAL_FUTURE_WRITE); err == nil {
		t.Error("the seals can be changed")
	}
}

// vmFlags gives the flags of the mapping in which an address lies.
func vmFlags(t *testing.T, address uintptr) []string {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	inside := false
	for line := range strings.Lines(string(smaps)) {
		var start, end uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &start, &end); n == 2 {
			inside = start <= address && address < end
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return strings.Fields(flags)
		}
	}
	t.Fatalf("no mapping at %x", address)
	return nil
}

// Flags of /proc/<pid>/smaps: dd is not dumped, nh no huge pages, nr no swap
// reserved.
func TestMemoryIsNeitherDumpedNorHuge(t *testing.T) {
	for _, method := range methods(t) {
		for _, capacity := range []int{128 << 10, 64 << 20} {
			mapping := newMapping(t, newImage(t, bytes.Repeat([]byte{1}, 64<<10), &Options{Method: method}), capacity)
			mapping.Bytes()[capacity-1] = 1
			restore(t, mapping)
			for _, at := range []int{0, 64<<10 - 1, 64 << 10, capacity - 1} {
				flags := strings.Join(vmFlags(t, uintptr(unsafe.Pointer(&mapping.Bytes()[at]))), " ")
				for _, flag := range []string{"dd", "nh", "nr"} {
					if !strings.Contains(flags, flag) {
						t.Errorf("%s, byte %d of %d: %q lacks %s", method, at, capacity, flags, flag)
					}
				}
			}
		}
	}
}

// swap makes sure that the system has somewhere to put pages: what it has, or a
// file of the test's own.
func swap(t *testing.T) {
	t.Helper()
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	if info.Freeswap > 0 {
		return
	}
	if os.Geteuid() > 0 {
		t.Skip("this system has no swap, and this user cannot make any")
	}
	file := filepath.Join(t.TempDir(), "swap")
	if err := os.WriteFile(file, make([]byte, 16<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"mkswap", "swapon"} {
		if out, err := exec.CommandContext(t.Context(), command, file).CombinedOutput(); err != nil {
			t.Skipf("this system has no swap, and none can be made: %s: %v: %s", command, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.Background(), "swapoff", file).CombinedOutput(); err != nil {
			t.Errorf("swapoff: %v: %s", err, out)
		}
	})
}

func TestPagesInSwapArePutBack(t *testing.T) {
	swap(t)
	content := bytes.Repeat([]byte{1}, 1<<20)
	mapping := newMapping(t, scanImage(t, content, 0), 2<<20)
	memory := mapping.Bytes()
	for i := range memory {
		memory[i] = byte(i | 1)
	}
	if err := unix.Madvise(memory, unix.MADV_PAGEOUT); err != nil {
		t.Fatal(err)
	}
	if countPages(t, memory, func(e uint64) bool { return e&swappedBit != 0 }) == 0 {
		t.Fatal("no page went to swap, so nothing is tested")
	}
	restore(t, mapping)
	if err := sameAs(memory, content); err != nil {
		t.Error(err)
	}
}

func TestWithoutAPageMapPagesAreDiscarded(t *testing.T) {
	for _, path := range []string{"/proc/no/such/pagemap", "/dev/null"} {
		content := bytes.Repeat([]byte{1}, 1<<20)
		image := newImage(t, content, &Options{pagemap: path})
		if image.Method() != Discard {
			t.Errorf("%s: %s", path, image.Method())
		}
		if _, err := NewImage(content, &Options{Method: Scan, pagemap: path}); err == nil {
			t.Errorf("%s: a scan was promised", path)
		}
		mapping := newMapping(t, image, 1<<20)
		clear(mapping.Bytes())
		restore(t, mapping)
		if err := sameAs(mapping.Bytes(), content); err != nil {
			t.Error(err)
		}
	}
}
