package sandbox

import (
	"encoding/binary"
	"slices"

	"vcphost/sandbox/engine"
)

const (
	// maxVectors is how many pieces of memory a guest may read into or write from
	// at a time, as on other systems.
	maxVectors = 1024
	// vectorBytes is the size of one, an address and a length.
	vectorBytes = 8
	// writeBytes is how much of what a guest writes is taken between two looks at
	// whether its call is over.
	writeBytes = 256 << 10
)

// descriptorFunctions are the functions of WASI preview 1 over descriptors. A
// guest has three, its standard streams: the input is at its end, the others go
// to the log. Nothing that it does to them lasts: the engine's own functions
// would keep a stream closed in every later call of the instance.
func descriptorFunctions() []engine.HostFunction {
	list := []engine.HostFunction{
		wasiFunction("fd_read", "iiii", func(g *guest, a []uint64) uint32 {
			return g.fdRead(uint32(a[0]), uint32(a[1]), uint32(a[2]), uint32(a[3]))
		}),
		wasiFunction("fd_write", "iiii", func(g *guest, a []uint64) uint32 {
			return g.fdWrite(uint32(a[0]), uint32(a[1]), uint32(a[2]), uint32(a[3]))
		}),
		wasiFunction("fd_close", "i", func(_ *guest, a []uint64) uint32 {
			if uint32(a[0]) > 2 {
				return wasiBadF
			}
			return wasiSuccess
		}),
	}
	for _, f := range []struct{ name, params string }{
		{"fd_pread", "iiiIi"},
		{"fd_pwrite", "iiiIi"},
		{"fd_readdir", "iiiIi"},
		{"fd_renumber", "ii"},
		{"fd_filestat_set_size", "iI"},
		{"fd_filestat_set_times", "iIIi"},
		{"path_create_directory", "iii"},
		{"path_filestat_get", "iiiii"},
		{"path_filestat_set_times", "iiiiIIi"},
		{"path_link", "iiiiiii"},
		{"path_open", "iiiiiIIii"},
		{"path_readlink", "iiiiii"},
		{"path_remove_directory", "iii"},
		{"path_rename", "iiiiii"},
		{"path_symlink", "iiiii"},
		{"path_unlink_file", "iii"},
		{"sock_accept", "iii"},
		{"sock_recv", "iiiiii"},
		{"sock_send", "iiiii"},
		{"sock_shutdown", "ii"},
	} {
		list = append(list, wasiFunction(f.name, f.params, noSuchDescriptor))
	}
	return list
}

// noSuchDescriptor answers what needs a file, a directory or a connection.
func noSuchDescriptor(*guest, []uint64) uint32 { return wasiBadF }

// vectors reads a list of pieces of guest memory, which it checks one by one.
func (g *guest) vectors(at, count uint32) (list [][]byte, errno uint32) {
	if count > maxVectors {
		return nil, wasiInval
	}
	raw, ok := g.view(at, count*vectorBytes)
	if !ok {
		return nil, wasiFault
	}
	for vector := range slices.Chunk(raw, vectorBytes) {
		view, ok := g.view(binary.LittleEndian.Uint32(vector), binary.LittleEndian.Uint32(vector[4:]))
		if !ok {
			return nil, wasiFault
		}
		list = append(list, view)
	}
	return list, wasiSuccess
}

// fdRead finds the standard input at its end.
func (g *guest) fdRead(fd, at, count, told uint32) uint32 {
	if fd != 0 {
		return wasiBadF
	}
	if _, errno := g.vectors(at, count); errno != wasiSuccess {
		return errno
	}
	return g.tell(told, 0)
}

// fdWrite writes to the log. What is beyond 2 GiB is left to the guest's next try:
// what was written is told as a number of 32 bits.
func (g *guest) fdWrite(fd, at, count, told uint32) uint32 {
	var to *lines
	switch fd {
	case 1:
		to = &g.out
	case 2:
		to = &g.err
	default:
		return wasiBadF
	}
	list, errno := g.vectors(at, count)
	if errno != wasiSuccess {
		return errno
	}
	written := uint32(0)
	for _, view := range list {
		if written > 0 && uint64(written)+uint64(len(view)) > 1<<31 {
			break
		}
		for piece := range slices.Chunk(view, writeBytes) {
			g.endOver()
			to.write(piece)
		}
		written += uint32(len(view))
	}
	return g.tell(told, written)
}

// tell writes a number where the guest wants it.
func (g *guest) tell(at, number uint32) uint32 {
	view, ok := g.view(at, 4)
	if !ok {
		return wasiFault
	}
	binary.LittleEndian.PutUint32(view, number)
	return wasiSuccess
}
