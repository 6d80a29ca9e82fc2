// Command everything is a plugin for tests: one command uses every function of
// the SDK, another panics.
package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	guest "vcphost/abi/guest/go"
)

var _ = guest.Export(
	guest.Handle("Everything", everything),
	guest.Handle("Panic", func(*guest.Call, struct{}) (any, error) { panic("on purpose") }),
)

func main() {}

type arguments struct {
	Data guest.Reference `json:"data"`
}

type facts struct {
	Read      int             `json:"read"`
	Size      int64           `json:"size"`
	Config    string          `json:"config"`
	Stored    int             `json:"stored"`
	Cancelled bool            `json:"cancelled"`
	Copy      guest.Reference `json:"copy"`
}

func everything(c *guest.Call, args arguments) (facts, error) {
	c.Logf(guest.Warn, "reading %s", args.Data.ID)
	c.Progress("copy", 0.5, "half <way>")
	out := facts{Cancelled: c.Cancelled()}
	out.Config, _ = c.Config("KEY")
	if err := stored(c.KV(), &out); err != nil {
		return out, err
	}
	r, err := c.Open(args.Data)
	if err != nil {
		return out, err
	}
	if out.Size, err = r.Size(); err != nil {
		return out, err
	}
	w, err := c.CreateResource(guest.Draft{ID: "copy", FileName: "copy.txt"})
	if err != nil {
		return out, err
	}
	n, err := io.Copy(w, r)
	if err != nil {
		return out, err
	}
	out.Read, out.Copy = int(n), w.Ref()
	return out, errors.Join(w.Close(), r.Close())
}

func stored(kv guest.KV, out *facts) error {
	if err := kv.Set("k", []byte(strings.Repeat("v", 5000))); err != nil {
		return err
	}
	value, err := kv.Get("k")
	if err != nil {
		return err
	}
	out.Stored = len(value)
	if err := kv.Delete("k"); err != nil {
		return err
	}
	if _, err := kv.Get("k"); !errors.Is(err, guest.ErrNotFound) {
		return fmt.Errorf("after delete: %w", err)
	}
	return nil
}
