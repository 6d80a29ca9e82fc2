// Package hosttest holds the conformance suite of transports: what every
// transport must do, whatever carries its calls, so that the host above and the
// plugin below need not know which one it is.
//
// # The conformance plugin
//
// A transport is tried with one plugin, "Conformance", written for it. Its
// commands, with their arguments and what they do, are:
//
//	Echo {value}             data {"value": value}
//	Fail {code, message}     status error: the code, the message, target "value",
//	                         details {"why":"asked"}
//	Raw {base64}             answers with exactly the decoded bytes
//	Oversize {bytes}         data is a string of that many "x"
//	Count {}                 adds 1 to a counter in memory that begins at 0;
//	                         data {"count": n}
//	Progress {steps}         one event a step: stage "step", progress n/steps, message
//	                         "n of steps"; then data {"steps": steps}
//	Wait {}                  an event of stage "waiting"; then loops until the call is
//	                         cancelled; an event of stage "cancelled"; data {}
//	Spin {}                  an event of stage "spinning"; then never ends and
//	                         never looks
//	Sleep {ms}               sleeps as the language does it; data {}
//	Stream {bytes, piece, fileName, mimeType}
//	                         writes the pattern (see [Pattern]) in pieces to an output
//	                         resource with the draft id "out"; data {"file": reference}
//	Read {input, piece}      reads the input resource to its end;
//	                         data {"sizeBytes", "sha256"}
//	Copy {input}             copies the input to the output resource "copy";
//	                         data {"copy": reference}
//	Open {id}                tries to open an input by its id; data {"opened": bool}
//	Unfinished {}            begins the output resource "half", writes to it, does
//	                         not close it; data {}
//	Flood {resources, bytes} begins that many output resources and writes so many
//	                         bytes to each, whatever the host answers; data {}
//
// The suite makes the manifest; a [Harness] gives the rest. All of it runs
// through [host.Host.Execute] over the real stores.
package hosttest
