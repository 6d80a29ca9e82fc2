package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"vcphost/abi"
	"vcphost/internal/kv"
	"vcphost/sandbox/snapshot"
	"vcphost/sandbox/wasmbuild"
)

// Where the forgetful guest leaves something behind.
const (
	belowSize = 8192
	inGrown   = 2*pageBytes + 100
	aboveSize = 40 * mebibyte // out of range of what the guest has, below its cap
)

// keepsState is a guest that tells everything that it could have kept, and then
// changes all of it.
func keepsState() wasmbuild.Guest {
	const f32 = wasmbuild.ValueType(0x7d)
	f32Const := func(v float32) []byte {
		return binary.LittleEndian.AppendUint32([]byte{0x43}, math.Float32bits(v))
	}
	f64Const := func(v float64) []byte {
		return binary.LittleEndian.AppendUint64([]byte{0x44}, math.Float64bits(v))
	}
	return wasmbuild.Guest{Body: func(m *wasmbuild.Module) [][]byte {
		a := m.GlobalOf(wasmbuild.I32, wasmbuild.I32Const(11))
		b := m.GlobalOf(wasmbuild.I64, wasmbuild.I64Const(-12))
		c := m.GlobalOf(f32, f32Const(1.5))
		d := m.GlobalOf(wasmbuild.F64, f64Const(-2.5))
		m.Data(belowSize, []byte{7})
		tell := answers(
			wide(load8(belowSize)), wide(load8(inGrown)), wide(load8(aboveSize)), wide(wasmbuild.MemorySize()),
			wide(wasmbuild.GlobalGet(a)), wasmbuild.GlobalGet(b),
			wide(wasmbuild.GlobalGet(c), wasmbuild.Op(0xbc)), join(wasmbuild.GlobalGet(d), wasmbuild.Op(0xbd)),
		)
		change := join(
			wasmbuild.I32Const(3), wasmbuild.MemoryGrow(), wasmbuild.Drop(),
			store8(belowSize, 99), store8(inGrown, 98), store8(aboveSize, 97),
			wasmbuild.I32Const(1), wasmbuild.GlobalSet(a), wasmbuild.I64Const(2), wasmbuild.GlobalSet(b),
			f32Const(3), wasmbuild.GlobalSet(c), f64Const(4), wasmbuild.GlobalSet(d),
		)
		tell = tell[:len(tell)-1] // its return comes after the change
		return [][]byte{tell, change}
	}}
}

func untouched() []int64 {
	return []int64{7, 0, 0, 2, 11, -12, int64(math.Float32bits(1.5)), int64(math.Float64bits(-2.5))}
}

func touched() []int64 {
	return []int64{99, 98, 97, 5, 1, 2, int64(math.Float32bits(3)), int64(math.Float64bits(4))}
}

func TestNothingIsLeftForTheNextCall(t *testing.T) {
	for _, method := range []snapshot.Method{snapshot.Scan, snapshot.Discard, snapshot.Copy} {
		t.Run(method.String(), func(t *testing.T) {
			if image, err := snapshot.NewImage(nil, &snapshot.Options{Method: method}); err != nil {
				t.Skip(err)
			} else if err := image.Close(); err != nil {
				t.Error(err)
			}
			p := opened(t, box(t, &Options{Restore: method}), Module{Binary: keepsState().Bytes()})
			for i, path := range []string{pathMade, pathPooled, pathPooled, pathPooled} {
				words, figures := ask(t, p, "")
				if !slices.Equal(words, untouched()) {
					t.Errorf("call %d finds %v, want %v", i+1, words, untouched())
				}
				if figures.Path != path || figures.Isolation != "call" || figures.MemoryPeakBytes != 5*pageBytes {
					t.Errorf("call %d has the figures %+v, want the path %s and 5 pages", i+1, figures, path)
				}
			}
		})
	}
}

func TestAFreshGuestStartsInEachCall(t *testing.T) {
	guest := keepsState()
	guest.Extra = func(m *wasmbuild.Module) {
		m.ExportFunction("_initialize", m.Function(wasmbuild.Signature{}, nil, count(belowSize)))
	}
	p := opened(t, box(t, nil), Module{Binary: guest.Bytes(), Isolation: IsolationFresh})
	want := untouched()
	want[0]++ // _initialize ran, once
	for range 3 {
		words, figures := ask(t, p, "")
		if !slices.Equal(words, want) || figures.Path != pathFresh || figures.Isolation != "fresh" {
			t.Errorf("got %v by %+v, want %v", words, figures, want)
		}
	}
}

func TestASharedGuestKeepsItsState(t *testing.T) {
	module := Module{Name: "Shared", Binary: keepsState().Bytes(), Isolation: IsolationShared}
	if _, err := box(t, nil).Open(context.Background(), module); abi.CodeOf(err) != abi.CodeToolDisabled || !strings.Contains(err.Error(), `"shared"`) {
		t.Errorf("without the administrator's leave: got %v, want TOOL_DISABLED", err)
	}
	p := opened(t, box(t, &Options{AllowShared: true}), module)
	first, _ := ask(t, p, "")
	second, figures := ask(t, p, "")
	want := touched()
	if !slices.Equal(first, untouched()) || !slices.Equal(second, want) || figures.Path != pathPooled || figures.Isolation != "shared" {
		t.Errorf("got %v and then %v by %+v, want %v and %v", first, second, figures, untouched(), want)
	}
}

// A pool over its budget gives the memory of waiting instances back by restoring
// it, which would leave a shared one with the globals of one time and the memory
// of another.
func TestASharedGuestIsWholeOrNew(t *testing.T) {
	p := opened(t, box(t, &Options{AllowShared: true, PoolBytes: instanceBytes + 1}), Module{Binary: keepsState().Bytes(), Isolation: IsolationShared})
	for range 2 {
		if words, _ := ask(t, p, ""); !slices.Equal(words, untouched()) && !slices.Equal(words, touched()) {
			t.Errorf("a mixture of old and new: %v", words)
		}
	}
}

// A call that failed left its guest's stack pointer, locks and buffers where they
// were.
func TestASharedGuestThatFailedIsReplaced(t *testing.T) {
	guest := wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte {
		return [][]byte{count(belowSize), on('t', wasmbuild.Unreachable()), answers(wide(load8(belowSize)))}
	}}
	p := opened(t, box(t, &Options{AllowShared: true}), Module{Binary: guest.Bytes(), Isolation: IsolationShared})
	ask(t, p, "")
	if _, err := p.Invoke(context.Background(), &abi.Invocation{Command: "trap"}); abi.CodeOf(err) != abi.CodeSandboxTrap {
		t.Errorf("got %v, want a trap", err)
	}
	if words, _ := ask(t, p, ""); words[0] != 1 {
		t.Errorf("the call after the trap is number %d of its instance, want 1", words[0])
	}
}

// mutates lists guests whose instances have a state that cannot be put back:
// each answers 1 in an instance that is new and anything else, or a trap, in one
// that was used.
func mutates() map[string]wasmbuild.Guest {
	table := func(m *wasmbuild.Module) uint32 {
		m.Table(4, 10)
		f := m.Function(wasmbuild.Signature{}, nil)
		m.Elements(0, f, f, f, f)
		return f
	}
	tableSize := wasmbuild.Op(0xfc, 16, 0)
	return map[string]wasmbuild.Guest{
		"table.set": {Body: func(m *wasmbuild.Module) [][]byte {
			table(m)
			return [][]byte{
				wasmbuild.I32Const(answerAddress), wide(wasmbuild.I32Const(0), wasmbuild.Op(0x25, 0), wasmbuild.Op(0xd1), wasmbuild.I32Eqz()), wasmbuild.I64Store(),
				wasmbuild.I32Const(0), wasmbuild.RefNull(), wasmbuild.TableSet(), wasmbuild.I64Const(wasmbuild.Packed(answerAddress, 8)),
			}
		}},
		"table.grow": {Body: func(m *wasmbuild.Module) [][]byte {
			table(m)
			return [][]byte{
				wasmbuild.I32Const(answerAddress), wide(tableSize, wasmbuild.I32Const(-3), wasmbuild.I32Add()), wasmbuild.I64Store(),
				wasmbuild.RefNull(), wasmbuild.I32Const(1), wasmbuild.TableGrow(), wasmbuild.Drop(), wasmbuild.I64Const(wasmbuild.Packed(answerAddress, 8)),
			}
		}},
		"data.drop": {Body: func(m *wasmbuild.Module) [][]byte {
			segment := m.PassiveData([]byte{1})
			return [][]byte{
				wasmbuild.I32Const(answerAddress), wasmbuild.I32Const(0), wasmbuild.I32Const(1), wasmbuild.MemoryInit(segment),
				wasmbuild.DataDrop(segment), wasmbuild.I64Const(wasmbuild.Packed(answerAddress, 8)),
			}
		}},
		"v128": {Body: func(m *wasmbuild.Module) [][]byte {
			zero := append([]byte{0xfd, 0x0c, 1}, make([]byte, 15)...)
			other := append([]byte{0xfd, 0x0c, 2}, make([]byte, 15)...)
			g := m.GlobalOf(wasmbuild.V128, zero)
			return [][]byte{
				wasmbuild.I32Const(answerAddress), wasmbuild.GlobalGet(g), wasmbuild.Op(0xfd, 0x1d, 0), wasmbuild.I64Store(),
				other, wasmbuild.GlobalSet(g), wasmbuild.I64Const(wasmbuild.Packed(answerAddress, 8)),
			}
		}},
	}
}

func TestWhatCannotBeRestoredRunsFresh(t *testing.T) {
	s := box(t, &Options{AllowShared: true})
	for name, guest := range mutates() {
		t.Run(name, func(t *testing.T) {
			p := opened(t, s, Module{Binary: guest.Bytes()})
			if why := strings.Join(p.Unrestorable(), "; "); !strings.Contains(why, name) || p.Isolation() != IsolationFresh {
				t.Errorf("it is %s because of %q, want %s and %q", p.Isolation(), why, IsolationFresh, name)
			}
			for range 3 {
				words, figures := ask(t, p, "")
				if !slices.Equal(words, []int64{1}) || figures.Path != pathFresh || figures.Isolation != "fresh" {
					t.Errorf("got %v by %+v, want 1 by a fresh one", words, figures)
				}
			}
			_, err := s.Open(context.Background(), Module{Name: "Shared", Binary: guest.Bytes(), Isolation: IsolationShared})
			if abi.CodeOf(err) != abi.CodeToolDisabled || !strings.Contains(err.Error(), name) {
				t.Errorf("shared: got %v, want a refusal that names %s", err, name)
			}
		})
	}
}

// warmed is a guest whose prepare calls leave traces: a counter, a value in the
// store, an output, a file's bytes. The call "t" traps where it is the second.
func warmed() wasmbuild.Guest {
	i32 := wasmbuild.I32
	ints := func(n int) (s wasmbuild.Signature) {
		return wasmbuild.Signature{Params: slices.Repeat([]wasmbuild.ValueType{i32}, n), Results: []wasmbuild.ValueType{i32}}
	}
	const key, draft, id, content = 10_000, 10_100, 10_200, 10_300
	initialized := func(m *wasmbuild.Module) {
		m.Data(key, []byte("key"))
		m.Data(draft, []byte(`{"id":"out"}`))
		m.Data(id, []byte("file:data/in.txt"))
		m.ExportFunction("_initialize", m.Function(wasmbuild.Signature{}, nil, count(belowSize+1)))
		m.ExportFunction("vcp_prepare", m.Function(wasmbuild.Signature{}, nil, count(belowSize+2)))
	}
	return wasmbuild.Guest{
		Imports: func(m *wasmbuild.Module) {
			for _, f := range []struct {
				name   string
				params int
			}{{"kv_set", 4}, {"kv_get", 4}, {"resource_create", 2}, {"resource_open", 2}, {"resource_read", 3}} {
				m.ImportFunction("vcp", f.name, ints(f.params))
			}
		},
		Extra: initialized,
		Body: func(*wasmbuild.Module) [][]byte {
			c := wasmbuild.I32Const
			return [][]byte{
				count(belowSize),
				on('t', load8(belowSize), c(2), wasmbuild.Op(0x46), wasmbuild.If(wasmbuild.Unreachable())),
				on('w',
					c(key), c(3), c(key), c(3), wasmbuild.Call(0), wasmbuild.Drop(),
					c(draft), c(12), wasmbuild.Call(2), wasmbuild.Drop(),
					c(id), c(16), wasmbuild.Call(3), c(content), c(8), wasmbuild.Call(4), wasmbuild.Drop()),
				answers(
					wide(load8(belowSize)), wide(load8(belowSize+1)), wide(load8(belowSize+2)), wide(load8(content)),
					join(c(key), c(3), c(content), c(0), wasmbuild.Call(1), wasmbuild.I64ExtendI32S()),
				),
			}
		},
	}
}

func TestPreparedCallsAreWarm(t *testing.T) {
	db := kv.NewMemory()
	s := box(t, &Options{DB: db})
	p := opened(t, s, Module{Binary: warmed().Bytes(), KVBytes: 1 << 20, Prepare: []Prepare{
		{Command: "warm", Arguments: []byte(`{"data":{"$resource":"file:data/in.txt"}}`), Files: map[string][]byte{"data/in.txt": []byte("Zebra")}},
		{Command: "again"},
	}})
	for range 3 {
		words, _ := ask(t, p, "")
		// The third call of the guest; started and prepared once; the file was read;
		// the store has nothing.
		if want := []int64{3, 1, 1, 'Z', -2}; !slices.Equal(words, want) {
			t.Errorf("got %v, want %v", words, want)
		}
	}
}

func TestAFailingPrepareCallIsNamed(t *testing.T) {
	s := box(t, nil)
	_, err := s.Open(context.Background(), Module{Name: "Test", Binary: warmed().Bytes(), Prepare: []Prepare{{Command: "x"}, {Command: "trap"}, {Command: "x"}}})
	if told, ok := errors.AsType[*abi.Error](err); !ok || told.Code != abi.CodeSandboxTrap || !strings.HasSuffix(told.Message, ", in prepare call 2") {
		t.Errorf("got %v, want a trap in prepare call 2", err)
	}
	if figures := s.Figures(); figures.OpenModules != 0 {
		t.Errorf("%d modules are open", figures.OpenModules)
	}
}

// What a prepare call was refused is not the failure of the calls after it.
func TestAMemoryRefusedInPrepareIsForgotten(t *testing.T) {
	guest := wasmbuild.Guest{Body: func(*wasmbuild.Module) [][]byte {
		return [][]byte{
			on('g', wasmbuild.I32Const(60_000), wasmbuild.MemoryGrow(), wasmbuild.Drop()),
			on('t', wasmbuild.Unreachable()),
			answers(wasmbuild.I64Const(1)),
		}
	}}
	p := opened(t, box(t, nil), Module{Binary: guest.Bytes(), Prepare: []Prepare{{Command: "grow"}}})
	if _, err := p.Invoke(context.Background(), &abi.Invocation{Command: "trap"}); abi.CodeOf(err) != abi.CodeSandboxTrap {
		t.Errorf("got %v, want %s", err, abi.CodeSandboxTrap)
	}
}

// Two plugins of the same bytes share what the engine compiled, and the end of
// one is not the other's.
func TestPluginsOfTheSameBytesAreIndependent(t *testing.T) {
	s := box(t, nil)
	binary := keepsState().Bytes()
	one, err := s.Open(context.Background(), Module{Name: "One", Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	two := opened(t, s, Module{Name: "Two", Binary: binary})
	if err := one.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if words, _ := ask(t, two, ""); !slices.Equal(words, untouched()) {
			t.Errorf("got %v, want %v", words, untouched())
		}
	}
}
