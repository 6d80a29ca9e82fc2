package hostile

import (
	"encoding/json"
	"time"

	"vcphost/abi"
	"vcphost/sandbox"
	"vcphost/sandbox/wasmbuild"
)

// Case is one line of the suite.
type Case struct {
	Name  string // stable, lower case with hyphens
	About string // what the guest does, one line

	parts    func() []part // assembles the guests
	parallel int           // hostile calls at a time; 0 means 1
	peak     int64         // bytes of anonymous memory that it may take while it runs, beside what was there; 0 means [defaultPeak]
	once     bool          // one round is enough: it takes seconds
}

// part is one module of a case and what must come of it.
type part struct {
	name   string // "" where a case has one part
	module []byte
	limits sandbox.Limits
	opens  []string // acceptable outcomes of Open; nil means that it must open
	calls  []string // acceptable outcomes of a hostile call; nil for modules that must not open

	within    time.Duration // what Open is given; 0 means [openPatience]
	endless   bool          // only the deadline or a cancellation ends it
	good      bool          // the guest answers the command "good" with goodPayload, whatever was before
	arguments json.RawMessage
	reply     func(*abi.Reply) string // says what is wrong with an answer, "" for nothing
	after     func(spent) string      // says what is wrong with what one call left, "" for nothing
}

// spent is what reached the host from one call.
type spent struct {
	took     time.Duration
	events   int64 // of progress
	logBytes int64 // of the whole case so far
	calls    int64 // of the whole case so far
}

const (
	goodCommand    = "good"
	hostileCommand = "hostile"
	goodPayload    = `{"status":"success","data":null}`
)

// wants lists what the parts of a case may come to.
func wants(parts []part) []string {
	var set tally
	for _, p := range parts {
		for _, outcome := range append(p.mayOpen(), p.mayCall()...) {
			if outcome != opened {
				set.add(outcome)
			}
		}
	}
	return set
}

func (p part) mayOpen() []string {
	if p.opens == nil {
		return []string{opened}
	}
	return append([]string{}, p.opens...)
}

func (p part) mayCall() []string {
	if p.endless {
		return []string{abi.CodeToolTimeout, abi.CodeToolCancelled}
	}
	return p.calls
}

// Instructions that the guests use, by their bytes.
const (
	opNop    = 0x01
	opI32Eq  = 0x46
	opI32Sub = 0x6b
)

// byteOfCommand is where the first letter of the command lies in an invocation:
// the command is its first member.
const byteOfCommand = len(`{"command":"`)

// switched makes a guest answer goodPayload to the command "good", and run its
// body for every other.
func switched(g wasmbuild.Guest) wasmbuild.Guest {
	body := g.Body
	g.Payload = []byte(goodPayload)
	g.Body = func(m *wasmbuild.Module) [][]byte {
		hostile := body(m)
		return append([][]byte{
			wasmbuild.LocalGet(0), {0x2d, 0x00, byte(byteOfCommand)}, // i32.load8_u
			wasmbuild.I32Const(int32(goodCommand[0])), wasmbuild.Op(opI32Eq),
			wasmbuild.If(answerWith(wasmbuild.PayloadAddress, uint32(len(goodPayload))), wasmbuild.Return()),
		}, hostile...)
	}
	return g
}

func answerWith(address, size uint32) []byte {
	return wasmbuild.I64Const(wasmbuild.Packed(address, size))
}

// body is the simplest form of Guest.Body: code that needs no function or import.
func body(code ...[]byte) func(*wasmbuild.Module) [][]byte {
	return func(*wasmbuild.Module) [][]byte { return code }
}

// noAnswer follows code that never ends, since the validator wants a result.
func noAnswer() []byte { return wasmbuild.I64Const(0) }

// endless is a part whose hostile call never ends by itself.
func endless(g wasmbuild.Guest, limits sandbox.Limits) part {
	return part{module: switched(g).Bytes(), limits: limits, endless: true, good: true}
}

// fails is a part whose hostile call ends with one of the outcomes.
func fails(g wasmbuild.Guest, limits sandbox.Limits, outcomes ...string) part {
	return part{module: switched(g).Bytes(), limits: limits, calls: outcomes, good: true}
}

// refused is a part that Open refuses.
func refused(module []byte, outcomes ...string) part {
	return part{module: module, opens: outcomes}
}

// one is the parts of a case that has one.
func one(build func() part) func() []part {
	return func() []part { return []part{build()} }
}
