package hosttest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"vcphost/abi"
	"vcphost/host"
	"vcphost/host/registry"
)

// Fake is a transport that is no transport: the conformance plugin in Go,
// called directly. It shows what the suite asks for, and serves tests of the
// host that need some plugin.
func Fake() host.Kind {
	return host.Kind{
		Open:  func(context.Context, *registry.Plugin) (host.Transport, error) { return fake{}, nil },
		Trust: abi.TrustBuiltin,
	}
}

// FakeHarness is the harness of [Fake].
func FakeHarness() Harness {
	return Harness{EntryPoint: json.RawMessage(`{"type":"native","command":"fake"}`), Kind: Fake()}
}

type fake struct{}

// Close has nothing to end: a call of the fake runs within its Invoke.
func (fake) Close(context.Context) error { return nil }

// Invoke runs a command with a memory of its own.
func (fake) Invoke(ctx context.Context, inv *abi.Invocation) (*abi.Reply, error) {
	c := &fakeCall{ctx: ctx, inv: inv}
	if err := json.Unmarshal(inv.Arguments, &c.args); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	payload, err := c.run()
	if err != nil {
		return nil, err
	}
	return &abi.Reply{Payload: payload, Warnings: c.warnings}, nil
}

// fakeArguments are those of all commands together.
type fakeArguments struct {
	Value              json.RawMessage
	Code, Message, ID  string
	FileName, MIMEType string
	Base64             []byte
	Bytes              int64
	Steps, MS, Piece   int
	Input              abi.Reference
	Resources          int
}

// fakeCall is one running call of the fake.
type fakeCall struct {
	ctx      context.Context
	inv      *abi.Invocation
	args     fakeArguments
	counter  int
	warnings []abi.Warning
}

func (c *fakeCall) run() (json.RawMessage, error) {
	switch c.inv.Command {
	case "Echo":
		return success(map[string]any{"value": c.args.Value})
	case "Fail":
		return json.Marshal(abi.Payload{Status: abi.StatusError, Error: abi.NewError(c.args.Code, "%s", c.args.Message).
			WithTarget("value").WithDetails(map[string]string{"why": "asked"})})
	case "Raw":
		return c.args.Base64, nil
	case "Oversize":
		return success(string(bytes.Repeat([]byte("x"), int(c.args.Bytes))))
	case "Count":
		c.counter++
		return success(map[string]int{"count": c.counter})
	case "Progress":
		for step := range c.args.Steps {
			c.report("step", float64(step+1)/float64(c.args.Steps), fmt.Sprintf("%d of %d", step+1, c.args.Steps))
		}
		return success(map[string]int{"steps": c.args.Steps})
	case "Wait":
		c.report("waiting", 0, "")
		<-c.ctx.Done()
		c.report("cancelled", 1, "")
		return success(struct{}{})
	case "Spin":
		c.report("spinning", 0, "")
		<-c.ctx.Done() // what cannot be stopped is given up; its answer comes too late
		return success(struct{}{})
	case "Sleep":
		return c.sleep()
	}
	return c.runResources()
}

func (c *fakeCall) sleep() (json.RawMessage, error) {
	select {
	case <-time.After(time.Duration(c.args.MS) * time.Millisecond):
	case <-c.ctx.Done():
	}
	return success(struct{}{})
}

func success(data any) (json.RawMessage, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("write data: %w", err)
	}
	return json.Marshal(abi.Payload{Status: abi.StatusSuccess, Data: raw})
}

func (c *fakeCall) report(stage string, fraction float64, message string) {
	if c.inv.Progress != nil {
		c.inv.Progress(abi.Progress{Stage: stage, Progress: &fraction, Message: message})
	}
}

// runResources runs the commands that read or write resources.
func (c *fakeCall) runResources() (json.RawMessage, error) {
	switch c.inv.Command {
	case "Stream":
		return c.stream()
	case "Read":
		return c.read()
	case "Copy":
		return c.copy()
	case "Open":
		stream, err := c.inv.Reader.Open(c.ctx, c.args.ID)
		if err != nil {
			return success(map[string]bool{"opened": false})
		}
		return successAfter(map[string]bool{"opened": true}, stream.Close())
	case "Unfinished":
		sink, err := c.inv.Resources.Create(c.ctx, abi.ResourceDraft{ID: "half"})
		if err != nil {
			return nil, err
		}
		c.warnings = append(c.warnings, abi.Warning{Code: abi.WarningResourceUnfinished, Message: "half was not closed", Target: "half"})
		_, err = sink.Write([]byte("half a sentence"))
		return successAfter(struct{}{}, err)
	case "Flood":
		c.flood()
		return success(struct{}{})
	}
	return nil, fmt.Errorf("the fake has no command %q", c.inv.Command)
}

func successAfter(data any, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return success(data)
}

func (c *fakeCall) stream() (json.RawMessage, error) {
	sink, err := c.inv.Resources.Create(c.ctx, abi.ResourceDraft{ID: "out", FileName: c.args.FileName, MIMEType: c.args.MIMEType})
	if err != nil {
		return nil, err
	}
	piece := make([]byte, c.args.Piece)
	for offset := int64(0); offset < c.args.Bytes; {
		n := min(int64(len(piece)), c.args.Bytes-offset)
		Pattern(offset, piece[:n])
		if _, err := sink.Write(piece[:n]); err != nil {
			return nil, err
		}
		offset += n
	}
	return successAfter(map[string]any{"file": abi.Reference{Resource: "out"}}, sink.Close())
}

func (c *fakeCall) read() (json.RawMessage, error) {
	stream, err := c.inv.Reader.Open(c.ctx, c.args.Input.Resource)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	n, err := io.CopyBuffer(sum, struct{ io.Reader }{stream}, make([]byte, c.args.Piece))
	if err != nil {
		return nil, err
	}
	return successAfter(map[string]any{"sizeBytes": n, "sha256": hex.EncodeToString(sum.Sum(nil))}, stream.Close())
}

func (c *fakeCall) copy() (json.RawMessage, error) {
	stream, err := c.inv.Reader.Open(c.ctx, c.args.Input.Resource)
	if err != nil {
		return nil, err
	}
	sink, err := c.inv.Resources.Create(c.ctx, abi.ResourceDraft{ID: "copy"})
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(struct{ io.Writer }{sink}, struct{ io.Reader }{stream}); err != nil {
		return nil, err
	}
	if err := sink.Close(); err != nil {
		return nil, err
	}
	return successAfter(map[string]any{"copy": abi.Reference{Resource: "copy"}}, stream.Close())
}

// flood pays no attention to what the host answers.
func (c *fakeCall) flood() {
	piece := make([]byte, 64<<10)
	for i := range c.args.Resources {
		sink, err := c.inv.Resources.Create(c.ctx, abi.ResourceDraft{ID: fmt.Sprintf("flood-%d", i)})
		if err != nil {
			continue
		}
		for offset := int64(0); offset < c.args.Bytes; offset += int64(len(piece)) {
			_, _ = sink.Write(piece[:min(int64(len(piece)), c.args.Bytes-offset)])
		}
		_ = sink.Close()
	}
}

func encoded(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }
