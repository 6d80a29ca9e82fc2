// Package host runs calls: [Host.Execute] takes a call of any trigger and
// returns one Canonical Tool Result, whatever happens.
//
// # A call is one straight line
//
//	resolve    which plugin and command           TOOL_NOT_FOUND, TOOL_DISABLED, UNKNOWN_COMMAND
//	admit      may this caller run it             UNAUTHORIZED
//	check in   arguments against the schema       MISSING_ARGUMENT, INVALID_ARGUMENT, FILE_NOT_FOUND
//	invoke     the plugin's transport             the only step that leaves the process
//	adopt      payload rules, resources, references rewritten
//	check out  data against the output schema     INVALID_TOOL_RESULT
//	build      identities, times, origin → the result, read-only from here on
//	keep       resources published, result stored
//
// A step that fails ends the line with an [abi.Error], and outcome.go is the
// one place where errors become results. Execute never returns an error and
// never panics (VCP Tool Result Protocol 1.0 §6.4).
package host
