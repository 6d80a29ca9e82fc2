package wasmbin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"vcphost/sandbox/wasmbin"
	"vcphost/sandbox/wasmbuild"
)

const header = "\x00asm\x01\x00\x00\x00"

// section is a section with a length that is true.
func section(id byte, content ...byte) string {
	return string(append(append([]byte{id}, wasmbuild.U32(uint32(len(content)))...), content...))
}

// imports is an import section of the given entries.
func imports(entries ...string) string {
	content := wasmbuild.U32(uint32(len(entries)))
	for _, entry := range entries {
		content = append(content, entry...)
	}
	return section(2, content...)
}

func entry(module, name string, description ...byte) string {
	return string(wasmbuild.Name(module)) + string(wasmbuild.Name(name)) + string(description)
}

func TestImports(t *testing.T) {
	for _, test := range []struct {
		name, binary string
		want         string // "module.name kind", joined by commas
	}{
		{"an empty module", header, ""},
		{"a function", header + imports(entry("env", "f", 0, 5)), "env.f func"},
		{"every kind", header + imports(
			entry("a", "f", 0, 0x80, 0x01), entry("a", "t", 1, 0x70, 1, 2, 0x90, 0x4e), entry("a", "m", 2, 0, 1),
			entry("a", "g", 3, 0x7f, 1), entry("a", "x", 4, 0, 0),
		), "a.f func,a.t table,a.m memory,a.g global,a.x tag"},
		{"a shared memory with a maximum", header + imports(entry("a", "m", 2, 3, 1, 2)), "a.m memory"},
		{"a memory of 64 bits", header + imports(entry("a", "m", 2, 5, 1, 0x80, 0x80, 0x80, 0x80, 0x10)), "a.m memory"},
		{"empty names", header + imports(entry("", "", 0, 0)), ". func"},
		{"names of any script", header + imports(entry("ü", "日程", 0, 0)), "ü.日程 func"},
		{"after other sections", header + section(0, 1, 'n', 9, 9) + section(1, 0) + imports(entry("a", "f", 0, 0)), "a.f func"},
		{"none, with other sections", header + section(1, 0) + section(0, 1, 'n'), ""},
		{"what follows does not matter", header + imports(entry("a", "f", 0, 0)) + "\xff\xff garbage", "a.f func"},
		{"a padded number", header + "\x02\x88\x80\x00" + "\x01" + entry("a", "f", 0, 0x80, 0x00), "a.f func"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := wasmbin.Imports([]byte(test.binary))
			if err != nil {
				t.Fatal(err)
			}
			list := []string{}
			for _, i := range got {
				list = append(list, i.Module+"."+i.Name+" "+i.Kind.String())
			}
			if got := strings.Join(list, ","); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestImportsRefuses(t *testing.T) {
	good := header + imports(entry("module", "name", 0, 0), entry("module", "other", 0, 0))
	for _, test := range []struct {
		name, binary string
		want         error
	}{
		{"nothing", "", wasmbin.ErrNotWASM},
		{"text", "(module)", wasmbin.ErrNotWASM},
		{"an ELF binary", "\x7fELF\x02\x01\x01\x00", wasmbin.ErrNotWASM},
		{"half a header", header[:7], wasmbin.ErrNotWASM},
		{"a component", "\x00asm\x0d\x00\x01\x00", wasmbin.ErrComponent},
		{"version 0", "\x00asm\x00\x00\x00\x00", wasmbin.ErrMalformed},
		{"version 2", "\x00asm\x02\x00\x00\x00", wasmbin.ErrMalformed},
		{"another layer", "\x00asm\x01\x00\x02\x00", wasmbin.ErrMalformed},
		{"a section without a length", header + "\x01", wasmbin.ErrMalformed},
		{"a section beyond the end", header + "\x01\x05\x00", wasmbin.ErrMalformed},
		{"a section of 4 GiB", header + "\x02\xff\xff\xff\xff\x0f", wasmbin.ErrMalformed},
		{"a length over 32 bits", header + "\x01\xff\xff\xff\xff\x1f", wasmbin.ErrMalformed},
		{"a length without end", header + "\x01\x80\x80\x80\x80\x80\x80", wasmbin.ErrMalformed},
		{"an empty import section", header + "\x02\x00", wasmbin.ErrMalformed},
		{"4 billion imports in 5 bytes", header + section(2, 0xff, 0xff, 0xff, 0xff, 0x0f), wasmbin.ErrLimit},
		{"a name of 4 GiB", header + section(2, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 'a'), wasmbin.ErrLimit},
		{"a name that runs into the next section", header + section(2, 1, 4, 'a') + section(1, 0, 0, 0, 0), wasmbin.ErrMalformed},
		{"a name that is not UTF-8", header + imports(entry("\xff", "f", 0, 0)), wasmbin.ErrMalformed},
		{"an unknown kind", header + imports(entry("a", "f", 9, 0)), wasmbin.ErrMalformed},
		{"no type", header + imports(entry("a", "f", 0)), wasmbin.ErrMalformed},
		{"cut in the second entry", good[:len(good)-4], wasmbin.ErrMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, err := wasmbin.Imports([]byte(test.binary))
			if !errors.Is(err, test.want) || list != nil {
				t.Errorf("got %v, %v; want %v", list, err, test.want)
			}
		})
	}
}

// A number of entries that the input names costs nothing until they are there.
func TestWhatAnInputClaimsIsNotAllocated(t *testing.T) {
	binary := []byte(header + section(2, 0xff, 0xff, 0xff, 0xff, 0x0f))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		if _, err := wasmbin.Imports(binary); err == nil {
			t.Fatal("the module was taken")
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
		t.Errorf("100 readings of %d bytes allocated %d", len(binary), grown)
	}
}

func TestKindString(t *testing.T) {
	if got := fmt.Sprint(wasmbin.Function, wasmbin.Tag, wasmbin.Kind(9)); got != "func tag kind 9" {
		t.Errorf("got %q", got)
	}
}

// engine compiles without running anything.
func engine(t testing.TB) wazero.Runtime {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// agree holds what Imports says against what the engine compiled: the engine
// lists functions alone, and must know each that Imports lists, in order.
func agree(t *testing.T, compiled wazero.CompiledModule, binary []byte) {
	t.Helper()
	list, err := wasmbin.Imports(binary)
	if err != nil {
		t.Fatalf("the engine takes the module, and Imports says %v: %x", err, binary)
	}
	var got, want []string
	for _, i := range list {
		if i.Kind == wasmbin.Function {
			got = append(got, fmt.Sprintf("%q.%q", i.Module, i.Name))
		}
	}
	for _, f := range compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		want = append(want, fmt.Sprintf("%q.%q", module, name))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got imports %v, the engine has %v: %x", got, want, binary)
	}
}

func TestImportsAgreesWithTheEngine(t *testing.T) {
	r := engine(t)
	for _, binary := range modules() {
		if err := wasmbin.Check(binary); err != nil {
			t.Errorf("Check refuses %x: %v", binary, err)
		}
		compiled, err := r.CompileModule(context.Background(), binary)
		if err != nil {
			t.Fatalf("the engine refuses %x: %v", binary, err)
		}
		agree(t, compiled, binary)
	}
}

// modules are sound, with imports of every kind that the engine takes.
func modules() [][]byte {
	i32 := wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}}
	return [][]byte{
		wasmbuild.Guest{}.Bytes(),
		wasmbuild.Guest{Imports: func(m *wasmbuild.Module) {
			m.ImportFunction("vcp", "random", i32)
			m.ImportFunction("vcp", "random", i32)
			m.Import("env", "g", 3, []byte{byte(wasmbuild.I32), 0})
			m.ImportFunction("ü", "", wasmbuild.Signature{})
			m.Import("env", "t", 1, []byte{byte(wasmbuild.FuncRef), 1, 0, 10})
		}, Extra: func(m *wasmbuild.Module) { m.Custom("name", nil); m.Custom("x", bytes.Repeat([]byte("y"), 1000)) }}.Bytes(),
	}
}

// FuzzCheck: nothing panics, and what passes costs the engine little memory, and
// is read as the engine reads it.
func FuzzCheck(f *testing.F) {
	for _, binary := range modules() {
		f.Add(binary)
	}
	f.Add([]byte(header + imports(entry("a", "m", 2, 3, 1, 2))))
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"))
	for _, test := range claims() {
		f.Add([]byte(header + test.sections))
	}
	r := engine(f)
	f.Fuzz(func(t *testing.T, binary []byte) {
		list, err := wasmbin.Imports(binary)
		if len(list) > len(binary) || err != nil && list != nil {
			t.Errorf("got %d imports and %v from %d bytes", len(list), err, len(binary))
		}
		if wasmbin.Check(binary) != nil || len(binary) > 4<<10 {
			return
		}
		if grown := compile(t, r, binary); grown > 16<<20 {
			t.Errorf("the engine allocates %d bytes for a module of %d: %x", grown, len(binary), binary)
		}
	})
}

// compile lets the engine take the module or refuse it, and tells how many
// bytes it allocated.
func compile(t *testing.T, r wazero.Runtime, binary []byte) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	compiled, err := r.CompileModule(context.Background(), binary)
	runtime.ReadMemStats(&after)
	if err == nil {
		agree(t, compiled, binary)
		if err := compiled.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	return after.TotalAlloc - before.TotalAlloc
}
