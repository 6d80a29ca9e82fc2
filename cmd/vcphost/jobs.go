package main

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"vcphost/host/registry"
)

// jobs are what a server does beside answering.
type jobs struct {
	app    *application
	logger *slog.Logger
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

const (
	flushInterval  = time.Minute // what is lost of a key's last use if the process dies
	expireInterval = time.Hour
)

// startJobs loads the plugins and keeps house until it is stopped.
func startJobs(app *application, logger *slog.Logger) *jobs {
	ctx, cancel := context.WithCancel(context.Background())
	j := &jobs{app: app, logger: logger, cancel: cancel}
	j.wg.Go(func() { j.loadPlugins(ctx) })
	j.wg.Go(func() {
		every(ctx, flushInterval, func() { j.tell("the use of keys could not be saved", app.store.keys.Flush(ctx)) })
	})
	j.wg.Go(func() {
		every(ctx, expireInterval, func() {
			_, err := app.store.results.Expire(ctx)
			j.tell("old results could not be removed", err)
		})
	})
	return j
}

// stop ends the jobs and waits for them.
func (j *jobs) stop() {
	j.cancel()
	j.wg.Wait()
}

func (j *jobs) tell(what string, err error) {
	if err != nil {
		j.logger.Warn(what, "error", err)
	}
}

func every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}

// loadPlugins opens every plugin, so that its first call need not wait for it.
// As many at a time as there are processors, and one less where there are
// several: calls come first.
func (j *jobs) loadPlugins(ctx context.Context) {
	slots := make(chan struct{}, max(runtime.GOMAXPROCS(0)-1, 1))
	for _, plugin := range j.app.registry.Snapshot().Plugins() {
		if plugin.State != registry.Ready {
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		j.wg.Go(func() {
			defer func() { <-slots }()
			if _, err := j.app.host.Prepare(ctx, plugin); err != nil && ctx.Err() == nil {
				j.logger.Warn("a plugin could not be loaded", "plugin", plugin.Name, "error", err)
			}
		})
	}
}
