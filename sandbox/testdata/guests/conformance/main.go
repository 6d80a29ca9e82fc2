//go:build wasip1

// Command conformance is the plugin of the transport conformance suite for the
// sandbox. It is written straight on guest ABI 1, without an SDK: the ABI must
// be usable as its documentation tells it.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

func main() {}

// invocation is what the conformance plugin needs of an invocation.
type invocation struct {
	Command   string
	Arguments arguments
}

// arguments are those of all commands together.
type arguments struct {
	Value              json.RawMessage
	Code, Message, ID  string
	FileName, MIMEType string
	Base64             []byte
	Bytes              int64
	Steps, MS, Piece   int
	Input              reference
	Resources          int
}

type reference struct {
	Resource string `json:"$resource"`
}

// counter must be 0 at the start of each call.
var counter int

// answer runs one call and gives the payload.
func answer(raw []byte) []byte {
	var inv invocation
	if err := json.Unmarshal(raw, &inv); err != nil {
		panic(err)
	}
	args := inv.Arguments
	switch inv.Command {
	case "Raw":
		return args.Base64
	case "Fail":
		return marshal(map[string]any{"status": "error", "data": nil, "error": map[string]any{
			"code": args.Code, "message": args.Message, "target": "value", "details": map[string]string{"why": "asked"},
		}})
	}
	return marshal(map[string]any{"status": "success", "data": data(inv.Command, args)})
}

func marshal(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func data(command string, args arguments) any {
	none := struct{}{}
	switch command {
	case "Echo":
		return map[string]any{"value": args.Value}
	case "Oversize":
		return string(bytes.Repeat([]byte("x"), int(args.Bytes)))
	case "Count":
		counter++
		return map[string]int{"count": counter}
	case "Progress":
		for step := 1; step <= args.Steps; step++ {
			report("step", float64(step)/float64(args.Steps), fmt.Sprintf("%d of %d", step, args.Steps))
		}
		return map[string]int{"steps": args.Steps}
	case "Wait":
		report("waiting", 0, "")
		for cancelled() == 0 {
		}
		report("cancelled", 1, "")
		return none
	case "Spin":
		report("spinning", 0, "")
		for {
		}
	case "Sleep":
		time.Sleep(time.Duration(args.MS) * time.Millisecond)
		return none
	}
	return resources(command, args)
}

func resources(command string, args arguments) any {
	none := struct{}{}
	switch command {
	case "Stream":
		out := create(map[string]string{"id": "out", "fileName": args.FileName, "mimeType": args.MIMEType})
		piece := make([]byte, args.Piece)
		for offset := int64(0); offset < args.Bytes; {
			n := min(int64(len(piece)), args.Bytes-offset)
			pattern(offset, piece[:n])
			must(out.Write(piece[:n]))
			offset += n
		}
		check(resourceClose(int32(out)))
		return map[string]any{"file": reference{"out"}}
	case "Read":
		in, sum := open(args.Input.Resource), sha256.New()
		n := must(io.CopyBuffer(sum, onlyReader{in}, make([]byte, args.Piece)))
		if size := resourceSize(int32(in)); size != n {
			panic(fmt.Sprintf("read %d bytes of a resource of %d", n, size))
		}
		check(resourceClose(int32(in)))
		return map[string]any{"sizeBytes": n, "sha256": hex.EncodeToString(sum.Sum(nil))}
	case "Copy":
		in, out := open(args.Input.Resource), create(map[string]string{"id": "copy"})
		must(io.CopyBuffer(onlyWriter{out}, onlyReader{in}, make([]byte, 256<<10)))
		check(resourceClose(int32(out)))
		return map[string]any{"copy": reference{"copy"}}
	case "Open":
		return map[string]bool{"opened": resourceOpen(address([]byte(args.ID)), length([]byte(args.ID))) >= 0}
	case "Unfinished":
		must(create(map[string]string{"id": "half"}).Write([]byte("half a sentence")))
		return none
	case "Flood":
		flood(args)
		return none
	}
	panic("unknown command " + command)
}

// flood pays no attention to what the host answers.
func flood(args arguments) {
	piece := make([]byte, 64<<10)
	for i := range args.Resources {
		draft := marshal(map[string]string{"id": fmt.Sprintf("flood-%d", i)})
		handle := resourceCreate(address(draft), length(draft))
		for offset := int64(0); offset < args.Bytes; offset += int64(len(piece)) {
			part := piece[:min(int64(len(piece)), args.Bytes-offset)]
			resourceWrite(handle, address(part), length(part))
		}
		resourceClose(handle)
	}
}

func pattern(offset int64, p []byte) {
	for i := range p {
		at := offset + int64(i)
		p[i] = byte(at ^ at>>8 ^ at>>16)
	}
}
