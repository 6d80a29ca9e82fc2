//go:build wasip1 && extism

package main

import "github.com/extism/go-pdk"

//go:wasmexport add
func add() int32 {
	pdk.Output(serve(make([]byte, 0, 128), pdk.Input()))
	return 0
}
