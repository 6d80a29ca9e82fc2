package wasmbuild_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"math"
	"testing"

	"github.com/tetratelabs/wazero"

	"vcphost/sandbox/wasmbuild"
)

func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		name string
		got  []byte
		want string
	}{
		{"0", wasmbuild.U32(0), "00"},
		{"127", wasmbuild.U32(127), "7f"},
		{"128", wasmbuild.U32(128), "8001"},
		{"624485", wasmbuild.U32(624485), "e58e26"},
		{"the largest", wasmbuild.U32(math.MaxUint32), "ffffffff0f"},
		{"signed 0", wasmbuild.S64(0), "00"},
		{"63", wasmbuild.S64(63), "3f"},
		{"64", wasmbuild.S64(64), "c000"},
		{"-1", wasmbuild.S64(-1), "7f"},
		{"-64", wasmbuild.S64(-64), "40"},
		{"-65", wasmbuild.S64(-65), "bf7f"},
		{"-123456", wasmbuild.S64(-123456), "c0bb78"},
		{"the smallest", wasmbuild.S64(math.MinInt64), "8080808080808080807f"},
		{"a name", wasmbuild.Name("ü"), "02c3bc"},
	} {
		if got := hex.EncodeToString(test.got); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
	if got, want := wasmbuild.Packed(1, math.MaxUint32), int64(1<<32|math.MaxUint32); got != want {
		t.Errorf("packed: got %x, want %x", got, want)
	}
}

// TestEveryPartRuns builds a module that uses what the assembler has and lets
// the engine say what it computes.
func TestEveryPartRuns(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	_, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func(v uint32) uint32 { return v + 1 }).Export("inc").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	module, err := r.Instantiate(ctx, everyPart())
	if err != nil {
		t.Fatal(err)
	}
	results, err := module.ExportedFunction("run").Call(ctx, 40)
	if err != nil {
		t.Fatal(err)
	}
	// 40 incremented by the host, plus 7 of the start function's global, plus 'A' of the data.
	if got, want := int64(results[0]), int64(41+7+'A'); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
	if got, ok := module.Memory().ReadByte(9); !ok || got != 1 {
		t.Errorf("got byte %d at 9, want 1", got)
	}
	if got, want := module.Memory().Size(), uint32(2<<16); got != want {
		t.Errorf("got a memory of %d bytes, want %d", got, want)
	}
}

func everyPart() []byte {
	i32, i64 := wasmbuild.I32, wasmbuild.I64
	m := &wasmbuild.Module{}
	inc := m.ImportFunction("env", "inc", wasmbuild.Signature{Params: []wasmbuild.ValueType{i32}, Results: []wasmbuild.ValueType{i32}})
	m.Memory(1, 3)
	m.Table(1, 2)
	global := m.Global(0)
	m.Start(m.Function(wasmbuild.Signature{}, nil, wasmbuild.I32Const(7), wasmbuild.GlobalSet(global)))
	run := m.Function(wasmbuild.Signature{Params: []wasmbuild.ValueType{i32}, Results: []wasmbuild.ValueType{i64}}, []wasmbuild.ValueType{i32, i64},
		wasmbuild.LocalGet(0), wasmbuild.Call(inc), wasmbuild.GlobalGet(global), wasmbuild.I32Add(), wasmbuild.LocalSet(1),
		wasmbuild.I32Const(1), wasmbuild.MemoryGrow(), wasmbuild.I32Eqz(), wasmbuild.If(wasmbuild.Unreachable()), // grow gives the old size, 1
		wasmbuild.I32Const(9), wasmbuild.I32Const(1), wasmbuild.I32Store8(),
		wasmbuild.LocalGet(1), wasmbuild.I32Const(3), wasmbuild.I32Load8U(), wasmbuild.I32Add(), wasmbuild.I64ExtendI32S())
	m.ExportFunction("run", run)
	m.ExportMemory("memory")
	m.ExportGlobal("global", global)
	m.Data(3, []byte("A"))
	m.Custom("producers", []byte{0})
	return m.Bytes()
}

// TestTablesSegmentsAndNames builds a module of the parts that hostile guests
// need: tables, passive segments, bulk instructions, branches by table, names.
func TestTablesSegmentsAndNames(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	m := &wasmbuild.Module{}
	i64 := wasmbuild.I64
	answers := wasmbuild.Signature{Results: []wasmbuild.ValueType{i64}}
	m.Memory(1, 1)
	m.Table(2, 4)
	self := m.Function(answers, nil)
	m.SetBody(self, wasmbuild.I64Const(40))
	m.Elements(1, self)
	segment, global := m.PassiveData([]byte{2}), m.GlobalOf(i64, wasmbuild.I64Const(5))
	m.PassiveElements(self)
	run := m.Function(answers, []wasmbuild.ValueType{i64, i64, wasmbuild.V128},
		wasmbuild.RefNull(), wasmbuild.I32Const(1), wasmbuild.TableGrow(), wasmbuild.Drop(),
		wasmbuild.I32Const(2), wasmbuild.RefFunc(self), wasmbuild.TableSet(),
		wasmbuild.I32Const(0), wasmbuild.RefNull(), wasmbuild.I32Const(1), wasmbuild.TableFill(),
		wasmbuild.I32Const(0), wasmbuild.I32Const(9), wasmbuild.I32Const(8), wasmbuild.MemoryFill(),
		wasmbuild.I32Const(0), wasmbuild.I32Const(0), wasmbuild.I32Const(1), wasmbuild.MemoryInit(segment), wasmbuild.DataDrop(segment),
		wasmbuild.I32Const(4), wasmbuild.I32Const(0), wasmbuild.I32Const(1), wasmbuild.MemoryCopy(),
		wasmbuild.Block(wasmbuild.I32Const(3), wasmbuild.BrTable(0, 0), wasmbuild.Unreachable()),
		wasmbuild.While(wasmbuild.I32Const(0)),
		wasmbuild.I32Const(0), wasmbuild.IfElse(wasmbuild.Unreachable(), wasmbuild.Op(0x01)),
		wasmbuild.MemorySize(), wasmbuild.I32Eqz(), wasmbuild.If(wasmbuild.Unreachable()),
		wasmbuild.I32Const(8), wasmbuild.I32Const(4), wasmbuild.I32Load(), wasmbuild.I32Store(),
		wasmbuild.I32Const(16), wasmbuild.I64Const(1), wasmbuild.I64Store(),
		wasmbuild.I32Const(2), wasmbuild.CallTable(m.Type(answers)), wasmbuild.GlobalGet(global), wasmbuild.Op(0x7c), // i64.add
		wasmbuild.I32Const(8), wasmbuild.I32Load8U(), wasmbuild.I64ExtendI32S(), wasmbuild.Op(0x7c),
		wasmbuild.Return())
	m.ExportFunction("run", run)
	m.FunctionName(self, "forty")
	module, err := r.Instantiate(ctx, m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	results, err := module.ExportedFunction("run").Call(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := int64(results[0]), int64(40+5+2); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

func TestGuestsAreWhatTheySay(t *testing.T) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	for _, name := range []string{"vcp_abi_1", "vcp_alloc", "vcp_call"} {
		without, err := r.CompileModule(ctx, wasmbuild.Guest{Without: name}.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if _, there := without.ExportedFunctions()[name]; there || len(without.ExportedFunctions()) != 2 {
			t.Errorf("a guest without %s exports %v", name, without.ExportedFunctions())
		}
		wrong, err := r.CompileModule(ctx, wasmbuild.Guest{Wrong: name}.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if f := wrong.ExportedFunctions()[name]; f == nil || len(f.ResultTypes()) != 1 || !bytes.Equal(f.ResultTypes(), []byte{byte(wasmbuild.F64)}) {
			t.Errorf("the wrong export %s is %v", name, f)
		}
	}
}
