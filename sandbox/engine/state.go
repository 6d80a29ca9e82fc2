package engine

import "context"

// stateKey is the context key under which host functions find the state of
// their guest: the engine hands them nothing else that is the call's own.
type stateKey struct{}

// GuestContext is the context that a guest's functions are called under. It
// carries the state of the guest and nothing else: a guest is ended by its fuel,
// not by a context. One is made for each instance and used for all of its calls.
type GuestContext struct {
	context.Context
	state any
}

// NewGuestContext gives a context that carries state.
func NewGuestContext(state any) *GuestContext {
	return &GuestContext{context.Background(), state}
}

// Value gives the state, for [State].
func (c *GuestContext) Value(key any) any {
	if _, ok := key.(stateKey); ok {
		return c.state
	}
	return nil
}

// State gives the state of the guest that a host function was called by.
func State(ctx context.Context) any { return ctx.Value(stateKey{}) }
