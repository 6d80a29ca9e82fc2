package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"vcphost/abi"
	"vcphost/sandbox"
)

// guest is one class of guest: a module for each kind of host, and the call
// that all of them serve.
type guest struct {
	name       string
	vcp        []byte // module of binding vcp
	extism     []byte // the same job on the Extism kernel; nil where there is none
	processes  bool   // Node.js and Python have the same job as a script
	invocation *abi.Invocation
	prepare    []sandbox.Prepare // as a manifest would have it
	sum        uint32            // the answer's data.sum, where counted is true
	counted    bool              // the answer tells how many calls the instance has served
	data       []byte            // of the first answer, where counted is false: all others equal it
	missing    string            // why the guest cannot be measured here
	dir        string            // for what hosts keep on disk
}

// input is the invocation as a guest gets it. The sandbox writes it anew for each
// call, as part of what is measured; the peers are given it ready.
func (g *guest) input() ([]byte, error) { return abi.Encode(g.invocation) }

// answer is what a payload says, as far as it is compared between hosts.
type answer struct {
	Status string          `json:"status"`
	Data   json.RawMessage `json:"data"`
}

// job is the data of the guests that add.
type job struct {
	Sum   uint32 `json:"sum"`
	Calls int    `json:"calls"`
}

// check holds a payload against what the guest has to answer and returns the
// number of calls that the instance says it has served, 0 where it does not
// count.
func (g *guest) check(payload []byte) (int, error) {
	var got answer
	if err := json.Unmarshal(payload, &got); err != nil {
		return 0, fmt.Errorf("read the payload %q: %w", payload, err)
	}
	if got.Status != "success" {
		return 0, fmt.Errorf("the payload is %s", payload)
	}
	if !g.counted {
		if g.data == nil {
			g.data = bytes.Clone(got.Data)
		}
		if !bytes.Equal(got.Data, g.data) {
			return 0, fmt.Errorf("the data are %s, and another host's %s", got.Data, g.data)
		}
		return 0, nil
	}
	var data job
	if err := json.Unmarshal(got.Data, &data); err != nil {
		return 0, fmt.Errorf("read the data of %s: %w", payload, err)
	}
	if data.Sum != g.sum {
		return 0, fmt.Errorf("the sum is %d, want %d", data.Sum, g.sum)
	}
	return data.Calls, nil
}

func adding(a, b uint32) *abi.Invocation {
	return &abi.Invocation{
		Plugin: "Bench", Command: "Add", InvocationID: "inv_01M8QBNV5ZKA79XW463SKA81YS",
		Arguments: fmt.Appendf(nil, `{"a":%d,"b":%d}`, a, b),
	}
}

// plotting is the call of the example plugin CsvChart with its file.
func plotting(file []byte) *abi.Invocation {
	const id = "res_01M8QBNSS1AN4A3ZP305BV3B6Y"
	sum := sha256.Sum256(file)
	return &abi.Invocation{
		Plugin: "CsvChart", Command: "Plot", InvocationID: "inv_01M8QBNV5ZKA79XW463SKA81YS",
		Arguments: json.RawMessage(`{"data":{"$resource":"` + id + `"},"column":"close"}`),
		Inputs: []abi.Resource{{
			ID: id, Kind: "document", Role: "input", MIMEType: "text/csv", FileName: "prices.csv",
			SizeBytes: int64(len(file)), SHA256: hex.EncodeToString(sum[:]),
		}},
		Reader:    files{id: file},
		Resources: discard{},
		Progress:  func(abi.Progress) {},
	}
}

// files are the inputs of a call, by id.
type files map[string][]byte

// Open gives the bytes of an input.
func (f files) Open(_ context.Context, id string) (abi.ResourceStream, error) {
	content, ok := f[id]
	if !ok {
		return nil, abi.NewError(abi.CodeFileNotFound, "there is no input %q", id)
	}
	return stream{bytes.NewReader(content), int64(len(content))}, nil
}

type stream struct {
	io.Reader
	size int64
}

func (s stream) Size() int64  { return s.size }
func (s stream) Close() error { return nil }

// discard takes output resources and keeps nothing: a store's price is not the
// engine's.
type discard struct{}

// Create begins an output.
func (discard) Create(context.Context, abi.ResourceDraft) (abi.ResourceSink, error) {
	return sink{io.Discard}, nil
}

type sink struct{ io.Writer }

func (sink) Close() error { return nil }
