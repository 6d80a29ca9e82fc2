// Package contract holds the server to its own description. It has tests alone:
// a real server runs, and a client that is made from its OpenAPI document
// (schemathesis) exercises every operation with inputs that it makes up, and
// checks status, content type and body of every answer against the document.
//
//	server/contract/run.sh     makes a Python environment with the pinned
//	                           client, and runs the test with it
//
// Without VCPHOST_CONTRACT, the directory of that environment, the test is
// skipped: go test needs no Python and no network.
package contract
