//go:build wasip1 && !extism

package main

import guest "vcphost/abi/guest/go"

var plugin = guest.Export(guest.Handle("Add", func(_ *guest.Call, a arguments) (answer, error) {
	return add(a), nil
}))
