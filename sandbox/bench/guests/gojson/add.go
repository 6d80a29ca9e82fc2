//go:build wasip1

// Command gojson is the job of the benchmark in Go with encoding/json: add "a"
// and "b", count the calls. It is written on the SDK of binding vcp; built with
// the tag extism, on the Extism PDK.
package main

func main() {}

type arguments struct {
	A int `json:"a"`
	B int `json:"b"`
}

type answer struct {
	Sum   int `json:"sum"`
	Calls int `json:"calls"`
}

var state struct{ calls int }

func add(a arguments) answer {
	state.calls++
	return answer{Sum: a.A + a.B, Calls: state.calls}
}
