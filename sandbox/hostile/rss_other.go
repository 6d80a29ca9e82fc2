//go:build !linux

package hostile

// rssAnon is known on Linux alone.
func rssAnon() (int64, bool) { return 0, false }

// rssAnonOf is known on Linux alone.
func rssAnonOf(string) (int64, bool) { return 0, false }
