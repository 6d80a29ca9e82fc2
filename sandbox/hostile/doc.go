// Package hostile is a suite of guests that try to stall, starve or escape
// their host, and the judgement of what came of each. The guests are assembled
// when the suite runs, with package wasmbuild: no toolchain and no binary is
// needed, and anybody can run it on the machine, the kernel and the settings
// that matter, with `vcphost doctor --hostile`.
//
// A [Case] is one or more modules with the exact outcomes that are acceptable:
// to be refused when opened, to fail with one code, to be ended at the deadline,
// or to run and answer. Any other failure, however harmless, fails the case.
// While a case runs, three things go on in the same process: the garbage
// collector is forced again and again, a ticker of 10 ms measures the longest
// time that nothing else could run, and a neighbour, a small plugin of the same
// sandbox, is called and timed against its own time alone. Where a guest knows a
// good call, one follows each hostile one, and must answer as if nothing had
// been.
//
// An engine that fails can take the process with it, so [Watch] runs the suite
// in another process ([Serve]) and ends that from outside: a case that holds it
// up, or takes all its memory, fails, and the rest goes on in a new one.
//
// On the wire between the two, and in JSON reports, a case is one [Line].
package hostile
