package hostfunc

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"vcphost/abi"
	"vcphost/internal/rawjson"
)

const (
	maxLineBytes     = 8 << 10
	maxProgressBytes = 16 << 10
	maxStageBytes    = 256
	maxMessageBytes  = 2 << 10
	progressInterval = 50 * time.Millisecond
)

// logBudget passes a plugin's lines to the host's log until the call's limit
// is reached, and counts what it had to cut.
type logBudget struct {
	logger     *slog.Logger
	invocation string // the id, said with every line
	left       int
	cut        int64 // bytes
}

// Log takes one line: level 0 debug, 1 info, 2 warn, 3 and above error. What
// exceeds the limits is cut and counted, never an error.
func (c *Call) Log(level int32, line []byte) {
	c.log.write(slogLevel(level), line)
}

func (b *logBudget) write(level slog.Level, line []byte) {
	keep := min(len(line), maxLineBytes, b.left)
	b.cut += int64(len(line) - keep)
	b.left -= keep
	if keep > 0 {
		b.logger.Log(context.Background(), level, strings.ToValidUTF8(string(line[:keep]), "\uFFFD"), b.attribute())
	}
}

// host logs a failure of the host itself, which is not the plugin's budget.
func (b *logBudget) host(message string, err error) {
	b.logger.Error(message, b.attribute(), "error", err)
}

func (b *logBudget) attribute() slog.Attr { return slog.String("invocationId", b.invocation) }

func (b *logBudget) warning() (abi.Warning, bool) {
	if b.cut == 0 {
		return abi.Warning{}, false
	}
	return abi.Warning{
		Code:    abi.WarningLogTruncated,
		Message: fmt.Sprintf("%d bytes of the plugin's log were cut; sandbox.maxLogBytes raises the limit", b.cut),
	}, true
}

func slogLevel(level int32) slog.Level {
	switch {
	case level <= 0:
		return slog.LevelDebug
	case level == 1:
		return slog.LevelInfo
	case level == 2:
		return slog.LevelWarn
	}
	return slog.LevelError
}

// LineWriter gives a writer that logs each line written to it, for a guest's
// standard output and error.
func (c *Call) LineWriter(level slog.Level) *LineWriter {
	return &LineWriter{budget: &c.log, level: level}
}

// LineWriter logs what is written to it line by line. Flush it at the end.
type LineWriter struct {
	budget *logBudget
	level  slog.Level
	rest   []byte
}

// Write takes everything and never fails; a line longer than the limit of a
// line goes out in pieces.
func (w *LineWriter) Write(p []byte) (int, error) {
	for _, b := range p {
		if b == '\n' || len(w.rest) == maxLineBytes {
			w.Flush()
		}
		if b != '\n' {
			w.rest = append(w.rest, b)
		}
	}
	return len(p), nil
}

// Flush logs an unfinished last line.
func (w *LineWriter) Flush() {
	if len(w.rest) > 0 {
		w.budget.write(w.level, w.rest)
	}
	w.rest = w.rest[:0]
}

// Progress takes one event, JSON {stage, progress, message}. Events that come
// faster than the interval replace each other; the last one is always
// delivered. It never blocks and is no part of the result.
func (c *Call) Progress(raw []byte) Errno {
	if len(raw) > maxProgressBytes {
		return ELIMIT
	}
	event, errno := parseProgress(raw)
	if errno == OK {
		c.progress.offer(event)
	}
	return errno
}

func parseProgress(raw []byte) (abi.Progress, Errno) {
	var event abi.Progress
	if rawjson.Check(raw, rawjson.Limits{MaxDepth: 4}) != nil || rawjson.KindOf(raw) != rawjson.Object {
		return event, EINVAL
	}
	for name, value := range rawjson.Members(raw) {
		if !setProgress(&event, name, value) {
			return event, EINVAL
		}
	}
	return event, OK
}

// setProgress reads one member of an event; unknown members are passed over.
func setProgress(event *abi.Progress, name string, value []byte) bool {
	if rawjson.KindOf(value) == rawjson.Null {
		return true
	}
	switch name {
	case "stage", "message":
		text, ok := rawjson.Unquote(value)
		if name == "stage" {
			event.Stage = cutText(text, maxStageBytes)
		} else {
			event.Message = cutText(text, maxMessageBytes)
		}
		return ok
	case "progress":
		var fraction float64
		if json.Unmarshal(value, &fraction) != nil || fraction < 0 || fraction > 1 {
			return false
		}
		event.Progress = &fraction
	}
	return true
}

// cutText copies at most limit bytes of s, whole code points only.
func cutText(s string, limit int) string {
	if len(s) > limit {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit]
	}
	return strings.Clone(s)
}

// coalescer delivers at most one event an interval, and the last one at the
// end. It needs no timer: an event that was held back goes out with the next
// one or with flush.
type coalescer struct {
	report abi.ProgressReporter
	held   *abi.Progress
	last   time.Time
}

func (c *coalescer) offer(event abi.Progress) {
	if c.report == nil {
		return
	}
	c.held = &event
	if now := time.Now(); now.Sub(c.last) >= progressInterval {
		c.last = now
		c.flush()
	}
}

func (c *coalescer) flush() {
	if c.held != nil {
		c.report(*c.held)
		c.held = nil
	}
}
