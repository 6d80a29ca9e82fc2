package sandbox

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"vcphost/abi"
	"vcphost/sandbox/wasmbuild"
)

// The tests' guests answer with 64-bit words, and find out what is asked of them
// from the first letter of the command.
const (
	commandAddress = wasmbuild.InputAddress + 12 // behind {"command":"
	answerAddress  = 4096
)

// box is a sandbox that compiles in memory; the test closes it.
func box(t testing.TB, opts *Options) *Sandbox {
	t.Helper()
	s, err := New(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// opened opens a module and closes it before its sandbox.
func opened(t testing.TB, s *Sandbox, m Module) *Plugin {
	t.Helper()
	if m.Name == "" {
		m.Name = "Test"
	}
	p, err := s.Open(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// figures is the extension vcp.sandbox as its readers see it.
type figuresWire struct {
	Fuel, MemoryPeakBytes, WallMicros, QueueMicros int64
	Isolation, Path                                string
}

func figuresOf(t testing.TB, reply *abi.Reply) (f figuresWire) {
	t.Helper()
	if err := json.Unmarshal(reply.Extensions[abi.ExtensionSandbox], &f); err != nil {
		t.Fatalf("the figures %s: %v", reply.Extensions[abi.ExtensionSandbox], err)
	}
	return f
}

// ask calls a command that must succeed, and gives its words.
func ask(t testing.TB, p *Plugin, command string) ([]int64, figuresWire) {
	t.Helper()
	reply, err := p.Invoke(context.Background(), &abi.Invocation{Command: command})
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return wordsOf(reply.Payload), figuresOf(t, reply)
}

func wordsOf(payload []byte) []int64 {
	var words []int64
	for ; len(payload) >= 8; payload = payload[8:] {
		words = append(words, int64(binary.LittleEndian.Uint64(payload)))
	}
	return words
}

// answers is code that answers with words, each of which pushes an i64.
func answers(words ...[]byte) []byte {
	var code []byte
	for i, word := range words {
		code = append(code, wasmbuild.I32Const(int32(answerAddress+8*i))...)
		code = append(append(code, word...), wasmbuild.I64Store()...)
	}
	return append(append(code, wasmbuild.I64Const(wasmbuild.Packed(answerAddress, uint32(8*len(words))))...), wasmbuild.Return()...)
}

// on is code that runs where the command begins with a letter.
func on(letter byte, code ...[]byte) []byte {
	return join(wasmbuild.I32Const(commandAddress), wasmbuild.I32Load8U(), wasmbuild.I32Const(int32(letter)), wasmbuild.Op(0x46), wasmbuild.If(code...))
}

func join(parts ...[]byte) []byte {
	var code []byte
	for _, part := range parts {
		code = append(code, part...)
	}
	return code
}

// wide widens what code pushes from i32 to i64, unsigned.
func wide(code ...[]byte) []byte { return append(join(code...), 0xad) }

func store8(address, value int32) []byte {
	return join(wasmbuild.I32Const(address), wasmbuild.I32Const(value), wasmbuild.I32Store8())
}

func load8(address int32) []byte { return join(wasmbuild.I32Const(address), wasmbuild.I32Load8U()) }

// count adds one to the byte at an address.
func count(address int32) []byte {
	return join(wasmbuild.I32Const(address), load8(address), wasmbuild.I32Const(1), wasmbuild.I32Add(), wasmbuild.I32Store8())
}

// repeat runs code so many times, with local 2, an i32.
func repeat(times int32, code ...[]byte) []byte {
	return join(wasmbuild.I32Const(times), wasmbuild.LocalSet(2), wasmbuild.While(join(code...),
		wasmbuild.LocalGet(2), wasmbuild.I32Const(-1), wasmbuild.I32Add(), wasmbuild.LocalSet(2), wasmbuild.LocalGet(2)))
}

// eventually waits for something that must come to be.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// detailsOf reads the details of a failure.
func detailsOf(t testing.TB, err error) map[string]any {
	t.Helper()
	var failure *abi.Error
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want a failure of the protocol", err)
	}
	details := map[string]any{}
	if len(failure.Details) > 0 {
		if err := json.Unmarshal(failure.Details, &details); err != nil {
			t.Fatal(err)
		}
	}
	return details
}

// stress says that tests take their long form, by the variable VCPHOST_STRESS.
func stress() bool { return os.Getenv("VCPHOST_STRESS") != "" && !testing.Short() }
