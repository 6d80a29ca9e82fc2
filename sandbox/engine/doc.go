// Package engine is the seam between the sandbox and the WebAssembly engine that
// it stands on: compile a module, instantiate it over memory that the caller
// gives, call its functions, read and set its globals, and link host functions.
// It is the one package of the sandbox that knows wazero; another engine would be
// another package with these few types.
//
// It sets no limits on what a guest does. A guest that runs is interrupted by the
// fuel that package wasmbin wrote into it, never by the engine: the engine's own
// interrupt makes loops many times slower, sees no recursion, and while a guest
// runs without either, nothing else in the process can collect garbage.
//
// Compiled modules lie in a directory that processes share, each with a message
// authentication code of the host's (see [Cache]).
package engine
