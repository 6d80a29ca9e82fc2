package kv

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// badgerLogger passes Badger's messages on to slog.
type badgerLogger struct{ logger *slog.Logger }

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
