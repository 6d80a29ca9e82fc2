package wasmbuild

// Addresses that a [Guest] uses in its memory.
const (
	PayloadAddress = 1024  // where Payload lies
	InputAddress   = 32768 // what vcp_alloc returns
)

// Guest is a plugin of binding "vcp" whose parts can be replaced by hostile
// ones. The zero value answers {"status":"success","data":null}.
type Guest struct {
	Payload []byte // what vcp_call returns; nil means the default
	// Body is the code of vcp_call, which must leave an i64; nil returns the
	// payload's address. It may add functions to the module, whose indices follow the imports.
	Body func(m *Module) [][]byte
	// Imports adds imports before any function; their indices begin at 0.
	Imports func(m *Module)
	// Locals of vcp_call beside its two parameters.
	Locals []ValueType
	// AllocResult is what vcp_alloc returns; 0 means InputAddress, -1 means 0.
	AllocResult int32
	// Without names an export to leave out; Wrong one to give the type () -> ().
	Without, Wrong string
	// Pages is the memory at start; 0 means 2.
	Pages uint32
	// Extra adds anything else once the standard parts are there.
	Extra func(m *Module)
}

// Bytes assembles the guest.
func (g Guest) Bytes() []byte {
	m := &Module{}
	if g.Imports != nil {
		g.Imports(m)
	}
	payload := g.Payload
	if payload == nil {
		payload = []byte(`{"status":"success","data":null}`)
	}
	m.Memory(max(g.Pages, 2), 0)
	m.Data(PayloadAddress, payload)
	body := [][]byte{I64Const(Packed(PayloadAddress, uint32(len(payload))))}
	if g.Body != nil {
		body = g.Body(m)
	}
	alloc := g.AllocResult
	switch alloc {
	case 0:
		alloc = InputAddress
	case -1:
		alloc = 0
	}
	g.export(m, "vcp_abi_1", Signature{}, nil)
	g.export(m, "vcp_alloc", Signature{[]ValueType{I32}, []ValueType{I32}}, nil, I32Const(alloc))
	g.export(m, "vcp_call", Signature{[]ValueType{I32, I32}, []ValueType{I64}}, g.Locals, body...)
	if g.Without != "memory" {
		m.ExportMemory("memory")
	}
	if g.Extra != nil {
		g.Extra(m)
	}
	return m.Bytes()
}

func (g Guest) export(m *Module, name string, s Signature, locals []ValueType, code ...[]byte) {
	switch name {
	case g.Without:
		return
	case g.Wrong:
		m.ExportFunction(name, m.Function(Signature{Results: []ValueType{F64}}, nil, Unreachable()))
	default:
		m.ExportFunction(name, m.Function(s, locals, code...))
	}
}

// Packed is the answer of vcp_call: address and length in one i64.
func Packed(address, size uint32) int64 { return int64(uint64(address)<<32 | uint64(size)) }
