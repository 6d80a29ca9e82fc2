package snapshot

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkRestore writes to so many pages and restores. The writes are part of
// it, because with Discard they are where the price is paid.
func BenchmarkRestore(b *testing.B) {
	for _, method := range methods(b) {
		for _, capacity := range []int{256 << 10, 16 << 20, 64 << 20, 256 << 20} {
			for _, dirty := range []int{3, 30, 1000} {
				if method == Copy && capacity > 16<<20 || dirty*8192 > capacity && dirty > 30 {
					continue
				}
				b.Run(fmt.Sprintf("%s/cap=%dK/dirty=%d", method, capacity>>10, dirty), func(b *testing.B) {
					image := newImage(b, bytes.Repeat([]byte{1}, min(capacity, 9<<20)), &Options{Method: method})
					mapping := newMapping(b, image, capacity)
					memory := mapping.Bytes()
					b.ReportAllocs()
					for b.Loop() {
						for i := range dirty {
							memory[i*8192]++
						}
						if _, err := mapping.Restore(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func BenchmarkMap(b *testing.B) {
	for _, method := range methods(b) {
		for _, capacity := range []int{256 << 10, 64 << 20} {
			b.Run(fmt.Sprintf("%s/cap=%dK", method, capacity>>10), func(b *testing.B) {
				image := newImage(b, bytes.Repeat([]byte{1}, 256<<10), &Options{Method: method})
				for b.Loop() {
					mapping, err := image.Map(uint64(capacity))
					if err != nil {
						b.Fatal(err)
					}
					if err := mapping.Unmap(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
