// Package snapshot keeps the memory of a started guest, gives it to any number
// of instances, and puts an instance's memory back after each call in about the
// time that copying the few pages takes which the call wrote to. It knows
// bytes, mappings and the operating system, and nothing of WebAssembly.
//
// An Image is the content, immutable once made. A Mapping is the memory of one
// instance: the image at its start, zeros above it up to its capacity. Writes
// belong to the mapping alone. Restore brings every byte of it back, wherever
// the guest wrote:
//
//	Method   needs            Restore
//	Scan     Linux 6.7        asks the kernel which pages were written (PAGEMAP_SCAN)
//	                          and puts just those back
//	Discard  Linux            gives every written page back (MADV_DONTNEED); the next
//	                          use of each one is a page fault; a small memory is copied
//	Copy     any system       copies the whole image and zeroes what is above it
//
// The best method that works is found when the image is made, by trying it on
// the image itself, so that a kernel, a sandbox or a filter which refuses a call
// or answers it wrongly costs speed and never isolation.
//
// What it promises on Linux: the image lies in a sealed memory file that
// nobody can change; only pages that were written to cost memory, address space
// is not reserved in swap, huge pages are off, and neither image nor mapping is
// part of a core dump. Where address space is plentiful a mapping has
// inaccessible space on both sides.
package snapshot

import (
	"errors"
	"fmt"
)

// Method is a way to put a mapping back; see the package comment.
type Method uint8

// The methods, the best one last. The zero value stands for a choice not made.
const (
	Auto Method = iota
	Copy
	Discard
	Scan
)

// String gives the name that reports and logs use.
func (m Method) String() string {
	switch m {
	case Auto:
		return "auto"
	case Copy:
		return "copy"
	case Discard:
		return "discard"
	case Scan:
		return "scan"
	}
	return fmt.Sprintf("Method(%d)", uint8(m))
}

// DefaultKeepBytes is what a mapping keeps of written pages, unless told.
const DefaultKeepBytes = 16 << 20

// Options are the choices of NewImage. Nil and the zero value are the defaults.
type Options struct {
	// Method asks for one method; NewImage fails where it does not work. Auto
	// takes the best one that does.
	Method Method
	// KeepBytes bounds the written pages that a mapping keeps over a Restore with
	// Scan, so that the next call finds them without page faults. A call that
	// wrote to more gives all of them back. 0 is DefaultKeepBytes.
	KeepBytes uint64

	pagemap string // path of the page map; tests name one that is not there
}

func (o *Options) orDefaults() Options {
	var options Options
	if o != nil {
		options = *o
	}
	if options.KeepBytes == 0 {
		options.KeepBytes = DefaultKeepBytes
	}
	if options.pagemap == "" {
		options.pagemap = "/proc/self/pagemap"
	}
	return options
}

// Restored tells what a Restore did; Method is Discard also where Scan gave
// everything back, and Copy where Discard copied a small memory. Pages are those of the operating system.
type Restored struct {
	Method    Method // what this Restore used
	Runs      int    // stretches of adjacent written pages, Scan only
	Copied    int    // pages brought back from the image
	Cleared   int    // pages above the image that were zeroed in place
	Discarded int    // pages known to be written that were given back; Scan only
}

// ErrClosed is the failure of Map on a closed image.
var ErrClosed = errors.New("snapshot: the image is closed")

// errUseless is a method that the system lacks, refuses, or performs wrongly.
var errUseless = errors.New("does not work here")
