package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
)

// Image is the immutable content of a memory. It is safe for concurrent use.
type Image struct {
	options  Options
	method   Method
	page     int    // bytes of a page
	stored   int    // bytes, whole pages; zeros follow
	zeros    []byte // a page of them
	material material

	mu   sync.Mutex
	uses int // mappings that live
	shut bool
}

// NewImage makes an image of content, which it copies. Zero pages at the end
// are not stored: they are what every mapping has above the image. It fails
// where the system has no memory or descriptors left, and where a method was
// asked for that does not work.
func NewImage(content []byte, opts *Options) (*Image, error) {
	options := opts.orDefaults()
	page := os.Getpagesize()
	content = withoutZeroTail(content, page)
	methods := []Method{Scan, Discard, Copy}
	if options.Method != Auto {
		methods = []Method{options.Method}
	}
	for i, method := range methods {
		image := &Image{
			options: options, method: method, page: page,
			stored: wholePages(len(content), page), zeros: make([]byte, page),
		}
		err := image.open(content)
		if err == nil {
			return image, nil
		}
		if i == len(methods)-1 || !errors.Is(err, errUseless) {
			return nil, fmt.Errorf("make a memory image of %d bytes by %s: %w", len(content), method, err)
		}
	}
	return nil, fmt.Errorf("make a memory image: no method: %w", errUseless)
}

// open makes the material and tries the method on it.
func (i *Image) open(content []byte) (err error) {
	if i.material, err = newMaterial(content, i.method, &i.options); err != nil {
		return err
	}
	if i.method == Copy {
		return nil
	}
	if err := i.probe(); err != nil {
		return errors.Join(err, i.Close())
	}
	return nil
}

// probe writes to the first and the last page of the image and to the page
// above it, and looks whether a Restore finds them, and just them.
func (i *Image) probe() (err error) {
	mapping, err := i.Map(uint64(i.stored + 2*i.page))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mapping.Unmap()) }()
	mapping.keep.limit = math.MaxInt32
	memory := mapping.Bytes()
	places := map[int]byte{i.stored + i.page - 1: 0}
	if i.stored > 0 {
		places[0], places[i.stored-1] = memory[0], memory[i.stored-1]
	}
	pages := make(map[int]bool)
	for at, old := range places {
		memory[at] = ^old
		pages[at/i.page] = true
	}
	try := mapping.restore
	if i.method == Discard {
		try = func() (Restored, error) { return mapping.giveBack(0) }
	}
	did, err := try()
	if err != nil {
		return fmt.Errorf("%w: %w", errUseless, err)
	}
	for at, old := range places {
		if memory[at] != old {
			return fmt.Errorf("%w: a written page was not put back", errUseless)
		}
	}
	if found := did.Copied + did.Cleared + did.Discarded; i.method == Scan && found != len(pages) {
		return fmt.Errorf("%w: %d of %d written pages were found", errUseless, found, len(pages))
	}
	return nil
}

// Size is the number of bytes that the image stores, in whole pages. A mapping
// is at least as large.
func (i *Image) Size() uint64 { return uint64(i.stored) }

// Method is how the mappings of this image are restored.
func (i *Image) Method() Method { return i.method }

// Map makes a memory of capacity bytes that begins with the image and is zero
// above it. Only what is written to takes memory. The caller unmaps it.
func (i *Image) Map(capacity uint64) (*Mapping, error) {
	if capacity > math.MaxInt-uint64(i.page) {
		return nil, fmt.Errorf("map a memory of %d bytes: more than this system can address", capacity)
	}
	size := wholePages(int(capacity), i.page)
	if size < i.stored {
		return nil, fmt.Errorf("map a memory of %d bytes: the image has %d", capacity, i.stored)
	}
	i.mu.Lock() // the source stays open until the mapping has it
	defer i.mu.Unlock()
	if i.shut {
		return nil, ErrClosed
	}
	mapping := &Mapping{image: i, keep: keeper{limit: int(i.options.KeepBytes / uint64(i.page))}}
	if err := mapping.open(int(capacity), size); err != nil {
		return nil, fmt.Errorf("map a memory of %d bytes: %w", capacity, err)
	}
	i.uses++
	return mapping, nil
}

// Close lets go of the image: Map fails from here on. Mappings that live are
// not touched, and what they need of the image goes with the last of them.
// Closing again does nothing.
func (i *Image) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.shut {
		return nil
	}
	i.shut = true
	err := i.material.closeSource()
	if i.uses == 0 {
		err = errors.Join(err, i.material.close())
	}
	return err
}

// leave is the end of one mapping.
func (i *Image) leave() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.uses--; i.uses == 0 && i.shut {
		return i.material.close()
	}
	return nil
}

func wholePages(size, page int) int { return (size + page - 1) / page * page }

// withoutZeroTail cuts content after its last page that is not zero.
func withoutZeroTail(content []byte, page int) []byte {
	zeros := make([]byte, page)
	for end := len(content); end > 0; {
		start := (end - 1) / page * page
		if !bytes.Equal(content[start:end], zeros[:end-start]) {
			return content[:end]
		}
		end = start
	}
	return nil
}
