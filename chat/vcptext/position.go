package vcptext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// byteOrderMark may begin a text; it takes no column.
const byteOrderMark = "\ufeff"

// Position is a place in a text.
type Position struct {
	// Offset counts bytes from the start, from 0.
	Offset int
	// Line counts from 1; a line ends with a line feed.
	Line int
	// Column counts code points from 1. A byte order mark at the start of the
	// text has none.
	Column int
}

// SyntaxError says where a text, or what a block asks for, breaks a rule. It
// quotes keys and single characters, never a value.
type SyntaxError struct {
	Position
	// Reason says what is wrong, and what was expected.
	Reason string
}

// Error returns the place and the reason in one line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

func refuse(at Position, format string, args ...any) *SyntaxError {
	return &SyntaxError{Position: at, Reason: fmt.Sprintf(format, args...)}
}

// locator counts lines and columns. Offsets that rise cost linear time in all;
// one that falls counts from the start again.
type locator struct {
	text string
	at   Position
}

func newLocator(text string) locator {
	l := locator{text: text, at: Position{Line: 1, Column: 1}}
	if strings.HasPrefix(text, byteOrderMark) {
		l.at.Column = 0
	}
	return l
}

func (l *locator) locate(offset int) Position {
	if offset < l.at.Offset {
		*l = newLocator(l.text)
	}
	passed := l.text[l.at.Offset:offset]
	if lines := strings.Count(passed, "\n"); lines > 0 {
		l.at.Line += lines
		l.at.Column = 1
		passed = passed[strings.LastIndexByte(passed, '\n')+1:]
	}
	l.at.Column += utf8.RuneCountInString(passed)
	l.at.Offset = offset
	at := l.at
	at.Column = max(at.Column, 1)
	return at
}

// maxQuoted is how many bytes of a key an error message holds.
const maxQuoted = 60

// quoted shows a key in an error message.
func quoted(key string) string {
	if len(key) <= maxQuoted {
		return fmt.Sprintf("%q", key)
	}
	cut := maxQuoted
	for !utf8.RuneStart(key[cut]) {
		cut--
	}
	return fmt.Sprintf("%q…", key[:cut])
}
