package kv

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// badgerLogger passes Badger's messages on to slog.
type badgerLogger struct {
	logger *slog.Logger
	// lock is the directory's. A file that nothing holds is closed, and with it the
	// lock goes; so it lives as long as Badger, which holds its logger.
	lock *os.File
}

func (l badgerLogger) Errorf(format string, args ...any)   { l.log(slog.LevelWarn, format, args) }
func (l badgerLogger) Warningf(format string, args ...any) { l.log(slog.LevelWarn, format, args) }
func (l badgerLogger) Infof(format string, args ...any)    { l.log(slog.LevelDebug, format, args) }
func (l badgerLogger) Debugf(format string, args ...any)   { l.log(slog.LevelDebug, format, args) }

func (l badgerLogger) log(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if l.logger.Enabled(ctx, level) {
		l.logger.Log(ctx, level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}
