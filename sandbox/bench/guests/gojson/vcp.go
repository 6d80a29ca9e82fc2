//go:build wasip1 && !extism

package main

import guest "vcphost/abi/guest/go"

var plugin = guest.Export(
	guest.Handle("Add", func(_ *guest.Call, a arguments) (answer, error) { return add(a), nil }),
	guest.Handle("Hold", hold),
)

// hold adds as well, after it has tried to open an input, which may take as long
// as the host likes.
func hold(c *guest.Call, a arguments) (answer, error) {
	if in, err := c.Open(guest.Ref("gate")); err == nil {
		defer in.Close()
	}
	return add(a), nil
}
