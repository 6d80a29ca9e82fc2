package wasmbin

// header writes what stands at the entry of a function and at the head of a
// loop: it takes the weight of the region from the fuel, and asks for more if
// that is below zero. It leaves the stack of values as it is.
func (e *emitter) header(out []byte) []byte {
	w := e.weights[0]
	e.weights = e.weights[1:]
	return e.pay(out, asm{}.i64(int64(w)))
}

// pay writes code that takes what the amount pushes, an i64.
//
// Its form was chosen among eleven, by the best of 200 runs on the engine's
// compiler against no fuel at all: the call in an else branch, in line, gave
// 0.85 for a tight loop, 1.46 for a loop of one load, 1.10 for recursion and
// 1.12 for standard Go at work. The call in the first branch gave 1.01, 1.86,
// 1.05 and 1.14; behind a function of its own 1.33, 1.47 to 2.2, 0.91 to 1.38 and
// 1.10; behind a block that is left by br_if 1.10, 2.30, 1.37 and 1.12. Where
// code comes to lie changes each by a fifth or more, in both directions.
func (e *emitter) pay(out, amount asm) asm {
	out = append(out.global(e.fuel), amount...)
	out = out.op(opI64Sub).setGlobal(e.fuel)
	out = out.global(e.fuel).i64(0).op(opI64GeS, byte(opIf), blockVoid, byte(opElse))
	return out.global(e.fuel).op(byte(opCall)).index(e.refuel).setGlobal(e.fuel).op(opEnd)
}
