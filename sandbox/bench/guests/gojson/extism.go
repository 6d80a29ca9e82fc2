//go:build wasip1 && extism

package main

import (
	"encoding/json"

	"github.com/extism/go-pdk"
)

// The members of invocation and payload that the job needs.
type invocation struct {
	Command   string    `json:"command"`
	Arguments arguments `json:"arguments"`
}

type payload struct {
	Status string `json:"status"`
	Data   answer `json:"data"`
}

//go:wasmexport add
func addExport() int32 {
	var in invocation
	if err := json.Unmarshal(pdk.Input(), &in); err != nil {
		pdk.SetError(err)
		return 1
	}
	out, err := json.Marshal(payload{Status: "success", Data: add(in.Arguments)})
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	pdk.Output(out)
	return 0
}
