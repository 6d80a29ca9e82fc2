//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

// closeInherited: descriptors that the host was given by its own parent stay
// open here.
func closeInherited() {}

// dataHeld is not asked for: the limit of data does not count mappings here, and
// the process watches its memory itself.
func dataHeld() (uint64, bool) { return 0, false }
