package wasmbin_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"vcphost/sandbox/wasmbin"
	"vcphost/sandbox/wasmbuild"
)

// vec is a vector of entries, which are strings of bytes.
func vec(entries ...string) string {
	return string(wasmbuild.U32(uint32(len(entries)))) + strings.Join(entries, "")
}

func sec(id byte, entries ...string) string { return section(id, []byte(vec(entries...))...) }

// body is a function's body of no locals.
func body(code string) string { return sized("\x00" + code + "\x0b") }

func sized(content string) string { return string(wasmbuild.U32(uint32(len(content)))) + content }

func export(name string, kind, index byte) string {
	return string(wasmbuild.Name(name)) + string([]byte{kind, index})
}

// metered is an instance of a rewritten module whose fuel is counted.
type metered struct {
	api.Module
	plan    *wasmbin.Rewritten
	granted int64
	refuels int
}

// meter rewrites a module and begins it; refuel grants a piece at a time.
func meter(t testing.TB, binary string, opts wasmbin.RewriteOptions, grant int64) *metered {
	t.Helper()
	plan, err := wasmbin.Rewrite([]byte(binary), opts)
	if err != nil {
		t.Fatal(err)
	}
	m := &metered{plan: plan}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	t.Cleanup(func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	linkRefuel(t, r, func(left int64) int64 {
		m.refuels++
		m.granted += grant
		return left + grant
	})
	if m.Module, err = r.InstantiateWithConfig(ctx, plan.Binary, wazero.NewModuleConfig()); err != nil {
		t.Fatal(err)
	}
	if plan.Memory.Exists {
		memory, _ := m.Memory().Read(0, m.Memory().Size())
		if err := plan.WriteData(memory, nil); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// used is the fuel that a call took, and what it gave.
func (m *metered) used(name string, args ...uint64) (int64, []uint64, error) {
	m.granted, m.refuels = 0, 0
	fuel := m.ExportedGlobal(m.plan.Fuel)
	before := int64(fuel.Get())
	values, err := m.ExportedFunction(name).Call(context.Background(), args...)
	return before + m.granted - int64(fuel.Get()), values, err
}

func TestFuelIsCountedExactly(t *testing.T) {
	const (
		get0, const1, sub, tee0, drop = "\x20\x00", "\x41\x01", "\x6b", "\x22\x00", "\x1a"
		turn                          = get0 + const1 + sub + tee0 + "\x0d\x00" // 5 with br_if
	)
	types := sec(1, "\x60\x01\x7f\x00")
	for _, test := range []struct {
		name, code string
		argument   uint64
		want       int64
	}{
		{"nothing", "", 0, 2},
		{"five instructions", get0 + drop + "\x01\x01\x01", 0, 2 + 5},
		{"a loop of five, ten turns", "\x03\x40" + turn + "\x0b", 10, 2 + 10*6},
		{"after the loop belongs before it", "\x03\x40" + turn + "\x0b\x01\x01", 10, 2 + 2 + 10*6},
		{"blocks and their ends", "\x02\x40\x02\x40\x01\x0b\x0b", 0, 2 + 3},
		{"both arms of an if", get0 + "\x04\x40\x01\x05\x01\x01\x0b", 1, 2 + 1 + 1 + 3},
		{"what is not reached counts", "\x0f\x01\x01\x01", 0, 2 + 4},
		{"a loop within a loop", "\x03\x40\x41\x03\x21\x00\x03\x40" + turn + "\x0b\x0b", 0, 2 + 3 + 3*6},
		{"a division", get0 + get0 + "\x6d" + drop, 1, 2 + 3 + 14},
		{"a root", "\x43\x00\x00\x80\x3f\x91" + drop, 0, 2 + 2 + 14},
		{"a call", "\x41\x00\x10\x01", 0, 2 + 1 + 7 + 3},
		{"an indirect call", "\x41\x00\x41\x00\x11\x00\x00", 0, 2 + 2 + 13 + 3},
		{"a fill of 1000 bytes", "\x41\x00\x41\x07\x41\xe8\x07\xfc\x0b\x00", 0, 2 + 3 + 16 + 500},
		{"a fill of 3 MiB", "\x41\x00\x41\x07\x41\x80\x80\xc0\x01\xfc\x0b\x00", 0, 2 + 3 + 16 + 3<<19},
		{"a vector's quotient", "\x41\x00\xfd\x11\xfd\x0c" + strings.Repeat("\x01", 16) + "\xfd\xe7\x01" + drop, 0, 2 + 2 + 2 + 2 + 14},
		{"a reference", "\xd2\x01" + drop, 0, 2 + 1800 + 1},
		{"a long way", strings.Repeat("\x01", 200_000), 0, 2 + 200_000},
		{"a long way in a block that is left", "\x02\x40\x0c\x00" + strings.Repeat("\x01", 200_000) + "\x0b\x01", 0, 65_536 + 1},
		{"a long way in both arms", get0 + "\x04\x40" + strings.Repeat("\x01", 40_000) + "\x05" + strings.Repeat("\x01", 40_000) + "\x0b\x01", 1, 65_536 + 1},
		{"a block of a type with values", "\x41\x00\x02\x00\x1a\x0b", 0, 2 + 1 + 1 + 1 + 1},
		{"a growth", "\x41\x01\x40\x00" + drop, 0, 2 + 2 + 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			module := header + types + sec(3, "\x00", "\x00") + sec(4, "\x70\x00\x01") + sec(5, "\x00\x40") +
				sec(7, export("f", 0, 0)) + sec(9, "\x00\x41\x00\x0b\x01\x01") + sec(10, body(test.code), body("\x01"))
			for _, grant := range []int64{1, 7, 1 << 40} {
				m := meter(t, module, wasmbin.RewriteOptions{}, grant)
				for range 3 {
					if got, _, err := m.used("f", test.argument); err != nil || got != test.want {
						t.Errorf("granting %d at a time: used %d, %v; want %d", grant, got, err, test.want)
					}
				}
			}
		})
	}
}

// Nothing runs without fuel: an instance begins with none, and asks first.
func TestAnInstanceBeginsWithoutFuel(t *testing.T) {
	m := meter(t, header+sec(1, "\x60\x00\x00")+sec(3, "\x00")+sec(7, export("f", 0, 0))+sec(10, body("")), wasmbin.RewriteOptions{}, 100)
	if got := m.ExportedGlobal(m.plan.Fuel).Get(); got != 0 {
		t.Errorf("fuel at the start is %d", got)
	}
	if _, _, err := m.used("f"); err != nil || m.refuels != 1 {
		t.Errorf("asked %d times for fuel, %v", m.refuels, err)
	}
}

// Bytes that a bulk operation leaves, as Go has it.
func bulkExpectation(op string, memory []byte, to, from, length uint64) (after []byte, trap bool) {
	after = slices.Clone(memory)
	size := uint64(len(memory))
	if to+length > size || op == "copy" && from+length > size || op == "init" && from+length > initBytes {
		return after, true
	}
	switch op {
	case "fill":
		for i := range length {
			after[to+i] = byte(from)
		}
	case "copy":
		copy(after[to:to+length], memory[from:from+length])
	case "init":
		copy(after[to:to+length], initContent()[from:from+length])
	}
	return after, false
}

const initBytes = 2<<20 + 1000

func initContent() []byte {
	content := make([]byte, initBytes)
	for i := range content {
		content[i] = byte(i*7 + i>>9)
	}
	return content
}

// bulkModule has one function for each bulk operation of memory.
func bulkModule() string {
	args := "\x20\x00\x20\x01\x20\x02"
	return header + sec(1, "\x60\x03\x7f\x7f\x7f\x00", "\x60\x01\x7f\x01\x7f") + sec(3, "\x00", "\x00", "\x00", "\x01") + sec(5, "\x01\x64\xf4\x03") +
		sec(7, export("fill", 0, 0), export("copy", 0, 1), export("init", 0, 2), export("grow", 0, 3)) + section(12, 2) +
		sec(10, body(args+"\xfc\x0b\x00"), body(args+"\xfc\x0a\x00\x00"), body(args+"\xfc\x08\x01\x00"), body("\x20\x00\x40\x00")) +
		sec(11, "\x00\x41\x00\x0b\x03abc", "\x01"+sized(string(initContent())))
}

func TestBulkOperationsInPieces(t *testing.T) {
	const size, mib = 100 << 16, 1 << 20
	for _, opts := range []wasmbin.RewriteOptions{{}, {VirtualMemory: true}} {
		m := meter(t, bulkModule(), opts, 1000)
		memory, _ := m.Memory().Read(0, size)
		for i := range memory {
			memory[i] = byte(i + i>>8 + i>>16)
		}
		for _, test := range []struct {
			op               string
			to, from, length uint64
		}{
			{"fill", 5, 0xab, 0}, {"fill", 5, 0xab, 100}, {"fill", 5, 0xcd, mib}, {"fill", 5, 0xef, mib + 1}, {"fill", 7, 0x12, 5*mib + 3},
			{"fill", size, 1, 0}, {"fill", size - 3, 1, 3}, {"fill", size - 3, 1, 4}, {"fill", size + 1, 1, 0}, {"fill", size - mib, 1, 2 * mib}, {"fill", 0, 1, 1<<32 - 1},
			{"copy", 100, 50, 5*mib + 3}, {"copy", 50, 100, 5*mib + 3}, {"copy", 100, 100, 3 * mib}, {"copy", 3 * mib, 5, 3*mib - 1},
			{"copy", 0, size - 2*mib, 2 * mib}, {"copy", 0, size - 2*mib, 2*mib + 1}, {"copy", size - 2*mib, 0, 2*mib + 1}, {"copy", 1<<32 - 1, 0, 2 * mib}, {"copy", 8, 4, 10},
			{"init", 9, 0, initBytes}, {"init", 9, 1, initBytes - 1}, {"init", 9, 1, initBytes}, {"init", 9, 0, 100}, {"init", size - 5, 0, 6}, {"init", size - mib, 0, 2 * mib}, {"init", 0, 1 << 31, 2 * mib},
		} {
			want, trap := bulkExpectation(test.op, memory, test.to, test.from, test.length)
			used, _, err := m.used(test.op, test.to, test.from, test.length)
			if (err != nil) != trap || trap && !strings.Contains(err.Error(), "out of bounds memory access") {
				t.Errorf("%+v: got %v, want a trap: %v", test, err, trap)
			}
			if !trap && used != 23+int64(test.length/2) {
				t.Errorf("%+v: used %d", test, used)
			}
			if memory, _ = m.Memory().Read(0, size); !bytes.Equal(memory, want) {
				t.Errorf("%+v (virtual %v): the memory is not what it should be", test, opts.VirtualMemory)
			}
			if mibs := int(test.length >> 20); !trap && m.refuels < mibs {
				t.Errorf("%+v: %d safe points", test, m.refuels)
			}
		}
	}
}

func TestVirtualMemory(t *testing.T) {
	for _, test := range []struct {
		name, limits string
		cap          int64
		compiled     uint32
	}{
		{"its own maximum", "\x01\x02\x0a", 100, 10},
		{"the cap", "\x01\x02\x64", 10, 10},
		{"no maximum", "\x00\x02", 10, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			module := header + sec(1, "\x60\x01\x7f\x01\x7f", "\x60\x00\x01\x7f") + sec(3, "\x00", "\x01") + sec(5, test.limits) +
				sec(7, export("grow", 0, 0), export("size", 0, 1)) + sec(10, body("\x20\x00\x40\x00"), body("\x3f\x00"))
			m := meter(t, module, wasmbin.RewriteOptions{VirtualMemory: true, Limits: wasmbin.Limits{MemoryPages: test.cap}}, 1000)
			if want := (wasmbin.MemoryPlan{Exists: true, Initial: 2, Compiled: test.compiled, Virtual: true}); m.plan.Memory != want {
				t.Errorf("got %+v, want %+v", m.plan.Memory, want)
			}
			grow := func(by, want uint64) {
				t.Helper()
				if _, got, err := m.used("grow", by); err != nil || uint32(got[0]) != uint32(want) {
					t.Errorf("grow by %d gives %d, %v; want %d", by, int32(got[0]), err, int32(want))
				}
			}
			minus1 := uint64(1<<32 - 1)
			grow(0, 2)
			grow(3, 2)
			grow(6, minus1)
			grow(minus1, minus1)
			grow(7, minus1)
			grow(5, 5)
			grow(1, minus1)
			grow(0, 10)
			if _, got, _ := m.used("size"); got[0] != 10 {
				t.Errorf("size %d", got[0])
			}
			if got := m.ExportedGlobal(m.plan.MemoryRefused).Get(); got != 5+1<<32-1 {
				t.Errorf("the largest refused size is %d", got)
			}
			if got := m.ExportedGlobal(m.plan.MemorySize).Get(); got != 10 {
				t.Errorf("the size's global is %d", got)
			}
			if got := m.Memory().Size(); got != 10<<16 {
				t.Errorf("the memory has %d bytes", got)
			}
		})
	}
}

// A memory that cannot grow keeps its size, and so does one that is imported.
func TestVirtualMemoryOnlyWhereItGrows(t *testing.T) {
	opts := wasmbin.RewriteOptions{VirtualMemory: true}
	fixed := header + sec(1, "\x60\x00\x00") + sec(3, "\x00") + sec(5, "\x00\x02") + sec(10, body("\x3f\x00\x1a"))
	imported := header + sec(1, "\x60\x00\x00") + sec(2, entry("a", "m", 2, 0, 2)) + sec(3, "\x00") + sec(10, body("\x41\x01\x40\x00\x1a"))
	for _, binary := range []string{fixed, imported} {
		plan, err := wasmbin.Rewrite([]byte(binary), opts)
		if err != nil || plan.Memory.Virtual || plan.MemorySize != "" {
			t.Errorf("got %+v, %v", plan, err)
		}
	}
}

func TestRewriteRefuses(t *testing.T) {
	module := func(code string) string {
		return header + sec(1, "\x60\x00\x00") + sec(3, "\x00") + sec(4, "\x70\x00\x01") + sec(5, "\x00\x01") + sec(6, "\x7f\x01\x41\x00\x0b") + sec(10, body(code))
	}
	feature := func(name string) error { return &wasmbin.UnsupportedError{Feature: name} }
	memory := func(l string) string { return header + sec(5, l) }
	for _, test := range []struct {
		name, binary string
		want         error
	}{
		{"a shared memory", memory("\x03\x01\x02"), feature("threads")},
		{"an atomic instruction", module("\xfe\x03\x00"), feature("threads")},
		{"a 64-bit memory", memory("\x04\x01"), feature("64-bit memories or tables")},
		{"two memories", header + sec(5, "\x00\x01", "\x00\x01"), feature("multiple memories")},
		{"a second memory in an instruction", module("\x41\x00\x28\x42\x01\x00\x1a"), feature("multiple memories")},
		{"a tag", header + section(13, 1, 0, 0), feature("exceptions")},
		{"try_table", module("\x1f\x40\x00\x0b"), feature("exceptions")},
		{"throw", module("\x08\x00"), feature("exceptions")},
		{"a tail call", module("\x12\x00"), feature("tail calls")},
		{"a structure", header + sec(1, "\x5f\x00"), feature("typed references or garbage collection")},
		{"struct.new", module("\xfb\x00\x00"), feature("typed references or garbage collection")},
		{"a block of a typed reference", module("\x02\x63\x00\x0b"), feature("typed references or garbage collection")},
		{"an extended constant", header + sec(6, "\x7f\x00\x41\x01\x41\x01\x6a\x0b"), feature("extended constant expressions")},
		{"relaxed SIMD", module("\xfd\x80\x02"), feature("relaxed SIMD or a padded number of an instruction")},
		// The engine reads the one byte 0x8c as an instruction of its own, and what is a
		// constant to a reader of padded numbers as sixteen instructions without fuel.
		{"a padded number of SIMD", module("\xfd\x8c\x00" + strings.Repeat("\x01", 16) + "\x1a"), feature("relaxed SIMD or a padded number of an instruction")},
		{"an unknown instruction", module("\xff"), feature("an unknown instruction")},
		{"a reserved import", header + sec(1, "\x60\x01\x7e\x01\x7e") + sec(2, entry("vcp_internal", "refuel", 0, 0)), &wasmbin.ReservedError{Name: "vcp_internal"}},
		{"a reserved export", header + sec(5, "\x00\x01") + sec(7, export("vcp_internal.fuel", 2, 0)), &wasmbin.ReservedError{Name: "vcp_internal.fuel"}},
		{"the fuel's global", module("\x42\x00\x24\x01"), wasmbin.ErrMalformed},
		{"reading the fuel's global", module("\x23\x01\x1a"), wasmbin.ErrMalformed},
		{"a call of an added function", module("\x10\x01"), wasmbin.ErrMalformed},
		{"an added type", module("\x02\x01\x0b"), wasmbin.ErrMalformed},
		{"an export of the fuel", header + sec(7, export("x", 3, 0)), wasmbin.ErrMalformed},
		{"an export of the added import", header + sec(7, export("x", 0, 0)), wasmbin.ErrMalformed},
		{"elements of the added import", header + sec(4, "\x70\x00\x01") + sec(9, "\x00\x41\x00\x0b\x01\x00"), wasmbin.ErrMalformed},
		{"ref.func of the start function alone", header + sec(1, "\x60\x00\x00") + sec(3, "\x00") + section(8, 0) + sec(10, body("\xd2\x00\x1a")), wasmbin.ErrMalformed},
		{"a start with parameters", header + sec(1, "\x60\x01\x7f\x00") + sec(3, "\x00") + section(8, 0) + sec(10, body("")), wasmbin.ErrMalformed},
		{"a section twice", memory("\x00\x01") + sec(5, "\x00\x01"), wasmbin.ErrMalformed},
		{"sections out of order", header + sec(7) + sec(5, "\x00\x01"), wasmbin.ErrMalformed},
		{"a body too many", header + sec(10, body("")), wasmbin.ErrMalformed},
		{"a body that ends early", module("\x0b\x01"), wasmbin.ErrMalformed},
		{"a body without end", header + sec(1, "\x60\x00\x00") + sec(3, "\x00") + sec(10, sized("\x00\x02\x40\x0b")), wasmbin.ErrMalformed},
		{"data without memory", header + sec(11, "\x00\x41\x00\x0b\x00"), wasmbin.ErrMalformed},
		{"data at an i64", memory("\x00\x01") + sec(11, "\x00\x42\x00\x0b\x00"), wasmbin.ErrMalformed},
		{"data at a global that is not imported", memory("\x00\x01") + sec(6, "\x7f\x00\x41\x00\x0b") + sec(11, "\x00\x23\x00\x0b\x00"), wasmbin.ErrMalformed},
		{"memory.init without a count", module("\x41\x00\x41\x00\x41\x00\xfc\x08\x00\x00") + sec(11, "\x01\x00"), wasmbin.ErrMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := wasmbin.Rewrite([]byte(test.binary), wasmbin.RewriteOptions{})
			var unsupported *wasmbin.UnsupportedError
			var reserved *wasmbin.ReservedError
			ok := errors.Is(err, test.want)
			if errors.As(err, &unsupported) || errors.As(err, &reserved) {
				ok = strings.HasSuffix(err.Error(), test.want.Error())
			}
			if !ok {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	repeat := func(entry string, n int) []string { return slices.Repeat([]string{entry}, n) }
	functions := header + sec(1, "\x60\x00\x00") + sec(3, repeat("\x00", 10)...) + sec(10, repeat(body("\x02\x40\x02\x40\x02\x40\x0b\x0b\x0b"), 10)...)
	for _, test := range []struct {
		limit, binary string
		need          int64
		set           func(l *wasmbin.Limits, n int64)
	}{
		{"moduleBytes", header + section(0, 1, 'x'), 12, func(l *wasmbin.Limits, n int64) { l.ModuleBytes = n }},
		{"types", header + sec(1, repeat("\x60\x00\x00", 10)...), 10, func(l *wasmbin.Limits, n int64) { l.Types = n }},
		{"params", header + sec(1, "\x60\x04\x7f\x7f\x7f\x7f\x00"), 4, func(l *wasmbin.Limits, n int64) { l.Params = n }},
		{"imports", header + sec(2, repeat(entry("a", "b", 3, 0x7f, 0), 10)...), 10, func(l *wasmbin.Limits, n int64) { l.Imports = n }},
		{"functions", functions, 10, func(l *wasmbin.Limits, n int64) { l.Functions = n }},
		{"functionBytes", functions, 11, func(l *wasmbin.Limits, n int64) { l.FunctionBytes = n }},
		{"nesting", functions, 3, func(l *wasmbin.Limits, n int64) { l.Nesting = n }},
		{"locals", header + sec(1, "\x60\x00\x00") + sec(3, "\x00") + sec(10, sized("\x02\x10\x7f\x10\x7e\x0b")), 32, func(l *wasmbin.Limits, n int64) { l.Locals = n }},
		{"tables", header + sec(4, repeat("\x70\x00\x01", 10)...), 10, func(l *wasmbin.Limits, n int64) { l.Tables = n }},
		{"tableElements", header + sec(4, repeat("\x70\x00\x10", 10)...), 160, func(l *wasmbin.Limits, n int64) { l.TableElements = n }},
		{"memoryPages", header + sec(5, "\x00\x10"), 16, func(l *wasmbin.Limits, n int64) { l.MemoryPages = n }},
		{"globals", header + sec(6, repeat("\x7f\x01\x41\x00\x0b", 10)...), 10, func(l *wasmbin.Limits, n int64) { l.Globals = n }},
		{"exports", header + sec(5, "\x00\x01") + sec(7, export("a", 2, 0), export("b", 2, 0)), 2, func(l *wasmbin.Limits, n int64) { l.Exports = n }},
		{"segments", header + sec(5, "\x00\x01") + sec(11, repeat("\x00\x41\x00\x0b\x00", 10)...), 10, func(l *wasmbin.Limits, n int64) { l.Segments = n }},
		{"elements", header + sec(1, "\x60\x00\x00") + sec(3, "\x00") + sec(9, "\x01\x00\x03\x00\x00\x00") + sec(10, body("")), 3, func(l *wasmbin.Limits, n int64) { l.Elements = n }},
	} {
		t.Run(test.limit, func(t *testing.T) {
			var opts wasmbin.RewriteOptions
			test.set(&opts.Limits, test.need)
			if _, err := wasmbin.Rewrite([]byte(test.binary), opts); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			test.set(&opts.Limits, test.need-1)
			_, err := wasmbin.Rewrite([]byte(test.binary), opts)
			var limit *wasmbin.LimitError
			if !errors.As(err, &limit) || !errors.Is(err, wasmbin.ErrLimit) || *limit != (wasmbin.LimitError{Limit: test.limit, Need: test.need, Max: test.need - 1}) {
				t.Errorf("over the limit: %v", err)
			}
		})
	}
}
