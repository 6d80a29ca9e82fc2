package snapshot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
)

// methods are those that this system has.
func methods(t testing.TB) []Method {
	t.Helper()
	var have []Method
	for _, method := range []Method{Copy, Discard, Scan} {
		image, err := NewImage([]byte{1}, &Options{Method: method})
		if err != nil {
			t.Logf("%s: %v", method, err)
			continue
		}
		have = append(have, image.Method())
		if err := image.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return have
}

func newImage(t testing.TB, content []byte, opts *Options) *Image {
	t.Helper()
	image, err := NewImage(content, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := image.Close(); err != nil {
			t.Error(err)
		}
	})
	return image
}

func newMapping(t testing.TB, image *Image, capacity int) *Mapping {
	t.Helper()
	mapping, err := image.Map(uint64(capacity))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mapping.Unmap(); err != nil {
			t.Error(err)
		}
	})
	return mapping
}

func restore(t testing.TB, mapping *Mapping) Restored {
	t.Helper()
	did, err := mapping.Restore()
	if err != nil {
		t.Fatal(err)
	}
	return did
}

// randomContent has pages of zeros in it, and sometimes a part of a page.
func randomContent(r *rand.Rand, pages int) []byte {
	page := os.Getpagesize()
	content := make([]byte, pages*page)
	for at := 0; at < len(content); at += page {
		if r.IntN(3) > 0 {
			fill(r, content[at:at+page])
		}
	}
	return content[:len(content)-r.IntN(min(len(content), page)+1)]
}

func fill(r *rand.Rand, b []byte) {
	for i := 0; i < len(b); i += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], r.Uint64())
		copy(b[i:], word[:])
	}
}

// scribble writes as guests do: bytes, ends of pages, long stretches, values
// that were there already, many pages or none.
func scribble(r *rand.Rand, memory []byte) {
	writes := []int{0, 1, 3, 30, 300}[r.IntN(5)]
	for range writes {
		at := r.IntN(len(memory))
		switch r.IntN(10) {
		case 0:
			same := memory[at]
			memory[at] = same
		case 1:
			at = at / 4096 * 4096
			memory[max(at-1, 0)], memory[at] = 1, 2
		case 2:
			fill(r, memory[at:min(at+r.IntN(5*4096), len(memory))])
		default:
			memory[at] ^= byte(1 + r.IntN(255))
		}
	}
	if r.IntN(100) == 0 {
		for i := range memory {
			memory[i] ^= 0x55
		}
	}
}

func sameAs(memory, content []byte) error {
	if !bytes.Equal(memory[:len(content)], content) {
		i := 0
		for memory[i] == content[i] {
			i++
		}
		return fmt.Errorf("byte %d is %d, in the image %d", i, memory[i], content[i])
	}
	above := memory[len(content):]
	if len(above) == 0 || above[0] == 0 && bytes.Equal(above[1:], above[:len(above)-1]) {
		return nil
	}
	for i, b := range above {
		if b != 0 {
			return fmt.Errorf("byte %d, above the image, is %d", len(content)+i, b)
		}
	}
	return nil
}

func TestRestorePutsBackEveryByte(t *testing.T) {
	const seed = 1
	for _, method := range methods(t) {
		for _, keep := range []uint64{0, 1, 64 << 10} {
			if keep != 0 && method != Scan {
				continue
			}
			t.Run(fmt.Sprintf("%s/keep=%d", method, keep), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, keep))
				for range 40 {
					content := randomContent(r, r.IntN(40))
					image := newImage(t, content, &Options{Method: method, KeepBytes: keep})
					capacity := max(len(content), 1) + r.IntN(3)*r.IntN(500_000)
					mapping := newMapping(t, image, max(capacity, int(image.Size())))
					if err := sameAs(mapping.Bytes(), content); err != nil {
						t.Fatalf("before any call: %v", err)
					}
					for round := range 50 {
						scribble(r, mapping.Bytes())
						if r.IntN(20) == 0 {
							if err := mapping.GiveBack(); err != nil {
								t.Fatal(err)
							}
						} else {
							restore(t, mapping)
						}
						if err := sameAs(mapping.Bytes(), content); err != nil {
							t.Fatalf("round %d: %v", round, err)
						}
					}
				}
			})
		}
	}
}

// A guest may write anywhere below the cap, so also in a space that is so large
// that the mapping gets address spans of its own.
func TestRestoreReachesTheEndOfALargeMemory(t *testing.T) {
	for _, method := range methods(t) {
		for _, capacity := range []int{64 << 20, 1<<30 + 65536} {
			if method == Copy && capacity > 64<<20 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", method, capacity), func(t *testing.T) {
				r := rand.New(rand.NewPCG(2, 2))
				content := randomContent(r, 40)
				mapping := newMapping(t, newImage(t, content, &Options{Method: method}), capacity)
				memory := mapping.Bytes()
				for range 200 {
					var places []int
					for range 1 + r.IntN(40) {
						places = append(places, r.IntN(len(memory)))
					}
					places = append(places, len(memory)-1, 0, len(content)-1, len(content))
					for _, at := range places {
						memory[at] ^= 0xFF
					}
					restore(t, mapping)
					for _, at := range places {
						want := byte(0)
						if at < len(content) {
							want = content[at]
						}
						if memory[at] != want {
							t.Fatalf("byte %d is %d, want %d", at, memory[at], want)
						}
					}
				}
			})
		}
	}
}

func TestMappingsOfOneImageAreIndependent(t *testing.T) {
	for _, method := range methods(t) {
		t.Run(method.String(), func(t *testing.T) {
			content := randomContent(rand.New(rand.NewPCG(3, 3)), 30)
			image := newImage(t, content, &Options{Method: method})
			var group sync.WaitGroup
			for worker := range 8 {
				group.Go(func() {
					if err := work(image, content, uint64(worker)); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
		})
	}
}

// work maps, calls, restores and unmaps again and again.
func work(image *Image, content []byte, seed uint64) (err error) {
	r := rand.New(rand.NewPCG(seed, 9))
	for range 10 {
		mapping, err := image.Map(image.Size() + uint64(r.IntN(4)*65536))
		if err != nil {
			return err
		}
		for range 20 {
			scribble(r, mapping.Bytes())
			if _, err := mapping.Restore(); err != nil {
				return err
			}
			if err := sameAs(mapping.Bytes(), content); err != nil {
				return err
			}
		}
		if err := mapping.Unmap(); err != nil {
			return err
		}
	}
	return nil
}

func TestLifeOfAnImage(t *testing.T) {
	for _, method := range methods(t) {
		t.Run(method.String(), func(t *testing.T) {
			content := bytes.Repeat([]byte("content."), 2048)
			image := newImage(t, content, &Options{Method: method})
			content = bytes.Clone(content)
			if image.Size() != 16384 || image.Method() != method {
				t.Fatalf("size %d, method %s", image.Size(), image.Method())
			}
			if _, err := image.Map(16383 - 4096); err == nil {
				t.Error("a memory smaller than the image was mapped")
			}
			if _, err := image.Map(1 << 63); err == nil {
				t.Error("a memory larger than all addresses was mapped")
			}
			one, two := newMapping(t, image, 100_000), newMapping(t, image, 16384)
			if len(one.Bytes()) != 100_000 || cap(one.Bytes()) != 100_000 {
				t.Errorf("%d bytes of capacity %d", len(one.Bytes()), cap(one.Bytes()))
			}
			for range 2 {
				if err := image.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := image.Map(100_000); !errors.Is(err, ErrClosed) {
				t.Errorf("map of a closed image: %v", err)
			}
			if err := two.Unmap(); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				clear(one.Bytes()[:10])
				one.Bytes()[50_000] = 1
				restore(t, one)
				if err := sameAs(one.Bytes(), content); err != nil {
					t.Fatalf("after the image was closed: %v", err)
				}
			}
			for range 2 {
				if err := one.Unmap(); err != nil {
					t.Fatal(err)
				}
			}
			if restore(t, one); one.GiveBack() != nil || one.ResidentBytes() != 0 {
				t.Error("an unmapped memory does something")
			}
		})
	}
}

func TestEmptyMemory(t *testing.T) {
	for _, method := range methods(t) {
		image := newImage(t, make([]byte, 100_000), &Options{Method: method})
		if image.Size() != 0 {
			t.Errorf("%s: zeros take %d bytes", method, image.Size())
		}
		none := newMapping(t, image, 0)
		if restore(t, none); len(none.Bytes()) != 0 || none.GiveBack() != nil {
			t.Errorf("%s: a memory of nothing", method)
		}
		some := newMapping(t, image, 70_000)
		some.Bytes()[69_999] = 1
		restore(t, some)
		if err := sameAs(some.Bytes(), nil); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestRestoreAllocatesNothing(t *testing.T) {
	for _, method := range methods(t) {
		mapping := newMapping(t, newImage(t, bytes.Repeat([]byte{1}, 256<<10), &Options{Method: method}), 1<<20)
		calls := 0
		if n := testing.AllocsPerRun(100, func() {
			for at := calls % 7; at < 1<<20; at += 1 << 14 {
				mapping.Bytes()[at]++
			}
			calls++
			restore(t, mapping)
		}); n != 0 {
			t.Errorf("%s: %v allocations", method, n)
		}
	}
}

func TestMethodNames(t *testing.T) {
	for method, want := range map[Method]string{Auto: "auto", Copy: "copy", Discard: "discard", Scan: "scan", 9: "Method(9)"} {
		if method.String() != want {
			t.Errorf("%q, want %q", method.String(), want)
		}
	}
}
