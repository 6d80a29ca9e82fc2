package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// machine says in one line what was measured on, and when.
func machine(now time.Time) string {
	system := runtime.GOOS
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		version, _, _ := strings.Cut(strings.TrimSpace(string(release)), "-")
		system = "Linux " + version
	}
	processor := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				processor = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d CPUs (%s), %s, %s", system, runtime.NumCPU(), processor, runtime.Version(), now.UTC().Format(time.DateOnly))
}

// anonymous is the anonymous memory of this process in bytes once garbage is
// gone, false where the system does not tell.
func anonymous() (float64, bool) {
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	for lines := bufio.NewScanner(bytes.NewReader(status)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "RssAnon:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib * 1024, err == nil
		}
	}
	return 0, false
}
