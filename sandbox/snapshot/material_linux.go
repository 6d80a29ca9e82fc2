package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// imageName is what the memory files are called in /proc/<pid>/maps.
const imageName = "vcphost-image"

const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// material is what an image is made of. The descriptors are -1 where not open.
type material struct {
	source  int    // the sealed memory file that mappings begin with
	pagemap int    // to ask about pages, Scan only
	view    []byte // the content, read-only
	mapped  bool   // view is a mapping
}

func newMaterial(content []byte, method Method, options *Options) (made material, err error) {
	made = material{source: -1, pagemap: -1}
	page := os.Getpagesize()
	if method == Copy {
		made.view = append(slices.Clone(content), make([]byte, wholePages(len(content), page)-len(content))...)
		return made, nil
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, made.closeSource(), made.close())
		}
	}()
	if method == Scan {
		if made.pagemap, err = unix.Open(options.pagemap, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return made, refused("open the page map", err)
		}
	}
	if len(content) == 0 {
		return made, nil
	}
	if made.source, err = sealedFile(content, page); err != nil {
		return made, err
	}
	// Private, because older kernels refuse a shared mapping of a sealed file.
	made.view, err = unix.Mmap(made.source, 0, wholePages(len(content), page), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return made, fmt.Errorf("map the image: %w", err)
	}
	made.mapped = true
	return made, advise(made.view)
}

// refused tells a system that lacks or forbids something from one that has run
// out of it: the first has another method, the second an error.
func refused(what string, err error) error {
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE), errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %w", what, errUseless, err)
}

// sealedFile makes a memory file of content that nobody can change any more.
func sealedFile(content []byte, page int) (file int, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	file, err = unix.MemfdCreate(imageName, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		file, err = unix.MemfdCreate(imageName, flags)
	}
	if err != nil {
		return -1, refused("create a memory file", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unix.Close(file))
			file = -1
		}
	}()
	if err := unix.Ftruncate(file, int64(wholePages(len(content), page))); err != nil {
		return file, fmt.Errorf("size a memory file: %w", err)
	}
	if err := writeSparse(file, content, page); err != nil {
		return file, fmt.Errorf("write a memory file: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(file), unix.F_ADD_SEALS, seals); err != nil {
		return file, refused("seal a memory file", err)
	}
	return file, nil
}

// writeSparse leaves out the pages of zeros, which cost nothing until read.
func writeSparse(file int, content []byte, page int) error {
	zeros := make([]byte, page)
	isZero := func(at int) bool {
		end := min(at+page, len(content))
		return bytes.Equal(content[at:end], zeros[:end-at])
	}
	for at := 0; at < len(content); {
		if isZero(at) {
			at += page
			continue
		}
		end := at + page
		for end < len(content) && !isZero(end) {
			end += page
		}
		for end = min(end, len(content)); at < end; {
			n, err := unix.Pwrite(file, content[at:end], int64(at))
			if err != nil && !errors.Is(err, unix.EINTR) {
				return err
			}
			at += max(n, 0)
		}
	}
	return nil
}

// closeSource closes what only new mappings need.
func (m *material) closeSource() error { return closeOnce(&m.source) }

// close lets go of what living mappings need too.
func (m *material) close() error {
	err := closeOnce(&m.pagemap)
	if m.mapped {
		m.mapped = false
		err = errors.Join(err, unix.Munmap(m.view))
	}
	m.view = nil
	return err
}

func closeOnce(file *int) error {
	if *file < 0 {
		return nil
	}
	err := unix.Close(*file)
	*file = -1
	return err
}
