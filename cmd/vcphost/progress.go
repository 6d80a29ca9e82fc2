package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/mattn/go-isatty"

	"vcphost/abi"
)

// progress shows how far a call is: one line that moves on a terminal, a line
// for each event elsewhere. It is safe for concurrent use.
type progress struct {
	to    io.Writer
	moves bool

	mu    sync.Mutex
	shown bool
}

// newProgress makes a progress for a call. A terminal that calls itself dumb
// gets lines.
func newProgress(to io.Writer, lookupEnv func(string) (string, bool)) *progress {
	file, ok := to.(*os.File)
	term, _ := lookupEnv("TERM")
	return &progress{to: to, moves: ok && isatty.IsTerminal(file.Fd()) && term != "dumb"}
}

// report shows an event.
func (p *progress) report(event abi.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.moves {
		p.shown = true
		fmt.Fprint(p.to, clearLine+bar(event))
		return
	}
	fraction := ""
	if event.Progress != nil {
		fraction = fmt.Sprintf(" %3.0f%%", *event.Progress*100)
	}
	fmt.Fprintf(p.to, "progress: %s%s %s\n", printable(event.Stage), fraction, printable(event.Message))
}

// end takes the moving line away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.to, clearLine)
	}
	p.shown = false
}

const (
	clearLine = "\r\x1b[K"
	barCells  = 24
	// lineCells keeps the line from wrapping on any terminal, where it could not
	// be taken back.
	lineCells = 76
)

// bar is the line for an event.
func bar(event abi.Progress) string {
	line := printable(event.Stage) + " "
	if event.Progress != nil {
		fraction := min(max(*event.Progress, 0), 1)
		full := int(fraction * barCells)
		line = fmt.Sprintf("[%s%s] %3.0f%% ", strings.Repeat("█", full), strings.Repeat("░", barCells-full), fraction*100) + line
	}
	return fit(line+printable(event.Message), lineCells)
}

// fit cuts a line to a number of cells, counting wide characters as two.
func fit(line string, most int) string {
	cells := 0
	for i, r := range line {
		if cells++; r >= 0x1100 && (r < 0x2500 || r > 0x25ff) { // from Hangul on most are wide; blocks are not
			cells++
		}
		if cells > most {
			return line[:i] + "…"
		}
	}
	return line
}
