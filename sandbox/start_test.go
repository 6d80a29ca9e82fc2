package sandbox

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

// TestAStartThatFailsFailsTheOpening: the guest starts once, when its snapshot
// is taken, and under the rules of any call.
func TestAStartThatFailsFailsTheOpening(t *testing.T) {
	starts := func(code ...[]byte) wasmbuild.Guest {
		return wasmbuild.Guest{
			Imports: func(m *wasmbuild.Module) {
				m.ImportFunction("wasi_snapshot_preview1", "proc_exit", wasmbuild.Signature{Params: []wasmbuild.ValueType{wasmbuild.I32}})
			},
			Extra: func(m *wasmbuild.Module) { m.Start(m.Function(wasmbuild.Signature{}, nil, code...)) },
		}
	}
	exports := func(name string, code ...[]byte) wasmbuild.Guest {
		return wasmbuild.Guest{Extra: func(m *wasmbuild.Module) {
			m.ExportFunction(name, m.Function(wasmbuild.Signature{}, nil, code...))
		}}
	}
	for _, test := range []struct {
		name  string
		guest wasmbuild.Guest
		code  string
	}{
		{"a trap in the start function", starts(wasmbuild.Unreachable()), abi.CodeSandboxTrap},
		{"an exit in the start function", starts(wasmbuild.I32Const(0), wasmbuild.Call(0)), abi.CodeSandboxExit},
		{"an endless start function", starts(wasmbuild.Loop()), abi.CodeToolTimeout},
		{"a trap in _initialize", exports("_initialize", wasmbuild.Unreachable()), abi.CodeSandboxTrap},
		{"an endless _initialize", exports("_initialize", wasmbuild.Loop()), abi.CodeToolTimeout},
		{"a trap in vcp_prepare", exports("vcp_prepare", wasmbuild.Unreachable()), abi.CodeSandboxTrap},
		{"data outside memory", wasmbuild.Guest{Extra: func(m *wasmbuild.Module) { m.Data(2*pageBytes-1, []byte("ab")) }}, abi.CodeSandboxTrap},
	} {
		for _, isolation := range []Isolation{IsolationCall, IsolationFresh} {
			t.Run(test.name+"/"+string(isolation), func(t *testing.T) {
				limit := time.Minute
				if test.code == abi.CodeToolTimeout {
					limit = 200 * time.Millisecond
				}
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				defer cancel()
				p, err := newSandbox(t).Open(ctx, Module{Name: "Test", Binary: test.guest.Bytes(), Isolation: isolation})
				if isolation == IsolationFresh && err == nil {
					_, err = p.Invoke(ctx, &abi.Invocation{})
				}
				if isolation == IsolationFresh && strings.Contains(test.name, "vcp_prepare") {
					if err != nil {
						t.Errorf("vcp_prepare, which belongs to a snapshot, ran: %v", err)
					}
					return
				}
				if got := abi.CodeOf(err); got != test.code {
					t.Errorf("got %v, want %s", err, test.code)
				}
				told, _ := errors.AsType[*abi.Error](err)
				if isolation == IsolationCall && (told == nil || !strings.HasSuffix(told.Message, ", while the plugin started")) {
					t.Errorf("%v does not say where it failed", err)
				}
			})
		}
	}
}
