package hostile

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// lateness is how late the machine is by itself: a process that no guest runs in
// ticks, too, and tells each time that it was late.
type lateness struct {
	mu    sync.Mutex
	worst time.Duration
}

// worthTelling is the least lateness that is told.
const worthTelling = 2 * time.Millisecond

// take gives the worst since it was last taken.
func (l *lateness) take() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	worst := l.worst
	l.worst = 0
	return worst
}

// follow hears of the ticks that were late until there is nobody who tells, and
// says so.
func (l *lateness) follow(r io.Reader, gone func()) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		late, err := strconv.ParseInt(strings.TrimSpace(lines.Text()), 10, 64)
		if err != nil {
			break
		}
		l.mu.Lock()
		l.worst = max(l.worst, time.Duration(late))
		l.mu.Unlock()
	}
	gone()
}

// tellLateness ticks and tells each tick that is late, in nanoseconds, a line
// each, until stop is closed or nobody listens.
func tellLateness(w io.Writer, stop <-chan struct{}) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		now := time.Now()
		if late := now.Sub(last) - tick; late > worthTelling {
			if _, err := fmt.Fprintln(w, int64(late)); err != nil {
				return
			}
		}
		last = now
	}
}
