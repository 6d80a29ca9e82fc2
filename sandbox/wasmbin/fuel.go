package wasmbin

// header writes what stands at the entry of a function and at the head of a
// loop: it takes the weight of the region from the fuel, and asks for more if
// that is below zero. It leaves the stack of values as it is.
func (e *emitter) header(out []byte) []byte {
	w := e.weights[0]
	e.weights = e.weights[1:]
	return e.pay(out, appendS64([]byte{opI64Const}, int64(w)))
}

// pay writes code that takes what the amount pushes, an i64.
func (e *emitter) pay(out, amount asm) asm {
	out = appendU32(append(out, opGlobalGet), e.fuel)
	out = append(append(out, amount...), opI64Sub)
	out = appendU32(append(out, opGlobalSet), e.fuel)
	out = appendU32(append(out, opGlobalGet), e.fuel)
	out = append(out, opI64Const, 0, opI64LtS, byte(opIf), blockVoid)
	out = appendU32(append(out, opGlobalGet), e.fuel)
	out = appendU32(append(out, byte(opCall)), e.refuel)
	out = appendU32(append(out, opGlobalSet), e.fuel)
	return append(out, opEnd)
}
