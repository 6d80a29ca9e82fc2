package hostile

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// rssAnon is the resident anonymous memory of this process in bytes.
func rssAnon() (int64, bool) { return rssAnonOf("self") }

// rssAnonOf is that of a process, by its id or "self".
func rssAnonOf(process string) (int64, bool) {
	status, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0, false
	}
	_, after, found := bytes.Cut(status, []byte("RssAnon:"))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(line)), " kB"), 10, 64)
	return kib << 10, found && err == nil
}
