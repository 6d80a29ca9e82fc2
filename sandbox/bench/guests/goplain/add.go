//go:build wasip1

// Command goplain is the job of the benchmark in Go without JSON, fmt or an SDK:
// find "a" and "b" in the invocation, add them, count the calls, answer with
// JSON. Built with the tag extism it uses the Extism PDK instead of binding vcp.
package main

import (
	"bytes"
	"strconv"
)

func main() {}

var state struct{ calls int64 }

func serve(out, invocation []byte) []byte {
	state.calls++
	sum := number(invocation, `"a":`) + number(invocation, `"b":`)
	out = append(out, `{"status":"success","data":{"sum":`...)
	out = strconv.AppendInt(out, sum, 10)
	out = append(out, `,"calls":`...)
	out = strconv.AppendInt(out, state.calls, 10)
	return append(out, "}}"...)
}

func number(text []byte, name string) int64 {
	at := bytes.Index(text, []byte(name))
	if at < 0 {
		panic("an argument is missing")
	}
	var value int64
	for _, c := range text[at+len(name):] {
		if c < '0' || c > '9' {
			break
		}
		value = value*10 + int64(c-'0')
	}
	return value
}
