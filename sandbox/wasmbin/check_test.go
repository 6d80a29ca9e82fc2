package wasmbin_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"vcphost/sandbox/wasmbin"
	"vcphost/sandbox/wasmbuild"
)

// claim is a section that says more than there is, and what Check says to it.
type claim struct {
	name, sections string
	want           error
}

// huge is 2^32-1 as a number of entries or bytes.
const huge = "\xff\xff\xff\xff\x0f"

func claims() []claim {
	raw := func(id byte, content string) string { return section(id, []byte(content)...) }
	many := func(n uint32, rest string) string { return string(wasmbuild.U32(n)) + rest }
	names := func(content string) string { return raw(0, "\x04name"+content) }
	list := []claim{
		{"parameters", raw(1, "\x01\x60"+huge), wasmbin.ErrLimit},
		{"results", raw(1, "\x01\x60\x00"+huge), wasmbin.ErrLimit},
		{"1000 parameters, not there", raw(1, "\x01\x60"+many(1000, "\x7f")), wasmbin.ErrMalformed},
		{"a recursive type", raw(1, "\x01\x4e"+huge), wasmbin.ErrMalformed},
		{"a name of an import", raw(2, "\x01"+huge+"a"), wasmbin.ErrLimit},
		{"a name of an export", raw(7, "\x01"+huge+"a"), wasmbin.ErrLimit},
		{"a name of a custom section", raw(0, huge+"a"), wasmbin.ErrLimit},
		{"elements of a segment", raw(9, "\x01\x00\x41\x00\x0b"+huge), wasmbin.ErrLimit},
		{"elements as expressions", raw(9, "\x01\x05\x70"+many(9_000_000, "\xd2\x00\x0b")), wasmbin.ErrMalformed},
		{"elements behind an odd expression", raw(9, "\x01\x00\xfd\x0d"), wasmbin.ErrMalformed},
		{"an unknown form of elements", raw(9, "\x01\x08"+huge), wasmbin.ErrMalformed},
		{"a body", raw(10, "\x01"+huge), wasmbin.ErrMalformed},
		{"a body beyond its section", raw(10, "\x01\x05\x00") + section(11, 0, 0, 0, 0), wasmbin.ErrMalformed},
		{"locals", raw(10, "\x01\x08\x01"+huge+"\x7f\x0b"), wasmbin.ErrLimit},
		{"locals in two groups", raw(10, "\x01\x0a\x02"+many(30000, "\x7f")+many(30000, "\x7e")+"\x0b"), wasmbin.ErrLimit},
		{"groups of locals", raw(10, "\x01\x06"+huge+"\x0b"), wasmbin.ErrLimit},
		{"data", raw(11, "\x01\x01"+huge), wasmbin.ErrMalformed},
		{"data behind an expression without end", raw(11, "\x01\x00\x41\x80\x80"), wasmbin.ErrMalformed},
		{"names of functions", names("\x01\x05" + huge), wasmbin.ErrLimit},
		{"a name of a function", names("\x01\x07\x01\x00" + huge), wasmbin.ErrLimit},
		{"names of locals", names("\x02\x07\x01\x00" + huge), wasmbin.ErrLimit},
		{"names beyond their section", names("\x00\x7f\x01a\x01" + huge), wasmbin.ErrMalformed},
		{"names shorter than they say", names("\x00\x05\x01a\x01\x00\x00"), wasmbin.ErrMalformed},
		{"bytes after a section's content", raw(1, "\x00\x00"), wasmbin.ErrMalformed},
		{"an unknown section", raw(14, "\x00"), wasmbin.ErrMalformed},
	}
	for id, what := range map[byte]string{1: "types", 2: "imports", 3: "functions", 4: "tables", 5: "memories", 6: "globals", 7: "exports", 9: "segments", 10: "bodies", 11: "data segments", 13: "tags"} {
		list = append(list, claim{what, raw(id, huge), wasmbin.ErrLimit}, claim{"some " + what, raw(id, "\x30"), wasmbin.ErrMalformed})
	}
	slices.SortFunc(list, func(a, b claim) int { return strings.Compare(a.name, b.name) })
	return list
}

func TestCheckRefusesEmptyClaims(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, test := range claims() {
		if err := wasmbin.Check([]byte(header + test.sections)); !errors.Is(err, test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("the refusals allocated %d bytes", grown)
	}
}

func TestCheckTakesWhatIsThere(t *testing.T) {
	for _, test := range []struct{ name, sections string }{
		{"nothing", ""},
		{"a custom section of anything", section(0, 1, 'x', 0xff, 0xff)},
		{"every form of elements", section(9, 8,
			0, 0x41, 0, 0x0b, 1, 0,
			1, 0, 1, 0,
			2, 0, 0x41, 0, 0x0b, 0, 1, 0,
			3, 0, 1, 0,
			4, 0x41, 0, 0x0b, 1, 0xd2, 0, 0x0b,
			5, 0x70, 1, 0xd0, 0x70, 0x0b,
			6, 0, 0x41, 0, 0x0b, 0x70, 1, 0xd2, 0, 0x0b,
			7, 0x70, 1, 0xd2, 0, 0x0b)},
		{"every form of data", section(11, 3, 0, 0x41, 0x80, 0x7f, 0x0b, 1, 'a', 1, 2, 'b', 'c', 2, 0, 0x23, 0, 0x41, 1, 0x6a, 0x0b, 0)},
		{"constants of every type", section(11, 4, 0, 0x43, 1, 2, 3, 4, 0x0b, 0, 0, 0x44, 1, 2, 3, 4, 5, 6, 7, 8, 0x0b, 0,
			0, 0xfd, 0x0c, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0x0b, 0, 0, 0x42, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f, 0x0b, 0)},
		{"the most locals", section(10, append([]byte{1, 6, 1}, append(wasmbuild.U32(50_000), 0x7f, 0x0b)...)...)},
		{"names", section(0, []byte("\x04name\x00\x02\x01m\x01\x04\x01\x00\x01f\x02\x06\x01\x00\x01\x00\x01l\x09\x01z")...)},
		{"a start and a count of data", section(8, 0) + section(12, 0)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := wasmbin.Check([]byte(header + test.sections)); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a toolchain writes passes, names and debugging information included.
func TestCheckTakesAModuleOfGo(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module")
	}
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-o", out, "../testdata/guests/conformance")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	binary, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := wasmbin.Check(binary); err != nil {
		t.Error(err)
	}
	for _, cut := range []int{9, 100, len(binary) / 2, len(binary) - 1} {
		if err := wasmbin.Check(binary[:cut]); !errors.Is(err, wasmbin.ErrMalformed) {
			t.Errorf("cut at %d: got %v", cut, err)
		}
	}
}
